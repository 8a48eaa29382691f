/** All that is on record of one id, and what decides what happens to it next. */
import type { AttemptState, Endpoint } from './attempt.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { SavedPicture } from './picture.ts';
import { isFailureKind } from './failure.ts';
import { settingFor } from './holding.ts';
import { suspectDeaths } from './retry.ts';
import { replacedSuffix, type SceneState } from './scene.ts';
import { formatDuration } from '../../lib/text/format.ts';

/** Every input that the id ever had, the one that counts first, and its rows that were skipped as invalid. */
export interface SceneStory {
  id: string;
  versions: SceneVersion[];
  invalid: { source: string; problem: string }[];
}

/** The id with one input; an edited row makes another. Instants are epoch ms. */
export interface SceneVersion {
  state: SceneState;
  fingerprint: string;
  /** Where the row stands, or stood: `jobs/scenes.csv:17`. */
  source: string;
  columns: JsonObject;
  /** What is sent. */
  input: JsonObject;
  failureKind: string | null;
  failureText: string | null;
  /** When a retry may start; 0 where it was never tried or may start at once. */
  dueAt: number;
  /** Fresh scenes that come before it; 0 unless it waits for its first turn. */
  ahead: number;
  /** Violent deaths of the program while it handled the scene. */
  deaths: number;
  attempts: AttemptStory[];
}

/** One submission; what is not known, or not yet, is null. */
export interface AttemptStory {
  number: number;
  run: number;
  state: AttemptState;
  endpoint: Endpoint;
  jobId: string | null;
  /** As the service spelled it last. */
  status: string | null;
  intendedAt: number;
  submittedAt: number | null;
  /** When it was first seen executing. */
  executingAt: number | null;
  completedAt: number | null;
  settledAt: number | null;
  /** As the service counts them. */
  delayTimeMs: number | null;
  executionTimeMs: number | null;
  polls: number;
  failureKind: string | null;
  failureText: string | null;
  /** Whether it still counts against `retry`: a person who puts a scene back gives it fresh attempts. */
  isCounted: boolean;
  pictures: SavedPicture[];
  /** What `output.files` asked for. */
  files: SavedPicture[];
}

export interface StoryPlace {
  /** Whether a run is at work on the batch. */
  isRunning: boolean;
  /** Whether another input has taken the id. */
  isReplaced: boolean;
  /** `nightrender retry pipeline.yaml --id …` */
  retryCommand: string;
  /** Epoch ms. */
  now: number;
}

/** What decides its next step, in a sentence or two. */
export function nextStep(version: SceneVersion, place: StoryPlace): string {
  switch (version.state) {
    case 'saved':
      return 'nothing is left to do; `nightrender retry --id … --again` renders it again, and `nightrender verify --repair` puts back what gets lost';
    case 'active':
      return whileActive(version, place);
    case 'waiting':
      return whileWaiting(version, place);
    case 'unneeded':
      return `${place.isRunning ? 'the run' : 'the next run'} sends it only if the seed before it falls short (\`scenes.until\`)`;
    case 'failed':
      return afterFailure(version, place);
    case 'withdrawn':
      return afterWithdrawal(version, place);
  }
}

function whileActive({ attempts }: SceneVersion, { isRunning, now }: StoryPlace): string {
  const last = attempts.at(-1);
  if (last?.jobId === null || last === undefined) {
    return isRunning
      ? 'it is being sent'
      : 'it may have been sent when the program died: the next run records it as unanswered, and `retry.unanswered` decides';
  }
  const { failureKind: kind } = last;
  if (kind !== null && isFailureKind(kind))
    return `its job is done, and its result waits for ${settingFor(kind)}: once that is right, the next run saves it without another job`;
  if (isRunning) return 'the run polls its job until it is done; then its pictures are checked and saved';
  const age =
    last.submittedAt === null ? '' : `, sent ${formatDuration(Math.max(0, now - last.submittedAt))} ago`;
  return `its job is in flight${age}, and no run is at work: the next one asks for it first; the service deletes a result 30 minutes after its completion`;
}

function whileWaiting(
  { dueAt, deaths, ahead, attempts }: SceneVersion,
  { isRunning, now }: StoryPlace,
): string {
  const who = isRunning ? 'the run' : 'the next run';
  if (deaths >= suspectDeaths)
    return `the program died ${deaths} times while it handled this scene: ${who} sends it last and alone, and a third death sets it aside`;
  if (dueAt > now)
    return `${who} sends it again in ${formatDuration(dueAt - now)} at the earliest${tally(attempts)}`;
  if (dueAt > 0 && attempts.length > 0)
    return `${who} sends it again as soon as there is room in flight${tally(attempts)}`;
  const line =
    ahead === 0 ? 'it is next in line' : `${ahead.toLocaleString('en')} scenes of the list come before it`;
  return `${who} sends it when its turn comes: ${line}${tally(attempts)}`;
}

/** What counts against the bounds on attempts. */
function tally(attempts: AttemptStory[]): string {
  const counted = attempts.filter(({ isCounted, state }) => isCounted && state !== 'refused');
  const failed = counted.filter(({ state }) => state === 'failed').length;
  if (counted.length === 0) return '';
  return `; ${failed} failed of \`retry.attempts\` and ${counted.length} sent of \`retry.submissions\` count so far`;
}

function afterFailure({ failureKind, attempts }: SceneVersion, { retryCommand }: StoryPlace): string {
  const again = `no run sends it again until \`${retryCommand}\` gives it fresh attempts, each a new job and a new bill`;
  const why = failureKind === null ? undefined : setAsideBecause[failureKind];
  return `${why ?? `it has failed for good${tally(attempts)}`}; ${again}`;
}

const refused =
  'the same would be refused again: edit its row, which makes it a new scene, or fix what is refused';

/** Where it was not the count of attempts that decided. */
const setAsideBecause: Record<string, string> = {
  unanswered: 'its job may run and be billed: it is held, or was sent too often',
  quarantined: 'the program died with it repeatedly, so it was set aside',
  'input-refused': refused,
  'content-refused': 'its content was refused, and would be again: edit its row, which makes it a new scene',
  'url-refused': refused,
  'output-unsupported':
    'another job would bring the same: change what the worker sends, or the limit that the reason names',
};

function afterWithdrawal({ fingerprint, attempts }: SceneVersion, { isReplaced }: StoryPlace): string {
  const isOpen = attempts.some(({ state }) => state === 'intended' || state === 'submitted');
  const open = isOpen ? '; what is in flight for it is still collected' : '';
  return isReplaced
    ? `its row was edited, and nothing is sent for the old one; its pictures are kept as *${replacedSuffix(fingerprint)}.png, and take their names again if the row is edited back${open}`
    : `its row is no longer in the manifest, so nothing is sent; if the row comes back, it resumes from here${open}`;
}
