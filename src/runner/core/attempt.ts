/** An attempt: one submission of a scene, one job, one bill; its states live in this table and nowhere else. */
import type { FailureKind } from './failure.ts';
import type { JsonObject } from '../../lib/text/json.ts';

/**
 * The states of an attempt and the moves between them; a state without moves is settled.
 *
 * - `intended`: on disk, perhaps sent
 * - `submitted`: the service has named its job
 * - `unanswered`: sent, and no answer came: it may run and bill
 * - `refused`: surely not accepted: no job, no bill
 * - `saved`, `failed`: the job ended, with pictures on disk or without
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

/** `dev`: a development server, whose addresses have neither version nor id. */
export const endpointVersions = ['v1', 'v2', 'dev'] as const;

export type EndpointVersion = (typeof endpointVersions)[number];

/** Where a job was sent; `baseUrl` is an http(s) URL without a trailing slash, or `local`. */
export interface Endpoint {
  baseUrl: string;
  /** Empty where a server has one alone. */
  id: string;
  /** Of the interface of job services, as above; of any other its name, such as `fal`. */
  version: string;
}

/** Whether it has the interface of job services (`endpoint.speaks: jobs`). */
export function versionOfJobs({ version }: Endpoint): EndpointVersion | undefined {
  return endpointVersions.find((known) => known === version);
}

/** `https://host/v2/id`, `local/v2/id`, `https://queue.fal.run/owner/model` or a server's `http://host:8000`; a `baseUrl` holds no key. */
export function endpointAddress(endpoint: Endpoint): string {
  const { baseUrl, id } = endpoint;
  const version = versionOfJobs(endpoint);
  if (version === 'dev') return baseUrl;
  return [baseUrl, version ?? '', id].filter((part) => part !== '').join('/');
}

/** By which a service that honours it knows a submission that is sent again, and makes no second job of it. */
export interface Idempotency {
  /** The same for the attempt each time it is sent, and for no other anywhere. */
  key: string;
  /** When the attempt was put on record, epoch ms: before it was sent first. */
  intendedAt: number;
  /** How long the service knows it, as it has shown in the run that recorded the attempt. */
  shownMs?: number;
}

/** An attempt as the road carries it along. */
export interface Attempt {
  /** The checkpoint's key of this attempt. */
  key: number;
  sceneId: string;
  fingerprint: string;
  /** 1 for the scene's first submission. */
  number: number;
  input: JsonObject;
  columns: JsonObject;
  /** Whether another row of the manifest has taken this scene's id by now. */
  isReplaced: boolean;
  endpoint: Endpoint;
  /** How the scene's earlier attempts ended. */
  before: AttemptHistory;
  /** Violent deaths of the program while it handled this scene. */
  deaths: number;
  /** Whether the scene is not in the manifest any more. */
  isWithdrawn?: boolean;
  /** Absent where an earlier version, which sent none, recorded it. */
  idempotency?: Idempotency;
  /** Absent until the service has named it. */
  job?: SubmittedJob;
}

/** A job as it is asked for at its service. */
export interface JobAtService {
  endpoint: Endpoint;
  jobId: string;
  /** What the service said of it when it was accepted and needs to be asked for it, by name, such as `status_url`. */
  kept?: Record<string, string>;
}

/** The job of an attempt, as it is on record. */
export interface SubmittedJob extends JobAtService {
  submittedAt: number;
  /** Whether another submission was answered with its job id, too. */
  isShared?: boolean;
  /** Present if its result waits for a setting. */
  held?: Held;
}

/** An attempt whose job the service has named. */
export type Submitted = Attempt & { job: SubmittedJob };

/** Why the result of a job that is over cannot be used with the settings of the run that collected it. */
export interface Held {
  kind: FailureKind;
  text: string;
  /** When the service was first seen to say that the job is over, epoch ms. */
  completedAt: number;
  /** Identifies the kept answer: hex sha256 of its bytes, `@`, and the name of the machine that has it. Absent if none is kept. */
  answer?: string;
}

/** How many earlier attempts of a scene ended in which way, since a person last put it back. */
export interface AttemptHistory {
  failed: number;
  unanswered: number;
  expired: number;
  /** The failure kinds of the failed ones, oldest first. */
  failedKinds: string[];
  /** The digests of what the failed ones brought. */
  digests: string[];
}

/** Throws where `to` cannot follow `from`: a bug of ours, never the user's or the service's doing. */
export function assertAttemptMove(from: AttemptState, to: AttemptState): void {
  const allowed: readonly AttemptState[] = attemptMoves[from];
  if (!allowed.includes(to)) throw new Error(`an attempt cannot move from ${from} to ${to}`);
}
