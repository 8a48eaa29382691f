/** The page of the report, `report/index.html`. */
import { render, type JSX } from 'preact';
import { useCallback, useMemo } from 'preact/hooks';
import type { GalleryData, GalleryFailure } from '../../runner/core/gallery-data.ts';
import { useHash } from '../shared/hooks.ts';
import { counted } from '../shared/number-words.ts';
import { Copyable, LongText } from '../shared/text.tsx';
import { GridView } from './grid-view.tsx';
import { NightView } from './night-view.tsx';
import { PicturesView } from './pictures-view.tsx';
import { readPlace, views, writePlace, type Place, type View } from './place.ts';
import { everything, type Query } from './query.ts';
import { Rows } from './rows.ts';
import { Summary } from './summary.tsx';
import { Toolbar } from './toolbar.tsx';

const root = document.querySelector('#page');
const data = JSON.parse(document.querySelector('#data')?.textContent ?? '{}') as GalleryData;
const rows = new Rows(data.chunks);
const names = data.columns.map(({ name }) => name);

function Page(): JSX.Element {
  const [place, go] = usePlace();
  const ask = (query: Query): void => go({ query, page: 1, open: undefined });
  const isList = place.view === 'pictures' || place.view === 'grid';
  const shared = { data, rows, place, go };
  return (
    <>
      <Summary data={data} />
      <ViewBar place={place} onView={(view) => go({ view, open: undefined })} />
      {isList && (
        <Toolbar data={data} query={place.query} isOrdered={place.view === 'pictures'} onQuery={ask} />
      )}
      <main>
        {place.view === 'pictures' && <PicturesView {...shared} />}
        {place.view === 'grid' && <GridView {...shared} />}
        {place.view === 'failures' && (
          <FailuresView
            failures={data.failures}
            onShow={(kind) => go({ view: 'pictures', query: { ...everything, kind }, page: 1 })}
          />
        )}
        {place.view === 'night' && <NightView data={data} />}
      </main>
      <footer>
        Written by {data.program}. All rows are in <a href="results.csv">results.csv</a> and{' '}
        <a href="results.jsonl">results.jsonl</a>, the numbers in <a href="summary.json">summary.json</a>.
      </footer>
    </>
  );
}

/** The place in the address, and how to change a part of it. */
function usePlace(): [Place, (change: Partial<Place>) => void] {
  const [hash, setHash] = useHash();
  const place = useMemo(() => readPlace(hash, names), [hash]);
  const go = useCallback((change: Partial<Place>) => {
    const next = writePlace({ ...readPlace(location.hash, names), ...change }, names);
    history.replaceState(null, '', next === '' ? location.pathname + location.search : next);
    setHash(next);
  }, []);
  return [place, go];
}

function ViewBar({ place, onView }: { place: Place; onView: (view: View) => void }): JSX.Element {
  const failed = data.failures.reduce((sum, { scenes }) => sum + scenes, 0);
  return (
    <nav aria-label="Views" class="tabs">
      {(Object.keys(views) as View[]).map((view) => (
        <button
          key={view}
          type="button"
          aria-current={place.view === view ? 'page' : undefined}
          onClick={() => onView(view)}
        >
          {views[view]}
          {view === 'failures' && failed > 0 && <small class="bad"> {failed.toLocaleString('en')}</small>}
        </button>
      ))}
    </nav>
  );
}

if (root !== null) render(<Page />, root);

interface Props {
  failures: GalleryFailure[];
  onShow(kind: string): void;
}

function FailuresView({ failures, onShow }: Props): JSX.Element {
  return (
    <section aria-label="Failures" class="stack wide">
      {failures.length === 0 && <p class="soft">Nothing failed.</p>}
      {failures.map(({ kind, means, scenes, text, command }) => (
        <article key={kind} class="card stack">
          <h2>
            {kind} <small>{counted(scenes, 'scene')}</small>
          </h2>
          <p class="soft">{means}</p>
          <LongText label={`A failure, ${kind}`} text={text} isBad />
          {command !== null && <Copyable label="Command that retries them" text={command} />}
          <p>
            <button type="button" onClick={() => onShow(kind)}>
              Show {scenes === 1 ? 'it' : 'them'}
            </button>
          </p>
        </article>
      ))}
    </section>
  );
}
