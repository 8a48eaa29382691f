/** An attempt: one submission of a scene, one job, one bill. Defines its states and moves, and its outcome. */
import type { JsonObject } from '../../lib/text/json.ts';
import type { Failure, FailureKind } from './failure.ts';
import type { SavedPicture } from './picture.ts';

/**
 * States of an attempt and the moves between them. A state without moves is settled.
 *
 * - `intended`: recorded on disk and perhaps sent
 * - `submitted`: the service has returned a job id
 * - `unanswered`: sent without an answer, so a job may run and be billed
 * - `refused`: certainly not accepted, so there is no job and no bill
 * - `saved`, `failed`: the job ended, with or without pictures on disk
 * - `expired`: the service has deleted the result
 */
export const attemptMoves = {
  intended: ['submitted', 'unanswered', 'refused'],
  submitted: ['saved', 'failed', 'expired'],
  unanswered: [],
  refused: [],
  saved: [],
  failed: [],
  expired: [],
} as const satisfies Record<string, readonly string[]>;

export type AttemptState = keyof typeof attemptMoves;
export type SettledState = 'unanswered' | 'refused' | 'saved' | 'failed' | 'expired';

/** Versions of the job service's interface. `dev`: a development server, whose URLs have neither version nor id. */
export const endpointVersions = ['v1', 'v2', 'dev'] as const;

export type EndpointVersion = (typeof endpointVersions)[number];

/** Address to which a job is sent. `baseUrl` is an http(s) URL without a trailing slash, or `local`. */
export interface Endpoint {
  baseUrl: string;
  /** Id of the endpoint at its service. Empty if a server has only one endpoint. */
  id: string;
  /** An `EndpointVersion` for a job service. For any other service its name, such as `fal`. */
  version: string;
}

/** Returns the version of the interface (`endpoint.speaks: jobs`); undefined for any other service. */
export function versionOfJobs({ version }: Endpoint): EndpointVersion | undefined {
  return endpointVersions.find((known) => known === version);
}

/**
 * Returns an address such as `https://host/v2/id`, `local/v2/id`, `https://queue.fal.run/owner/model` or
 * `http://host:8000`. It contains no key, because a `baseUrl` holds none.
 */
export function endpointAddress(endpoint: Endpoint): string {
  const { baseUrl, id } = endpoint;
  const version = versionOfJobs(endpoint);
  if (version === 'dev') return baseUrl;
  return [baseUrl, version ?? '', id].filter((part) => part !== '').join('/');
}

/** Idempotency key of an attempt. A service that supports it makes one job of an attempt that is sent twice. */
export interface Idempotency {
  /** Unique to the attempt, and the same each time that the attempt is sent. */
  key: string;
  /** Time at which the attempt was recorded, in epoch ms. It is always before the first sending. */
  intendedAt: number;
  /** Time in ms for which the service remembers the key, as observed by the run that recorded the attempt. */
  shownMs?: number;
}

export interface Attempt {
  /** Key of the attempt in the checkpoint. */
  key: number;
  sceneId: string;
  fingerprint: string;
  /** 1 for the scene's first submission. */
  number: number;
  input: JsonObject;
  columns: JsonObject;
  /** True if another row of the manifest has taken the id of this scene. */
  isReplaced: boolean;
  endpoint: Endpoint;
  before: AttemptHistory;
  /** Number of times that the program crashed while it handled this scene. */
  crashes: number;
  /** True if the scene is no longer in the manifest. */
  isWithdrawn?: boolean;
  /** Absent if an earlier version, which sent no keys, recorded the attempt. */
  idempotency?: Idempotency;
  /** Absent until the service has returned a job id. */
  job?: SubmittedJob;
}

export interface JobAtService {
  endpoint: Endpoint;
  jobId: string;
  /** Values of the answer to the submission that later requests need, by name, such as `status_url`. */
  kept?: Record<string, string>;
}

/** Returns text that identifies the job among those of all endpoints. */
export function jobAddress({ endpoint, jobId }: JobAtService): string {
  return `${endpointAddress(endpoint)}/${jobId}`;
}

export interface SubmittedJob extends JobAtService {
  submittedAt: number;
  /** Time at which a run first saw the job executing, in epoch ms. Absent if none did. */
  executingAt?: number;
  isShared?: boolean;
  /** Present if the result waits for a setting. */
  held?: Held;
}

export type Submitted = Attempt & { job: SubmittedJob };

/** Reason why the result of a finished job cannot be used with the settings of the run that collected it. */
export interface Held {
  kind: FailureKind;
  text: string;
  /** Time at which the service was first seen to report the end of the job, in epoch ms. */
  completedAt: number;
  /** Kept answer: hex SHA-256 of its bytes, `@`, and the name of its machine. Absent if none is kept. */
  answer?: string;
}

/** Number of earlier attempts of a scene by outcome, since a user last put the scene back. */
export interface AttemptHistory {
  failed: number;
  unanswered: number;
  expired: number;
  failedKinds: string[];
  /** Digests of the rejected content that failed attempts returned. */
  digests: string[];
}

/** Throws if `to` cannot follow `from`. That is always a bug in this program. */
export function assertAttemptMove(from: AttemptState, to: AttemptState): void {
  const allowed: readonly AttemptState[] = attemptMoves[from];
  if (!allowed.includes(to)) throw new Error(`an attempt cannot move from ${from} to ${to}`);
}

/** Price that a service stated for a job. */
export interface StatedCost {
  /** Path where it was looked for: `pricing.at`. */
  at: string;
  /** Absent if the answer had no price there. */
  amount?: number;
}

export interface JobTimes {
  delayTimeMs?: number;
  executionTimeMs?: number;
  /** Absent without `pricing.at`. */
  cost?: StatedCost;
}

export interface Settlement extends JobTimes {
  state: SettledState;
  at: number;
  /** Time at which the service was first seen to report the end of the job. Absent if it never did. */
  completedAt?: number;
  status?: string;
  failure?: Failure;
  pictures?: SavedPicture[];
  /** Number of status requests that this run made for the attempt. */
  polls?: number;
  scene: NextScene;
}

export type SavedSettlement = Settlement & { state: 'saved'; pictures: SavedPicture[] };

export type NextScene =
  { state: 'saved' } | { state: 'failed'; failure: Failure } | { state: 'waiting'; dueAt: number };

export interface UnfinishedWriting {
  attempt: Submitted;
  /** False if a user has given the attempt up meanwhile, so it can no longer be settled. */
  isInFlight: boolean;
  settlement: SavedSettlement;
}

/** A submission whose answer was lost, and the time for which it may be sent again. */
export interface Lost {
  failure: Failure;
  /** Time of the first sending, or an earlier time if that is unknown, in epoch ms. */
  sentAt: number;
  /** The same time in monotonic ms. Absent if an earlier run sent it. */
  sentElapsed?: number;
  /** Latest time of sending, in epoch ms: when its answer was lost, or when this run took it up. */
  sentBy: number;
}

/** Share of the service's retention time that is not used, because requests take time and clocks differ. */
const spareShare = 0.1;
const minSpareMs = 60_000;

/**
 * True if the service still recognizes the submission. Uses both clocks: the monotonic clock stops while the
 * machine sleeps, and the wall clock may be set back.
 */
export function isKnownStill(
  { sentAt, sentElapsed }: Lost,
  knownMs: number,
  now: number,
  elapsed: number,
): boolean {
  const isClockSetBack = now < sentAt;
  if (sentElapsed === undefined && isClockSetBack) return false;
  const ageMs = Math.max(now - sentAt, sentElapsed === undefined ? 0 : elapsed - sentElapsed);
  return ageMs < knownMs - Math.max(minSpareMs, knownMs * spareShare);
}
