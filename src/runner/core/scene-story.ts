/** Everything recorded about one id, and the reason for its next step. */
import type { AttemptState, Endpoint } from './attempt.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { SavedPicture } from './picture.ts';
import { isFailureKind } from './failure.ts';
import { settingFor } from './halting.ts';
import { suspectCrashes } from './retry-policy.ts';
import { replacedSuffix, type SceneState } from './scene.ts';
import { formatDuration } from '../../lib/text/format.ts';

/** All inputs that the id has had, current one first, and its rows that were skipped as invalid. */
export interface SceneStory {
  id: string;
  versions: SceneVersion[];
  invalid: { source: string; problem: string }[];
}

/** The id with one input; an edited row makes another version. Instants are epoch ms. */
export interface SceneVersion {
  state: SceneState;
  fingerprint: string;
  /** Current or former position of the row: `jobs/scenes.csv:17`. */
  source: string;
  columns: JsonObject;
  input: JsonObject;
  failureKind: string | null;
  failureText: string | null;
  /** Earliest time of a retry. 0 if it was never tried or may start at once. */
  dueAt: number;
  /** Number of new scenes that come before it. 0 unless it waits for its first submission. */
  ahead: number;
  /** Number of times that the program crashed while it handled the scene. */
  deaths: number;
  attempts: AttemptStory[];
}

/** One submission. Values that are not known, or not known yet, are null. */
export interface AttemptStory {
  number: number;
  run: number;
  state: AttemptState;
  endpoint: Endpoint;
  jobId: string | null;
  status: string | null;
  intendedAt: number;
  submittedAt: number | null;
  /** Time at which the job was first seen executing. */
  executingAt: number | null;
  completedAt: number | null;
  settledAt: number | null;
  delayTimeMs: number | null;
  executionTimeMs: number | null;
  /** Price that the service stated (`pricing.at`). */
  cost: number | null;
  polls: number;
  failureKind: string | null;
  failureText: string | null;
  /** True if the attempt still counts against `retry`. It no longer counts after a user puts the scene back. */
  isCounted: boolean;
  pictures: SavedPicture[];
  files: SavedPicture[];
}

export interface StoryPlace {
  isRunning: boolean;
  isReplaced: boolean;
  /** Command such as `nightrender retry pipeline.yaml --id …`. */
  retryCommand: string;
  now: number;
}

export function nextStep(version: SceneVersion, place: StoryPlace): string {
  switch (version.state) {
    case 'saved':
      return 'nothing is left to do; `nightrender retry --id … --again` renders it again, and `nightrender verify --repair` puts it back if its file gets lost';
    case 'active':
      return whileActive(version, place);
    case 'waiting':
      return whileWaiting(version, place);
    case 'unneeded':
      return `${place.isRunning ? 'the run' : 'the next run'} sends it only if the seed before it does not meet \`scenes.until\``;
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
      : 'it may have been sent when the program crashed: the next run records it as unanswered, and `retry.unanswered` decides';
  }
  const { failureKind: kind } = last;
  if (kind === 'default-timeout' || kind === 'job-timed-out')
    return `its job ended without a result, and it waits for ${settingFor(kind)}: set that, and the next run sends it again`;
  if (kind === 'download-failed')
    return `its job is done, and a file of its result could not be downloaded: ${isRunning ? 'the run' : 'the next run'} tries again while the service keeps it`;
  if (kind !== null && isFailureKind(kind))
    return `its job is done, and its result waits for ${settingFor(kind)}: fix that, and the next run saves it without another job`;
  if (isRunning) return 'the run polls its job until it is done; then its files are checked and saved';
  const age =
    last.submittedAt === null ? '' : `, sent ${formatDuration(Math.max(0, now - last.submittedAt))} ago`;
  return `its job is in flight${age}, and no run is working: the next run collects it first; the service deletes a result 30 minutes after its completion`;
}

function whileWaiting(
  { dueAt, deaths, ahead, attempts }: SceneVersion,
  { isRunning, now }: StoryPlace,
): string {
  const who = isRunning ? 'the run' : 'the next run';
  if (deaths >= suspectCrashes)
    return `the program crashed ${deaths} times while it worked on this scene: ${who} sends it last and alone, and a third crash sets it aside`;
  if (dueAt > now)
    return `${who} sends it again in ${formatDuration(dueAt - now)} at the earliest${tally(attempts)}`;
  if (dueAt > 0 && attempts.length > 0)
    return `${who} sends it again when \`concurrency\` allows it${tally(attempts)}`;
  const line =
    ahead === 0 ? 'it is next in line' : `${ahead.toLocaleString('en')} scenes of the list come before it`;
  return `${who} sends it when its turn comes: ${line}${tally(attempts)}`;
}

/** Returns the numbers of attempts that count against the limits of `retry`. */
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
  'the service would refuse it again: edit its row, which makes it a new scene, or fix the refused input';

/** Reasons for failures other than the number of attempts. */
const setAsideBecause: Record<string, string> = {
  unanswered: 'its job may run and be billed: it is held, or it was sent too often',
  quarantined: 'the program crashed repeatedly on it, so it was set aside',
  'input-refused': refused,
  'content-refused':
    'its content was refused, and would be refused again: edit its row, which makes it a new scene',
  'url-refused': refused,
  'output-unsupported':
    'another job would bring the same: change what the worker sends, or the limit that the reason names',
};

function afterWithdrawal({ fingerprint, attempts }: SceneVersion, { isReplaced }: StoryPlace): string {
  const isOpen = attempts.some(({ state }) => state === 'intended' || state === 'submitted');
  const open = isOpen ? '; its jobs in flight are still collected' : '';
  return isReplaced
    ? `its row was edited, and nothing is sent for the old row; its pictures are kept as *${replacedSuffix(fingerprint)}.png, and get their names back if the row is edited back${open}`
    : `its row is no longer in the manifest, so nothing is sent; if the row returns, the scene resumes from here${open}`;
}
