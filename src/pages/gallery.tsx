/** The page of the report, `report/index.html`. */
import { render } from 'preact';
import type { GalleryData } from './gallery-data.ts';

const root = document.querySelector('#page');
const data = JSON.parse(document.querySelector('#data')?.textContent ?? '{}') as GalleryData;
if (root !== null) render(<h1>{data.title}</h1>, root);
