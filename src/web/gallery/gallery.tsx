/** The page of the report, `report/index.html`. */
import { render, type JSX } from 'preact';
import { useCallback, useMemo } from 'preact/hooks';
import type { GalleryData } from '../../runner/core/gallery-data.ts';
import { useHash } from '../shared/hooks.ts';
import { FailuresView } from './failures-view.tsx';
import { gridAxes, GridView } from './grid-view.tsx';
import { MarkBar, useMarks } from './mark-buttons.tsx';
import { NightView } from './night-view.tsx';
import { PicturesView } from './pictures-view.tsx';
import { readPlace, views, writePlace, type Place, type View } from './place.ts';
import type { Query } from './query.ts';
import { Rows } from './rows.ts';
import { Head } from './summary.tsx';
import { Toolbar } from './toolbar.tsx';

const root = document.querySelector('#page');
const data = JSON.parse(document.querySelector('#data')?.textContent ?? '{}') as GalleryData;
const rows = new Rows(data);
const hasGrid = gridAxes(data).length > 1;
const names = data.columns.map(({ name }) => name);

function Page(): JSX.Element {
  const [place, go] = usePlace();
  const ask = (query: Query): void => go({ query, page: 1, open: undefined });
  const { kept, marking } = useMarks(`nightrender marks ${data.times.firstSubmittedAt ?? 0} ${data.title}`);
  const isList = place.view === 'pictures' || place.view === 'grid';
  const shared = { data, rows, place, go, marking };
  return (
    <>
      <Head data={data} />
      <div class="row bar">
        <ViewBar place={place} onView={(view) => go({ view, open: undefined })} />
        {isList && (
          <Toolbar data={data} query={place.query} isOrdered={place.view === 'pictures'} onQuery={ask} />
        )}
      </div>
      <main>
        {place.view === 'pictures' && <PicturesView {...shared} />}
        {place.view === 'grid' && <GridView {...shared} />}
        {place.view === 'failures' && <FailuresView {...shared} />}
        {place.view === 'night' && <NightView data={data} />}
      </main>
      <MarkBar
        kept={kept}
        retry={data.retry}
        shown={place.query.mark}
        onShow={(mark) => go({ view: 'pictures', query: { ...place.query, mark }, page: 1, open: undefined })}
      />
      <footer>
        All rows are in <a href="results.csv">results.csv</a> and <a href="results.jsonl">results.jsonl</a>,
        the numbers in <a href="summary.json">summary.json</a>.
      </footer>
    </>
  );
}

/** The place in the address, and how to change a part of it. */
function usePlace(): [Place, (change: Partial<Place>) => void] {
  const [hash, setHash] = useHash();
  const place = useMemo(() => placeOf(hash), [hash]);
  const go = useCallback((change: Partial<Place>) => {
    const next = writePlace({ ...placeOf(location.hash), ...change }, names);
    history.replaceState(null, '', next === '' ? location.pathname + location.search : next);
    setHash(next);
  }, []);
  return [place, go];
}

/** Without what a grid is made of, the pictures are shown. */
function placeOf(hash: string): Place {
  const place = readPlace(hash, names);
  return place.view === 'grid' && !hasGrid ? { ...place, view: 'pictures' } : place;
}

function ViewBar({ place, onView }: { place: Place; onView: (view: View) => void }): JSX.Element {
  const failed = data.failures.reduce((sum, { scenes }) => sum + scenes, 0);
  return (
    <nav aria-label="Views" class="tabs">
      {(Object.keys(views) as View[]).map((view) =>
        view === 'grid' && !hasGrid ? null : (
          <button
            key={view}
            type="button"
            aria-current={place.view === view ? 'page' : undefined}
            onClick={() => onView(view)}
          >
            {views[view]}
            {view === 'failures' && failed > 0 && <small class="bad"> {failed.toLocaleString('en')}</small>}
          </button>
        ),
      )}
    </nav>
  );
}

if (root !== null) render(<Page />, root);
