/** The gallery of a batch that is watched: how it stands on top, and its scenes as they are now. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { GalleryData } from '../../runner/core/gallery-data.ts';
import type { ArrivedScene, LiveNews, LiveState } from '../../runner/core/live-batch.ts';
import { useNow } from '../shared/hooks.ts';
import { PageHead } from '../shared/page-head.tsx';
import { Copyable } from '../shared/text.tsx';
import { followBatch } from './follow-batch.ts';
import { Gallery } from './gallery-page.tsx';
import { LiveStrip } from './live-strip.tsx';
import { readPlace, writePlace } from './place.ts';
import { servedRows, type Rows } from './rows.ts';
import { percentOf, titleOf, wordsOf } from './run-words.ts';
import { openedAt } from './scene-dialog.tsx';
import { BatchNumbers } from './summary.tsx';

interface Live {
  state: LiveState;
  /** How far the clock of the machine that renders is ahead of this one's. */
  aheadMs: number;
  /** Scenes with new pictures, the newest first. */
  arrived: ArrivedScene[];
  rows: Rows | undefined;
  gallery: GalleryData | undefined;
}

/** As many as the server tells of at once. */
const mostArrived = 24;

function withNews(before: Live | undefined, news: LiveNews): Live {
  const { now, arrived, chunks, changed, gallery = before?.gallery, ...state } = news;
  const isAgain = (index: number): boolean => arrived.some((scene) => scene.index === index);
  const earlier = chunks === undefined ? (before?.arrived ?? []) : [];
  const rows = before?.rows ?? (chunks && servedRows(chunks));
  return {
    state,
    aheadMs: now - Date.now(),
    arrived: [...arrived, ...earlier.filter(({ index }) => !isAgain(index))].slice(0, mostArrived),
    rows: rows?.renewed(chunks, changed),
    gallery,
  };
}

export function LivePage(): JSX.Element {
  const [live, setLive] = useState<Live>();
  const [isLost, setLost] = useState(false);
  useEffect(
    () => followBatch({ hear: (news) => setLive((before) => withNews(before, news)), lose: setLost }),
    [],
  );
  // What did not load while nothing answered is tried again.
  const [connections, setConnections] = useState(0);
  useEffect(() => {
    if (!isLost) setConnections((before) => before + 1);
  }, [isLost]);
  useEffect(() => {
    document.title = titleOf(live?.state);
  }, [live]);
  if (live === undefined)
    return <p class="waiting">{isLost ? 'No response yet; retrying …' : 'Loading …'}</p>;
  const { state, aheadMs, arrived, rows } = live;
  const { numbers, run } = state;
  const data = shownData(live);
  const isOver = run.kind === 'ended';
  return (
    <>
      <RunHead state={state} aheadMs={aheadMs}>
        {isOver && data !== undefined && <BatchNumbers data={data} />}
        {isLost && (
          <p class="message bad">
            <strong>Connection lost.</strong> <code>nightrender watch</code> does not answer; the run itself
            goes on without it. The page looks again by itself, and shows what it last knew.
          </p>
        )}
      </RunHead>
      {numbers !== null && !isOver && (
        <LiveStrip
          numbers={numbers}
          aheadMs={aheadMs}
          arrived={arrived}
          onOpen={(scene) => data !== undefined && open(scene, data)}
        />
      )}
      {data === undefined || rows === undefined ? (
        <main>{numbers !== null && <p class="waiting">Reading the list …</p>}</main>
      ) : (
        // Marks are kept by its first submission.
        <Gallery key={`${data.times.firstSubmittedAt} ${connections}`} data={data} rows={rows} />
      )}
      <Announcer state={state} isLost={isLost} />
    </>
  );
}

/** What was counted over all rows, with the numbers of now; undefined where there is nothing to show. */
function shownData({ state: { numbers }, gallery }: Live): GalleryData | undefined {
  if (numbers === null || gallery === undefined) return undefined;
  const { scenes, attempts: total, cost } = numbers;
  return { ...gallery, scenes, attempts: { ...gallery.attempts, total }, cost };
}

/** In the view that is shown, unless that shows no scenes. */
function open({ index, row }: ArrivedScene, { columns }: GalleryData): void {
  const names = columns.map(({ name }) => name);
  const place = readPlace(location.hash, names);
  const view = place.view === 'night' ? 'pictures' : place.view;
  location.hash = writePlace({ ...place, view, ...openedAt(index, row) }, names);
}

/** Each tenth of the work, each change of the run, and the connection. */
function Announcer({ state, isLost }: { state: LiveState; isLost: boolean }): JSX.Element {
  const percent = percentOf(state);
  const tenth = percent === undefined ? '' : `, ${Math.floor(percent / 10) * 10} % saved`;
  const { head } = wordsOf(state, 0);
  return (
    <p class="unseen" role="status">
      {isLost ? 'Connection lost, reconnecting.' : `${head}${tenth}.`}
    </p>
  );
}

interface HeadProps {
  state: LiveState;
  aheadMs: number;
  children: ComponentChildren;
}

function RunHead({ state, aheadMs, children }: HeadProps): JSX.Element {
  const { head, text, command, mood } = wordsOf(state, useNow(aheadMs));
  return (
    <PageHead name={state.name} tone={mood} state={head} kind={state.run.kind}>
      <p class="soft said">{text}</p>
      {command !== undefined && <Copyable label="Command" text={command} />}
      {children}
    </PageHead>
  );
}
