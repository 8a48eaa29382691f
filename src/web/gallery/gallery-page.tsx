/** The views of a batch below its head, and the bar with marked scenes. */
import type { JSX } from 'preact';
import { useCallback, useMemo } from 'preact/hooks';
import type { GalleryData } from '../../runner/core/gallery-data.ts';
import { useHash } from '../shared/hooks.ts';
import { ComparedPictures } from './compared-pictures.tsx';
import { FailuresView } from './failures-view.tsx';
import { gridAxes } from './grid-axes.ts';
import { GridView } from './grid-view.tsx';
import { MarkBar, useMarks } from './mark-buttons.tsx';
import { NightView } from './night-view.tsx';
import { PicturesView } from './pictures-view.tsx';
import { readPlace, views, writePlace, type Place, type View } from './place.ts';
import { PickedButtons, usePicks } from './picks.tsx';
import type { Query } from './query.ts';
import type { Rows } from './rows.ts';
import { SizeSlider, useTileSize } from './tile-size.tsx';
import { Toolbar } from './toolbar.tsx';

interface Props {
  data: GalleryData;
  rows: Rows;
  /** A new number loads the pictures again. */
  connection?: number;
}

export function Gallery({ data, rows, connection }: Props): JSX.Element {
  const hasGrid = gridAxes(data).length > 1;
  const [place, go] = usePlace(data, hasGrid);
  const ask = (query: Query): void => go({ query, page: 1, open: undefined });
  const { kept, marking } = useMarks(data.title, data.times.firstSubmittedAt);
  const isList = place.view === 'pictures' || place.view === 'grid';
  const picking = usePicks(place, go);
  const tiles = useTileSize();
  const shared = { data, rows, place, go, marking, picking };
  return (
    <>
      <div class="row bar">
        <ViewBar
          data={data}
          hasGrid={hasGrid}
          place={place}
          onView={(view) => go({ view, open: undefined })}
        />
        {isList && (
          <Toolbar data={data} query={place.query} isOrdered={place.view === 'pictures'} onQuery={ask}>
            {place.view === 'pictures' && <SizeSlider {...tiles} />}
          </Toolbar>
        )}
      </div>
      <main key={connection}>
        {place.view === 'pictures' && <PicturesView {...shared} tiles={tiles} />}
        {place.view === 'grid' && <GridView {...shared} />}
        {place.view === 'failures' && <FailuresView {...shared} />}
        {place.view === 'night' && <NightView data={data} />}
      </main>
      <MarkBar
        kept={kept}
        batch={data.batch}
        shown={place.query.mark}
        onShow={(mark) => go({ view: 'pictures', query: { ...place.query, mark }, page: 1, open: undefined })}
      >
        {picking.picked.length === 0 ? null : <PickedButtons {...picking} />}
      </MarkBar>
      {place.sides.length > 0 && <ComparedPictures {...shared} />}
    </>
  );
}

/** Value of `history.state` for entries that open a comparison. */
const compared = 'compared';

/** Changing one of these resets the position in the grid. */
const startsGridAnew = new Set(['query', 'across', 'down', 'steps']);

/** Returns the place in the address, and a function that changes parts of it. */
function usePlace({ columns }: GalleryData, hasGrid: boolean): [Place, (change: Partial<Place>) => void] {
  const [hash, setHash] = useHash();
  const names = columns.map(({ name }) => name);
  const known = JSON.stringify([names, hasGrid]);
  /** Shows pictures instead if there is no grid. */
  const placeOf = (text: string): Place => {
    const place = readPlace(text, names);
    return place.view === 'grid' && !hasGrid ? { ...place, view: 'pictures' } : place;
  };
  const place = useMemo(() => placeOf(hash), [hash, known]);
  const go = useCallback(
    (change: Partial<Place>) => {
      const before = placeOf(location.hash);
      const isElse = Object.keys(change).some((each) => startsGridAnew.has(each));
      const next = writePlace({ ...before, ...(isElse && { at: [] }), ...change }, names);
      const address = next === '' ? location.pathname + location.search : next;
      // A comparison gets its own history entry, so that the browser's Back button closes it.
      if (change.sides?.length === 0 && history.state === compared) return history.back();
      if (change.sides !== undefined && before.sides.length === 0) history.pushState(compared, '', address);
      else history.replaceState(history.state, '', address);
      setHash(next);
    },
    [known],
  );
  return [place, go];
}

interface BarProps {
  data: GalleryData;
  hasGrid: boolean;
  place: Place;
  onView(view: View): void;
}

function ViewBar({ data, hasGrid, place, onView }: BarProps): JSX.Element {
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
