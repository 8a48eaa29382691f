/** The views of a batch below its head, those of failures and runs among them, and the bar with marked scenes. */
import type { JSX } from 'preact';
import { useCallback, useMemo, useState } from 'preact/hooks';
import type {
  GalleryCause,
  GalleryData,
  GalleryFailure,
  GalleryNight,
  GalleryTimes,
  GalleryRun,
} from '../../runner/core/gallery-data.ts';
import { nounFor } from '../../runner/core/picture.ts';
import {
  clockTicks,
  counted,
  durationWords,
  instantWords,
  rateUnit,
  countWords,
  byteWords,
  moneyWords,
} from '../shared/number-words.ts';
import { Bars } from '../shared/charts.tsx';
import { useHash, useLoaded } from '../shared/hooks.ts';
import { Copyable, LongText } from '../shared/text.tsx';
import { ComparedPictures } from './compared-pictures.tsx';
import { gridAxes, GridView } from './grid-view.tsx';
import { type BatchMarks, useMarks } from './kept-marks.ts';
import { MarkBar, PickedButtons, usePicks } from './mark-buttons.tsx';
import {
  listedOf,
  PicturesView,
  type Scene,
  ScenePictures,
  SizeSlider,
  useTileSize,
} from './pictures-view.tsx';
import { type Place, readPlace, type View, views, writePlace } from './page-location.ts';
import { everything, type Query } from './query.ts';
import { type Rows, selectionOf } from './rows.ts';
import { OpenScene, type ViewProps } from './scene-dialog.tsx';
import { Toolbar } from './toolbar.tsx';
import { Facts } from '../shared/facts.tsx';

interface Props {
  data: GalleryData;
  rows: Rows;
  /** Marks that are kept with the batch; undefined if nobody is signed in at `watch`. */
  batchMarks?: BatchMarks | undefined;
}

export function Gallery({ data, rows, batchMarks }: Props): JSX.Element {
  const hasGrid = gridAxes(data).length > 1;
  const [place, go] = usePlace(data, hasGrid);
  const ask = (query: Query): void => go({ query, page: 1, open: undefined });
  const marking = useMarks(data, batchMarks);
  const isList = place.view === 'pictures' || place.view === 'grid';
  const picking = usePicks(place, go);
  const tiles = useTileSize(data);
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
          <Toolbar
            data={data}
            query={place.query}
            areMarksKept={marking.keeper === 'batch'}
            isOrdered={place.view === 'pictures'}
            onQuery={ask}
          >
            {place.view === 'pictures' && <SizeSlider {...tiles} />}
          </Toolbar>
        )}
      </div>
      <main>
        {place.view === 'pictures' && <PicturesView {...shared} tiles={tiles} />}
        {place.view === 'grid' && <GridView {...shared} />}
        {place.view === 'failures' && <FailuresView {...shared} />}
        {place.view === 'night' && <NightView data={data} />}
      </main>
      <MarkBar
        marking={marking}
        data={data}
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
            {view === 'pictures' ? nounsFor(data.pictures) : views[view]}
            {view === 'failures' && failed > 0 && <small class="bad"> {failed.toLocaleString('en')}</small>}
          </button>
        ),
      )}
    </nav>
  );
}

/** Returns `Pictures`, `Clips`, or `Files` for both. */
function nounsFor(pictures: GalleryData['pictures']): string {
  const noun = nounFor(pictures);
  return `${noun.charAt(0).toUpperCase()}${noun.slice(1)}s`;
}

/** The view of failures by kind and cause: the first scenes, the message, and the command that retries them. */
function FailuresView(props: ViewProps): JSX.Element {
  const { failures } = props.data;
  const order = failures.flatMap(({ causes }) => causes.flatMap(({ first }) => first));
  return (
    <section aria-label="Failures" class="stack wide">
      {failures.length === 0 && <p class="soft">Nothing failed.</p>}
      {failures.map((failure) => (
        <Kind key={failure.kind} {...props} failure={failure} />
      ))}
      <OpenScene {...props} order={selectionOf(order)} />
    </section>
  );
}

/** Up to this number of causes, all are expanded; of more, only the first. */
const fewCauses = 3;

function Kind({ failure, ...view }: ViewProps & { failure: GalleryFailure }): JSX.Element {
  const { kind, means, scenes, causes, command } = failure;
  const [only] = causes;
  return (
    <article class="card stack">
      <div class="row">
        <h2>
          {kind} <small>{counted(scenes, 'scene')}</small>
        </h2>
        <button
          type="button"
          onClick={() => view.go({ view: 'pictures', query: { ...everything, kind }, page: 1 })}
        >
          Show {scenes === 1 ? 'it' : 'them'}
        </button>
      </div>
      <p class="soft">{means}</p>
      {causes.length === 1 && only !== undefined ? (
        <Examples {...view} kind={kind} cause={only} />
      ) : (
        causes.map((cause, index) => (
          <Cause
            key={cause.text}
            {...view}
            kind={kind}
            cause={cause}
            isFirst={index === 0 || causes.length <= fewCauses}
          />
        ))
      )}
      {command !== null && <Copyable label="Command that retries them" text={command} />}
    </article>
  );
}

type CauseProps = ViewProps & { kind: string; cause: GalleryCause };

function Cause({ isFirst, ...props }: CauseProps & { isFirst: boolean }): JSX.Element {
  const [isOpen, setOpen] = useState(isFirst);
  const { scenes, text, isRest } = props.cause;
  return (
    <details open={isOpen} class="cause" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <strong>{counted(scenes, 'scene')}</strong> <bdi>{isRest ? 'with other messages' : text}</bdi>
      </summary>
      {isOpen && <Examples {...props} />}
    </details>
  );
}

function Examples({ kind, cause, ...view }: CauseProps): JSX.Element {
  const { rows } = view;
  const shown = useLoaded<Scene[]>([rows, cause], async () => {
    const all = await Promise.all(cause.first.map(async (index) => ({ index, row: await rows.at(index) })));
    return all.flatMap(({ index, row }) => (row === undefined ? [] : [{ index, row }]));
  });
  return (
    <div class="stack">
      <ScenePictures {...view} shown={shown ?? []} />
      <LongText label={`A failure, ${kind}`} text={cause.text} isBad />
    </div>
  );
}

/** The view of the runs: throughput, runs, queue and execution times. */
function NightView({ data }: { data: GalleryData }): JSX.Element {
  const [whole, latest] = data.nights;
  return (
    <section aria-label="The night" class="stack wide">
      <About data={data} />
      {whole === undefined && <p class="soft">Nothing was submitted yet.</p>}
      {latest !== undefined && <Night title="The latest run" night={latest} />}
      {whole !== undefined && (
        <Night title={latest === undefined ? 'Throughput' : 'The whole batch'} night={whole} />
      )}
      {whole !== undefined && <Runs {...data} />}
      <div class="columns even">
        <Times title="Waiting in the queue" times={data.delay} />
        <Times title="Execution" times={data.execution} />
      </div>
    </section>
  );
}

function Night({ title, night }: { title: string; night: GalleryNight }): JSX.Element {
  const { startedAt, endedAt, saved, failed } = night;
  const binMs = (endedAt - startedAt) / saved.length;
  const unit = rateUnit((1000 * Math.max(...saved)) / binMs);
  const factor = (1000 * unit.seconds) / binMs;
  const sum = saved.reduce((all, count) => all + count, 0);
  const bad = failed.reduce((all, count) => all + count, 0);
  const words = `${counted(sum, 'scene')} saved${bad > 0 ? ` and ${bad} failed` : ''} in ${durationWords(endedAt - startedAt)}`;
  return (
    <figure class="card">
      <h2>{title}</h2>
      <p class="soft">{words}</p>
      <Bars
        label={`${title}: ${words}`}
        bars={saved.map((value, index) => ({
          value: value * factor,
          bad: (failed[index] ?? 0) * factor,
          title: `${instantWords(startedAt + index * binMs)}: ${value} saved, ${failed[index] ?? 0} failed`,
        }))}
        unit={`scenes ${unit.words}`}
        ticks={clockTicks(startedAt, endedAt)}
      />
    </figure>
  );
}

function Runs({ runs, writtenAt }: GalleryData): JSX.Element {
  return (
    <section class="card" aria-label="Runs">
      <h2>{counted(runs.length, 'run')}</h2>
      <ol reversed>
        {runs
          .map((run, index) => {
            // A run that crashed had ended by the time the next one started.
            const endedAt = run.endedAt ?? runs[index + 1]?.startedAt ?? writtenAt;
            return (
              <li key={run.run}>
                {instantWords(run.startedAt)} <small>for {durationWords(endedAt - run.startedAt)}</small>
                <p class={run.ending === null ? 'bad' : 'soft'}>
                  {endingWords(run, index === runs.length - 1)}
                </p>
              </li>
            );
          })
          .toReversed()}
      </ol>
    </section>
  );
}

function Times({ title, times }: { title: string; times: GalleryTimes | null }): JSX.Element {
  if (times === null) return <></>;
  const { bins, count, p50Ms, p95Ms, mostMs, upToMs } = times;
  const binMs = upToMs / bins.length;
  const words = `half within ${durationWords(p50Ms)}, 95 % within ${durationWords(p95Ms)}, at most ${durationWords(mostMs)}`;
  return (
    <figure class="card">
      <h2>{title}</h2>
      <p class="soft">
        p50 {durationWords(p50Ms)} · p95 {durationWords(p95Ms)} · longest {durationWords(mostMs)}
      </p>
      <Bars
        label={`${title} of ${counted(count, 'job')}: ${words}`}
        bars={bins.map((value, index) => ({
          value,
          title: `${durationWords(index * binMs)} to ${durationWords((index + 1) * binMs)}: ${counted(value, 'job')}`,
        }))}
        marks={[p50Ms / upToMs, Math.min(1, p95Ms / upToMs)]}
        unit="jobs"
        ticks={[
          { at: 0, text: '0' },
          { at: 0.5, text: durationWords(upToMs / 2) },
          { at: 1, text: `${durationWords(upToMs)}${mostMs > upToMs ? ' and longer' : ''}` },
        ]}
      />
    </figure>
  );
}

export function BatchNumbers({
  data: { scenes, cost, attempts, times },
}: {
  data: GalleryData;
}): JSX.Element {
  const withdrawn = scenes['withdrawn'] ?? 0;
  const unneeded = scenes['unneeded'] ?? 0;
  const numbers = [
    `${countWords(scenes['saved'] ?? 0)} of ${counted(listedOf(scenes), 'scene')}`,
    unneeded === 0 ? '' : `${countWords(unneeded)} not needed`,
    withdrawn === 0 ? '' : `${countWords(withdrawn)} withdrawn`,
    costWords(cost, attempts.unanswered + attempts.expired),
    times.runMs === 0 ? '' : durationWords(times.runMs),
  ];
  return <p class="soft numbers">{numbers.filter((each) => each !== '').join(' · ')}</p>;
}

/** Cost such as `6.00 USD + 1 unknown`. `unknown`: number of submissions that may have been billed. */
function costWords(cost: GalleryData['cost'], unknown: number): string {
  if (cost === null) return unknown === 0 ? '' : `${countWords(unknown)} of unknown cost`;
  const { spent, stated, currency } = cost;
  const part = stated === undefined ? '' : ` (${moneyWords(stated, currency)} stated, the rest estimated)`;
  return moneyWords(spent, currency) + part + (unknown === 0 ? '' : ` + ${countWords(unknown)} unknown`);
}

export function endingWords(run: GalleryRun | undefined, isLatest: boolean): string {
  if (run === undefined) return '';
  if (run.ending !== null) return `${run.ending.replace(/\.$/, '')}.`;
  return isLatest
    ? 'The run was still going when this was written, or exited without a final status.'
    : 'It exited without a final status.';
}

function About({ data }: { data: GalleryData }): JSX.Element {
  const { scenes, pictures, attempts, times, runs } = data;
  const states = Object.entries(scenes).filter(([, count]) => count > 0);
  return (
    <section class="card" aria-label="The batch">
      <Facts
        facts={[
          ['Latest run', endingWords(runs.at(-1), true) || null],
          ['Scenes', states.map(([state, count]) => `${countWords(count)} ${state}`).join(', ')],
          [nounsFor(pictures), `${countWords(pictures.files)}, ${byteWords(pictures.bytes)}`],
          ['Submissions', countWords(attempts.total)],
          ['Execution', durationWords(times.executionTimeMs)],
          ['Rendered by', data.endpoint],
          ['Written', `${instantWords(data.writtenAt)} by ${data.program}`],
        ]}
      />
    </section>
  );
}
