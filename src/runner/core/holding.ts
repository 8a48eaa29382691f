/** Decides when the result of a job waits for a setting instead of counting as its scene's failure. */
import { failureRules, type Failure, type FailureKind } from './failure.ts';

export interface HoldEvidence {
  isAnyFound: boolean;
  /** True if a job of the same endpoint has ended other than by a timeout. */
  hasEndedOtherwise: boolean;
}

/** True if a setting, and not the scene, causes the failure of a finished job. */
export function isHeld(
  { kind, isExecution }: Failure,
  { isAnyFound, hasEndedOtherwise }: HoldEvidence,
): boolean {
  if (isTimeout(kind)) return !hasEndedOtherwise && (kind !== 'job-overdue' || isExecution === true);
  if (isOwnOnceFound.has(kind)) return !isAnyFound;
  return failureRules[kind].next === 'hold';
}

/** Once the current settings have found a picture, the job itself is at fault for an output without one. */
const isOwnOnceFound = new Set<FailureKind>(['picture-not-found', 'status-unknown', 'value-not-found']);

/** True if the service or the run ended the job because it took too long. */
export function isTimeout(kind: FailureKind): boolean {
  return kind === 'job-timed-out' || kind === 'job-overdue';
}

/** True if a paid result is lost with this failure, either received or still at the service. */
export function losesResult(kind: FailureKind): boolean {
  return lostWith.has(kind);
}

const lostWith = new Set<FailureKind>([
  'job-overdue',
  'job-timed-out',
  'picture-refused',
  'expired',
  'no-output',
  'picture-not-found',
  'status-unknown',
  'result-too-large',
  'too-many-pixels',
  'url-refused',
  'output-unsupported',
  'download-failed',
  'bad-picture',
  'bad-file',
]);

/** Returns the setting that the user has to change, in words. */
export function settingFor(kind: FailureKind): string {
  return settings[kind] ?? '`output`';
}

const settings: Partial<Record<FailureKind, string>> = {
  'picture-refused': 'what `endpoint.apiKey` may read',
  'status-unknown': '`endpoint.statuses` or `status.map`',
  'urls-not-allowed': '`output.hosts`',
  'url-refused': '`output.hosts`',
  'result-too-large': '`limits.body`',
  'other-file-kind': '`output.files`',
  'value-not-found': '`output.values`',
  'too-many-pixels': '`limits.pixels`',
  'job-overdue': '`timeouts.execution`',
  'job-timed-out': "the endpoint's own timeout",
};

/** Results of one run that wait for the same setting. */
export interface HeldResults {
  setting: string;
  kind: FailureKind;
  count: number;
  /** Number of results whose answer is kept. The others are only at the service. */
  kept: number;
  /**
   * Number of results that refer to pictures by URL. Even if the answer is kept, pictures are available only
   * as long as their host keeps them.
   */
  addresses: number;
  /** Time until which the service keeps the oldest of these results, in epoch ms. */
  keptUntil: number;
}
