/** Decides when the result of a job waits for a setting instead of counting as its scene's failure. */
import { failureRules, type Failure, type FailureKind } from './failure.ts';

export interface HoldEvidence {
  /** True if a picture of this batch was saved with the present settings. */
  isAnyFound: boolean;
  /** True if a job of the same endpoint has ended otherwise than by a time-out. */
  hasEndedOtherwise: boolean;
}

/** True if a setting, and not the scene, is at fault for the failure of a job that is over. */
export function isHeld(
  { kind, isExecution }: Failure,
  { isAnyFound, hasEndedOtherwise }: HoldEvidence,
): boolean {
  if (isTimeout(kind)) return !hasEndedOtherwise && (kind !== 'job-overdue' || isExecution === true);
  if (isOwnOnceFound.has(kind)) return !isAnyFound;
  return failureRules[kind].next === 'hold';
}

/** Once the settings have found a picture, an output without one is its own job's fault. */
const isOwnOnceFound = new Set<FailureKind>(['picture-not-found', 'status-unknown', 'value-not-found']);

/** True for a job that the service or the run ended because it took too long to execute. */
export function isTimeout(kind: FailureKind): boolean {
  return kind === 'job-timed-out' || kind === 'job-overdue';
}

/** True if the failure means that a result was paid for, came or lay at the service, and is lost. */
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

/** The setting that a person has to change, in words. */
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
  'job-timed-out': "the endpoint's own time-out",
};

/** Results of one run that wait for the same setting. */
export interface HeldResults {
  setting: string;
  kind: FailureKind;
  count: number;
  /** Number of results whose answer is kept; the others are only at the service. */
  kept: number;
  /** Number of results that name pictures by address: kept or not, each lives only as long as its host keeps it. */
  addresses: number;
  /** Until when the service keeps the first of them, epoch ms. */
  keptUntil: number;
}
