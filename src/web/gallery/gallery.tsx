/** The entry point of `report/index.html`, which contains its data, and of `nightrender watch`, which loads them. */
import { render } from 'preact';
import type { GalleryData } from '../../runner/core/gallery-data.ts';
import { Gallery } from './gallery-page.tsx';
import { LivePage } from './live-page.tsx';
import { reportRows } from './rows.ts';
import { Head } from './summary.tsx';

const root = document.querySelector('#page');
const text = document.querySelector('#data')?.textContent;
if (root !== null && text === undefined) render(<LivePage />, root);
if (root !== null && text !== undefined) {
  const data = JSON.parse(text) as GalleryData;
  const footer = (
    <footer>
      All rows are in <a href="results.csv">results.csv</a> and <a href="results.jsonl">results.jsonl</a>, the
      numbers in <a href="summary.json">summary.json</a>.
    </footer>
  );
  render(
    <>
      <Head data={data} />
      <Gallery data={data} rows={reportRows(data)} />
      {footer}
    </>,
    root,
  );
}
