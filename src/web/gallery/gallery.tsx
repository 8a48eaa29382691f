/** The entry point of `report/index.html`, which contains its data, and of `nightrender watch`, which loads them. */
import { render, type JSX } from 'preact';
import type { GalleryData } from '../../runner/core/gallery-data.ts';
import { BatchNumbers, Gallery, endingWords } from './gallery-page.tsx';
import { LivePage } from './live-page.tsx';
import { reportRows } from './rows.ts';
import { PageHead, type Tone } from '../shared/facts.tsx';
import { countWords } from '../shared/number-words.ts';

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

function Head({ data }: { data: GalleryData }): JSX.Element {
  const { scenes, runs } = data;
  const { tone, word } = batchState(scenes);
  const ending = endingWords(runs.at(-1), true);
  return (
    <PageHead name={data.title} tone={tone} state={word}>
      <BatchNumbers data={data} />
      {data.bias !== null && <p class="soft why">{data.bias}.</p>}
      {tone !== 'good' && ending !== '' && (
        <p class="soft why" title={ending}>
          {ending}
        </p>
      )}
    </PageHead>
  );
}

function batchState(scenes: GalleryData['scenes']): { tone: Tone; word: string } {
  const of = (state: string): number => scenes[state] ?? 0;
  const failed = of('failed') + of('invalid');
  if (of('waiting') + of('active') > 0) return { tone: 'wait', word: 'unfinished' };
  return failed > 0
    ? { tone: 'bad', word: `${countWords(failed)} failed` }
    : { tone: 'good', word: 'complete' };
}
