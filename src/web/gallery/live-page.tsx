/** The page of `nightrender watch`: the state of the batch on top, and its scenes below. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ArrivedScene, GalleryData, LiveNews, LiveState } from '../../runner/core/gallery-data.ts';
import { Connection } from '../shared/grid-picture.ts';
import { useNow } from '../shared/hooks.ts';
import { PageHead, type Tone } from '../shared/facts.tsx';
import { Copyable } from '../shared/text.tsx';
import { BatchNumbers, Gallery } from './gallery-page.tsx';
import { LiveStrip } from './live-strip.tsx';
import { readPlace, writePlace } from './page-location.ts';
import { openedAt } from './scene-dialog.tsx';
import type { BatchMarks } from './kept-marks.ts';
import { ownHeaders, RefusedRequest, sendMarks, type SignedIn, useSession } from './watch-session.ts';
import { countWords, durationWords, instantWords } from '../shared/number-words.ts';
import { type Rows, servedRows } from './rows.ts';

interface Live {
  state: LiveState;
  /** Clock of the rendering machine minus this machine's clock, in ms. */
  aheadMs: number;
  /** Scenes with new pictures, newest first. */
  arrived: ArrivedScene[];
  rows: Rows | undefined;
  gallery: GalleryData | undefined;
  marks: BatchMarks['sent'];
}

/** Same limit as in the server's responses. */
const maxArrived = 24;

function withNews(before: Live | undefined, news: LiveNews): Live {
  const {
    now,
    arrived,
    chunks,
    changed,
    gallery = before?.gallery,
    marks = before?.marks ?? [],
    ...state
  } = news;
  const isAgain = (index: number): boolean => arrived.some((scene) => scene.index === index);
  const earlier = chunks === undefined ? (before?.arrived ?? []) : [];
  const rows = before?.rows ?? (chunks && servedRows(chunks));
  return {
    state,
    aheadMs: now - Date.now(),
    arrived: [...arrived, ...earlier.filter(({ index }) => !isAgain(index))].slice(0, maxArrived),
    rows: rows?.renewed(chunks, changed),
    gallery,
    marks,
  };
}

export function LivePage(): JSX.Element {
  const [live, setLive] = useState<Live>();
  const [isLost, setLost] = useState(false);
  const signedIn = useSession();
  const { session } = signedIn;
  const signedInStill = async (request: Promise<void>): Promise<void> => {
    try {
      await request;
    } catch (error) {
      if (error instanceof RefusedRequest && error.status === 401) await signedIn.look();
      throw error;
    }
  };
  const maySee = session !== undefined && (session.role !== null || !session.isPrivate);
  useEffect(() => {
    if (!maySee) return undefined;
    return followBatch({
      hear: (news) => setLive((before) => withNews(before, news)),
      lose: setLost,
      signedOut: () => void signedIn.look().catch(() => undefined),
    });
  }, [maySee]);
  // Pictures that failed to load while the server was down are loaded again.
  const [connections, setConnections] = useState(0);
  useEffect(() => {
    if (!isLost) setConnections((before) => before + 1);
  }, [isLost]);
  useEffect(() => {
    document.title = titleOf(live?.state);
  }, [live]);
  if (session !== undefined && !maySee) return <SignInPage {...signedIn} />;
  if (live === undefined)
    return <p class="waiting">{isLost ? 'No response yet; retrying …' : 'Loading …'}</p>;
  const { state, aheadMs, arrived, rows } = live;
  const { numbers, run } = state;
  const data = shownData(live);
  const isOver = run.kind === 'ended';
  return (
    <Connection.Provider value={connections}>
      <RunHead state={state} aheadMs={aheadMs}>
        {isOver && data !== undefined && <BatchNumbers data={data} />}
        {isLost && (
          <p class="message bad">
            <strong>Connection lost.</strong> <code>nightrender watch</code> does not answer; the run itself
            goes on without it. The page tries again by itself, and shows what it last knew.
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
        <Gallery
          data={data}
          rows={rows}
          batchMarks={
            session === undefined || session.role === null
              ? undefined
              : {
                  sent: live.marks,
                  allowed: session.marks,
                  send: (changes, isLeaving) => signedInStill(sendMarks(changes, isLeaving)),
                  download: () => signedInStill(signedIn.download()),
                }
          }
        />
      )}
      {session !== undefined && <SessionFoot {...signedIn} />}
      <Announcer state={state} isLost={isLost} />
    </Connection.Provider>
  );
}

/** Returns the gallery with current totals; undefined if there is nothing to show. */
function shownData({ state: { numbers }, gallery }: Live): GalleryData | undefined {
  if (numbers === null || gallery === undefined) return undefined;
  const { scenes, attempts: total, cost } = numbers;
  return { ...gallery, scenes, attempts: { ...gallery.attempts, total }, cost };
}

/** Opens a scene in the current view, or in the pictures if that view shows no scenes. */
function open({ index, row }: ArrivedScene, { columns }: GalleryData): void {
  const names = columns.map(({ name }) => name);
  const place = readPlace(location.hash, names);
  const view = place.view === 'night' ? 'pictures' : place.view;
  location.hash = writePlace({ ...place, view, ...openedAt(index, row) }, names);
}

/** The page of a batch that nobody sees without a password. */
function SignInPage(signedIn: SignedIn): JSX.Element {
  return (
    <main class="stack">
      <h1>Pictures of a batch</h1>
      <p class="soft">Enter the password that you were given.</p>
      <PasswordForm {...signedIn} />
    </main>
  );
}

function PasswordForm({ enter }: SignedIn): JSX.Element {
  const [password, setPassword] = useState('');
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    if (isBusy || password.trim() === '') return;
    setBusy(true);
    try {
      await enter(password);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      class="row password"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <label>
        Password{' '}
        <input
          type="password"
          autocomplete="current-password"
          autocapitalize="off"
          spellcheck={false}
          value={password}
          onInput={(event) => setPassword(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="primary" aria-disabled={isBusy}>
        Sign in
      </button>
      <p class="bad" role="alert">
        {problem === '' ? '' : `${problem.charAt(0).toUpperCase()}${problem.slice(1)}.`}
      </p>
    </form>
  );
}

/** Says where marks are kept, and lets a reader sign in or out. */
function SessionFoot(signedIn: SignedIn): JSX.Element {
  const { session, leave } = signedIn;
  if (session?.role === null || session === undefined)
    return (
      <footer class="stack">
        <p>
          Stars and other marks stay in this browser. To keep them with the batch, open the link that{' '}
          <code>nightrender watch</code> printed, or enter its password.
        </p>
        <PasswordForm {...signedIn} />
      </footer>
    );
  return (
    <footer class="row">
      {session.role === 'owner'
        ? 'Stars and other marks are kept with the batch, for every browser and command.'
        : 'Stars are kept with the batch.'}
      <button type="button" class="small" onClick={() => void leave().then(() => location.reload())}>
        Sign out
      </button>
    </footer>
  );
}

/** Announces each tenth of the work, changes of the run, and lost connections to screen readers. */
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
  const { head, text, command, tone } = wordsOf(state, useNow(aheadMs));
  return (
    <PageHead name={state.name} tone={tone} state={head} kind={state.run.kind}>
      <p class="soft said">{text}</p>
      {command !== undefined && <Copyable label="Command" text={command} />}
      {children}
    </PageHead>
  );
}

interface Follower {
  hear(news: LiveNews): void;
  lose(isLost: boolean): void;
  /** Called if the server does not know the session any more. */
  signedOut(): void;
}

/** Time limit of a request. The server answers within 15 s, but a response may get lost on the way. */
const silenceMs = 40_000;

const pauseMs = 2_000;

/** Follows the batch by long polling, with reconnects, while the page is visible. Returns a stop function. */
function followBatch({ hear, lose, signedOut }: Follower): () => void {
  let asking = new AbortController();
  let revision = 0;
  const ask = async (signal: AbortSignal): Promise<void> => {
    const answer = await fetch(`data.json?since=${revision}`, {
      headers: ownHeaders(),
      signal: AbortSignal.any([signal, AbortSignal.timeout(silenceMs)]),
    });
    if (answer.status === 401) signedOut();
    if (!answer.ok) throw new Error(`${answer.url} answered ${answer.status}`);
    const news = (await answer.json()) as LiveNews;
    if (signal.aborted) return;
    revision = news.revision;
    lose(false);
    hear(news);
  };
  const follow = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      try {
        await ask(signal);
      } catch {
        if (!signal.aborted) lose(true);
        await new Promise((resume) => setTimeout(resume, pauseMs));
      }
    }
  };
  const begin = (): void => {
    asking.abort();
    asking = new AbortController();
    if (document.visibilityState !== 'hidden') void follow(asking.signal);
  };
  document.addEventListener('visibilitychange', begin);
  begin();
  return () => {
    document.removeEventListener('visibilitychange', begin);
    asking.abort();
  };
}

type Run = LiveState['run'];

interface RunWords {
  head: string;
  /** Consequence of the state for the user's run. */
  text: string;
  /** Command that helps, if there is one. */
  command?: string;
  tone: Tone;
}

/** `now`: epoch ms by the clock of the rendering machine. */
function wordsOf({ run, numbers, command }: LiveState, now: number): RunWords {
  switch (run.kind) {
    case 'none':
      return {
        head: 'No batch yet',
        text: 'Nothing has been rendered here yet. This page waits for a run:',
        command,
        tone: 'wait',
      };
    case 'starting':
      return { head: 'Starting', text: 'A run is reading the list.', tone: 'calm' };
    case 'running':
      return {
        head: 'Running',
        text: `since ${instantWords(run.since)}, for ${durationWords(Math.max(0, now - run.since))}.`,
        tone: 'calm',
      };
    case 'stalled':
      return {
        head: 'Stalled',
        text: `Nothing has finished for ${durationWords(now - run.quietSince)}, with ${countWords(numbers?.scenes.active ?? 0)} in flight. The service may be short of workers. The run keeps waiting, and submits a job again once it exceeds timeouts in pipeline.yaml.`,
        tone: 'wait',
      };
    case 'ended':
      return endedWords(run, command);
    case 'killed':
      return {
        head: 'No final status',
        text: `The run that began ${instantWords(run.since)} was killed, or its machine went down. Start it again to resume. Within 30 minutes, jobs in flight can still be collected.`,
        command,
        tone: 'bad',
      };
    case 'unreadable':
      return { head: 'Cannot be read', text: run.text, tone: 'bad' };
  }
}

function endedWords(run: Run & { kind: 'ended' }, command: string): RunWords {
  const ending = run.ending ?? 'ended';
  const sentence = `${ending.charAt(0).toUpperCase()}${ending.slice(1)}`.replace(/\.?$/, '.');
  const text = `${sentence} It ended ${instantWords(run.at)} with exit code ${run.exitCode}.`;
  if (run.exitCode === 0) return { head: 'Done', text, tone: 'good' };
  if (run.exitCode === 3) return { head: 'Ended', text, tone: 'wait' };
  return { head: 'Stopped', text: `${text} To start it again:`, command, tone: 'bad' };
}

/** Percentage of listed scenes that are saved; undefined if there are none. */
function percentOf({ numbers }: LiveState): number | undefined {
  if (numbers === null) return undefined;
  const { waiting, active, saved, failed, invalid } = numbers.scenes;
  const total = waiting + active + saved + failed + invalid;
  return total === 0 ? undefined : Math.floor((saved / total) * 100);
}

function titleOf(batch: LiveState | undefined): string {
  if (batch === undefined) return 'nightrender';
  const percent = percentOf(batch);
  const { head } = wordsOf(batch, 0);
  return `${percent === undefined ? '' : `${percent} % `}${head.toLowerCase()} · ${batch.name}`;
}
