/** Interfaces that the pipeline needs from the outside. Each edge implements one of them. */
import type {
  AdoptedScene,
  ExaminedPicture,
  FoundScene,
  Provenance,
  SceneToName,
} from '../core/provenance.ts';
import type {
  Attempt,
  Endpoint,
  Held,
  JobAtService,
  JobTimes,
  SavedSettlement,
  Settlement,
  Submitted,
  UnfinishedWriting,
} from '../core/attempt.ts';
import type { Ending } from '../core/ending.ts';
import type { Failure } from '../core/failure.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type {
  FileKind,
  FoundPicture,
  UncheckedPicture,
  LackingFile,
  NamedFile,
  Picture,
  PictureTotals,
  ReceivedFile,
  SavedPicture,
} from '../core/picture.ts';
import type { BadRow, ListedScene, Part, SceneCounts } from '../core/scene.ts';
import type { MadeAt, Plan, PlanRefused, RepeatedRows } from '../core/batch-plan.ts';
import type { RunStats } from '../core/run-stats.ts';
import type { ServiceHealth } from '../core/service-description.ts';
import type { BatchSpending, UnitPrice } from '../core/spending.ts';
import type { RecordedPicture } from '../core/scene-record.ts';
import type { Event } from './event.ts';

export interface Ports {
  service: RenderService;
  checkpoint: Checkpoint;
  /** Present if the checkpoint is a local file. */
  file: CheckpointFile | undefined;
  /** Present if several runners may share the checkpoint. */
  others: OtherRunners | undefined;
  downloads: Downloads;
  answers: KeptAnswers;
  images: ImageStore;
  report: Report;
  clock: Clock;
  /** In [0, 1). */
  random: () => number;
  emit: Listener;
}

/** The job service. Each call resolves to the outcome of a request or a few. Expected failures never throw. */
export interface RenderService {
  /**
   * Submits a job. A service that supports the `idempotencyKey` makes one job of all submissions with the
   * same key. With `lost`, a service without keys is searched for the job of the lost submission, and nothing
   * is submitted.
   */
  submit(
    endpoint: Endpoint,
    input: JsonObject,
    signal: AbortSignal,
    idempotencyKey?: string,
    lost?: LostSubmission,
  ): Promise<SubmitReply>;
  /** Requests a job's status. `onMemoryWait`: the answer waits for memory. `kept`: read instead of asking. */
  status(
    job: JobAtService,
    signal: AbortSignal,
    onMemoryWait?: () => void,
    kept?: KeptAnswer,
  ): Promise<StatusReply>;
  /** Requests a finished job's result again and streams it without the key. False if it is incomplete. */
  copyResult(job: JobAtService, write: WriteChunk, signal: AbortSignal): Promise<boolean>;
  /** Asks the service to stop a job. Whatever the reply, the job is polled again to verify it. */
  cancel(job: JobAtService, signal: AbortSignal): Promise<CancelReply>;
  /** Requests the endpoint's health. A 404 of an old job is believed only if the endpoint exists. */
  health(endpoint: Endpoint, signal: AbortSignal): Promise<HealthReply>;
}

/** A submission that was sent, or may have been, and got no answer. */
export interface LostSubmission {
  /** Earliest time at which it may have been sent, in epoch ms. */
  sentAt: number;
  /** Latest such time. */
  sentBy: number;
  /** Time after sending within which its job is over, in ms. Some services list a job only then. */
  overWithinMs: number;
  /** True if the job belongs to another attempt. */
  isTaken(jobId: string): Promise<boolean>;
}

export type SubmitReply =
  | ({ kind: 'accepted'; jobId: string; status: string; kept?: Record<string, string> } & ShownIdempotency)
  /** The service was searched for a lost submission: it has no job of it, or more than one candidate. */
  | { kind: 'not-found'; text: string }
  /** The list may have the job later, or be readable then. */
  | { kind: 'not-listed'; text: string; retryAfterMs?: number }
  /** `isEachLost`: the service returns no job ids that can be polled, so each job is paid for in vain. */
  | { kind: 'failure'; failure: Failure; isEachLost?: true };

/** Time from its first sending in which a submission can be found by key or input. Absent if unknown. */
export interface ShownIdempotency {
  idempotencyMs?: number;
}

export type StatusReply =
  /** `status` is in the service's spelling. Every status that is not terminal means running. */
  | ({ kind: 'running'; status: string; isExecuting: boolean } & JobTimes)
  /** The receiver of the pictures releases the `share` once they are saved, and then calls `Downloads.remove`. */
  | ({ kind: 'completed'; status: string; pictures: FoundPicture[]; share?: MemoryShare } & JobTimes)
  /** The job is over and has no result to save. */
  | ({ kind: 'ended'; status: string; failure: Failure } & JobTimes)
  /** The service does not know the job or its result (404). `isDeleted`: it says that the result is deleted. */
  | ({ kind: 'missing'; text: string; isDeleted?: true } & Pick<JobTimes, 'cost'>)
  /** The answer says nothing about the job. `isForeign`: about another one. `done`: the job is over, and its result could not be read. */
  | { kind: 'failure'; failure: Failure; isForeign?: true; done?: { status: string } & JobTimes };

/** Resolves when the next chunk may be written. */
export type WriteChunk = (chunk: Uint8Array) => Promise<void>;

/** Body of an answer that an earlier run kept. `too-large` if it exceeds `limits.body`. */
export type KeptAnswer = Uint8Array | 'too-large';

/** Identifier of a kept answer in the checkpoint (`Held.answer`). */
export interface KeptAs {
  answer: string;
}

/** Answers of jobs that wait for a setting, kept on this machine while their attempts are in flight. */
export interface KeptAnswers {
  /** Keeps what `copy` writes, durably. `full`: no space, or `limits.kept` is reached. Undefined if no answer came. */
  keep(attempt: Attempt, copy: (write: WriteChunk) => Promise<boolean>): Promise<KeptAs | 'full' | undefined>;
  /** Reads the kept answer of an attempt. Undefined if this machine has none, or if it is damaged. */
  read(attempt: Attempt): Promise<KeptAnswer | undefined>;
  /** Returns the name of another machine that has the answer. Undefined if this machine has it, or none. */
  elsewhere(attempt: Attempt): Promise<string | undefined>;
  /** Deletes the kept answers of all attempts except those that `inFlight` returns. */
  sweep(inFlight: (attempts: number[]) => Promise<number[]>): Promise<void>;
  remove(attempt: Attempt): Promise<void>;
}

export type CancelReply =
  | { kind: 'cancelled' }
  /** The service has no such operation, or no such job. */
  | { kind: 'unsupported'; text: string }
  | { kind: 'failure'; failure: Failure };

export type HealthReply =
  /** `health` and `price` are present if the answer contains them. */
  | ({ kind: 'answers'; health?: ServiceHealth; price?: UnitPrice } & ShownIdempotency)
  /** The service has no such operation, or no such endpoint. `isUnasked`: no request for the health is known. */
  | { kind: 'unknown'; text: string; isUnasked?: true }
  | { kind: 'failure'; failure: Failure };

/** A job's share of the memory for large answers and pictures (`limits.memory`). */
export interface MemoryShare {
  /** Bytes reserved at present. */
  readonly bytes: number;
  /** Returns true if the share was increased to this size. */
  tryGrow(bytes: number): boolean;
  /** Releases the share, and resolves once this size is reserved in turn or `signal` aborts. */
  retake(bytes: number, signal: AbortSignal): Promise<void>;
  /** Releases everything beyond this size. */
  shrink(bytes: number): void;
  release(): void;
}

/** Memory for the remaining pictures of a job. It is reserved for all of them before the first. */
export interface Room {
  share: MemoryShare;
  pictures: number;
}

export interface ManifestScenes {
  /** Lists with the same digest are equal and not read again. Undefined if it is unknown. */
  digest?: string | undefined;
  /** True if the list may have lost most of its scenes (`--allow-fewer`). */
  allowsFewer?: boolean;
  /** Thrown instead of comparing, because the user has to accept an edit first. */
  refusal?: PlanRefused | undefined;
  repeated?: RepeatedRows | undefined;
  leftOut?(): Iterable<string>;
  scenes(): Iterable<ListedScene>;
  /** Returns invalid rows that the user has allowed to skip. */
  badRows(): Iterable<BadRow>;
}

export interface AcceptedJob extends ShownIdempotency {
  jobId: string;
  status: string;
  kept?: Record<string, string>;
  at: number;
}

export interface Removal {
  /** Says what happened to the file. */
  text: string;
  /** True if the checkpoint, or the latest part of it, is lost. */
  isLost: boolean;
}

/** The journal of a batch. Calls resolve when writes are on disk, and throw `FatalFailure` if it fails. */
export interface Checkpoint {
  /**
   * Updates the batch's scenes from the manifest, by id and not by position. Throws `ListCutOff`. If `signal`
   * aborts first, nothing is changed and the result is undefined. No reads may be made meanwhile, because
   * they would see half of the changes. With a `part`, the whole manifest is compared, but only scenes of the
   * part can be claimed afterwards.
   */
  reconcile(manifest: ManifestScenes, signal: AbortSignal, part?: Part): Promise<Plan | undefined>;
  /**
   * Returns attempts that a crashed run may not have sent, with their present input. Counts one crash for each
   * scene that was in progress.
   */
  recover(): Promise<Attempt[]>;
  /** Returns attempts whose jobs are in flight, oldest submission first. */
  openAttempts(): Promise<Submitted[]>;
  /** Records an intended attempt for up to `max` scenes: retries due by `dueBy` (default `at`), then new ones. */
  claim(max: number, endpoint: Endpoint, at: number, dueBy?: number): Promise<Attempt[]>;
  /** Like `claim`, for one scene that was in progress during several crashes. `claim` leaves these out. */
  claimSuspect(endpoint: Endpoint, at: number): Promise<Attempt | undefined>;
  /** Returns when the next scene is due (0: now), or that only suspects are left; undefined if none waits. */
  nextDue(): Promise<{ at: number; isSuspect: boolean } | undefined>;
  /**
   * Records the job. If another attempt has its id, returns an object instead: `doubtful` is the scene that
   * was saved from that job since this attempt began. It is undefined if no scene was.
   */
  recordSubmitted(attempt: Attempt, job: AcceptedJob): Promise<'recorded' | { doubtful: string | undefined }>;
  hasJob(job: JobAtService): Promise<boolean>;
  /** Sets the crash marker of the attempt. A crash of the program while it is set counts against the scene. */
  setInProgress(attempt: Attempt, isInProgress: boolean): Promise<void>;
  /** Records the status. `held` is the reason why the result waits for a setting. */
  recordStatus(
    attempt: Attempt,
    seen: { status: string; isExecuting: boolean; at: number; held?: Held },
  ): Promise<void>;
  /** Returns the digest of the settings with which a picture was last saved. Undefined if there was none. */
  foundWith(): Promise<string | undefined>;
  recordFoundWith(settings: string): Promise<void>;
  /** True if a job of the endpoint ended otherwise than by a timeout within `executionMs`. */
  hasEndedOtherwise(endpoint: Endpoint, executionMs: number): Promise<boolean>;
  /** Returns true if the service has ever accepted a submission of the batch. */
  hasAccepted(): Promise<boolean>;
  /** Returns those of the given attempts whose jobs are in flight, in this run or another. */
  inFlightAmong(attempts: number[]): Promise<number[]>;
  /**
   * Records how the attempt will be settled once its pictures are written. The record survives a crash of the
   * program but not a power cut, because it reaches the disk with the next write. Returns false and records
   * nothing if another runner has taken one of the names meanwhile.
   */
  beginWriting(attempt: Attempt, settlement: SavedSettlement): Promise<boolean>;
  /** Returns writings that crashed runs began and did not settle. */
  unfinishedWriting(): Promise<UnfinishedWriting[]>;
  dropWriting(attempt: Attempt): Promise<void>;
  settle(attempt: Attempt, settlement: Settlement): Promise<void>;
  /** Returns up to `max` waiting scenes that were never submitted, in the order in which they are claimed. */
  nextScenes(max: number): Promise<SceneToName[]>;
  /** Reads every scene of the list, in no particular order. */
  listedScenes(): Promise<AsyncIterable<FoundScene>>;
  /** Records waiting scenes as saved, all or none. None of them can be claimed afterwards. */
  adopt(adopted: AdoptedScene[], at: number): Promise<void>;
  /** Returns the scene that owns a file name, compared as case-insensitive file systems do. */
  ownerOf(file: string): Promise<NameOwner | undefined>;
  /** Returns renames of pictures that were decided and may not have been done yet, in the order to do them. */
  pendingMoves(): Promise<PictureMove[]>;
  recordMoved(move: PictureMove): Promise<void>;
  savedPictures(): Promise<Iterable<RecordedPicture>>;
  counts(): Promise<SceneCounts & { part?: SceneCounts }>;
  pictureTotals(): Promise<PictureTotals>;
  /** Returns the endpoints at which the pictures of the listed scenes were made. */
  madeAt(): Promise<MadeAt[]>;
  /** Returns the entries of `output.files` that saved scenes lack. */
  lackingFiles(): Promise<LackingFile[]>;
  /** Returns what the batch has spent. `at`: path at which jobs state their prices (`pricing.at`). */
  spending(at?: string): Promise<BatchSpending>;
}

/** Checks of a checkpoint file that only one run uses. */
export interface CheckpointFile {
  /** Throws `FatalFailure` if attempts had to be left out because their records are damaged. */
  assertSound(): Promise<void>;
  /** Describes the loss if the file was removed during the run, or its disk is gone. Otherwise undefined. */
  removed(): Promise<Removal | undefined>;
}

export interface OtherRunners {
  /** Resolves when a crashed runner's work was assigned to this one; undefined once `signal` aborts. */
  takeOver(signal: AbortSignal): Promise<TakenOver | undefined>;
  /** Calls `onCount` with the number of runners that share the request rate, including this one. */
  listen(listener: { onCount(runners: number): void }): void;
}

/** Work of a crashed runner that this runner has taken over. */
export interface TakenOver {
  writing: UnfinishedWriting[];
  /** Attempts that may have been sent. */
  intended: Attempt[];
  /** Returns the jobs in flight, like `openAttempts`. Must be called after the others are settled. */
  submitted(): Promise<Submitted[]>;
}

export interface NameOwner {
  sceneId: string;
  fingerprint: string;
  /** File of that name. Absent for a shared checkpoint, which knows only the name for a picture in any format. */
  file?: string;
}

export interface PictureMove {
  key: number;
  from: string;
  to: string;
  /** Name that the picture should have. `from` has it if the row was edited, so another picture gets it. */
  name: string;
}

/** Downloads of pictures and clips that an output refers to by URL. */
export interface Downloads {
  /** Downloads in one try into `room`. A failure names the host, and nothing that could be a signature. */
  fetch(url: string, signal: AbortSignal, room?: Room): Promise<{ bytes: Uint8Array } | Failure>;
  /**
   * Like `fetch`, into a temporary file. Goes on where an earlier transfer of the same result broke off.
   * Throws `FatalFailure` if the disk fails.
   */
  receive(url: string, key: ResultKey, signal: AbortSignal): Promise<{ received: ReceivedFile } | Failure>;
  /** Removes the temporary files of a job that are still there, also those of `RenderService.status`. */
  remove(job: JobAtService): Promise<void>;
}

/** A result of a job, by its position in the output, counted from 0. */
export interface ResultKey {
  job: JobAtService;
  nth: number;
}

/** Storage of finished pictures and clips: a folder or a bucket. */
export interface ImageStore {
  /** True if file names contain the attempt there, so that no file is ever overwritten. */
  readonly isNamedByAttempt: boolean;
  /**
   * Decodes a picture strictly and checks that it is complete and as configured. A failure is `bad-picture`,
   * `bad-clip`, `output-unsupported`, `blank-picture` or `picture-too-small`, with a digest of the content. If
   * configured, the provenance is written into the picture or a sidecar.
   */
  check(picture: UncheckedPicture, provenance: Provenance): Promise<Picture | Failure>;
  /**
   * Writes the file atomically and durably, then sidecars. An existing file becomes `<name>.former`. Throws
   * `FatalFailure` if the disk fails.
   */
  write(picture: Picture, file: string): Promise<void>;
  /**
   * Keeps the bytes of a result that is not saved, durably, under the name in its format with `.damaged` or `.kept`.
   * No file is replaced. Returns the name.
   */
  keepRefused(clip: UncheckedPicture, name: string, as: 'damaged' | 'kept'): Promise<string>;
  /** Returns true if the file exists with exactly these bytes. It is then durable. */
  has(picture: SavedPicture): Promise<boolean>;
  /** Returns the names of all pictures, or of all files of these kinds, including files that are not on record. */
  list(kinds?: readonly FileKind[]): Promise<string[]>;
  whichExist(files: string[]): Promise<string[]>;
  /** Decodes an existing file and checks it like a job's output. `named` describes it if it is not a picture. */
  examine(file: string, named?: NamedFile): Promise<ExaminedPicture | { problem: string }>;
  /** Finds missing pictures by name and size alone, in the background. Undefined if `signal` aborts first. */
  findMissing(pictures: Iterable<RecordedPicture>, signal: AbortSignal): Promise<MissingPictures | undefined>;
  /** Writes the missing sidecars of a picture, durably. */
  complete(picture: SavedPicture, provenance: Provenance): Promise<void>;
  remove(file: string): Promise<void>;
  /** Renames a picture and its sidecars, durably, once. False if neither name has a file. */
  move(from: string, to: string): Promise<boolean>;
}

export interface MissingPictures {
  checked: number;
  missing: number;
  /** Path of the first missing picture, relative to the images folder. */
  example: string;
}

/** The result files, which can always be rebuilt from the checkpoint. */
export interface Report {
  /**
   * Writes new result files with the ending and the statistics, and returns their folder. Undefined if
   * `signal` aborts before they are complete; the old files then stay. Throws `FatalFailure` if the disk
   * fails.
   */
  write(ending: Ending, signal: AbortSignal, stats?: RunStats): Promise<string | undefined>;
  /** Writes the result files during a run. Resolves early if `signal` aborts. */
  update(signal: AbortSignal): Promise<void>;
  /**
   * Keeps the report of the previous run, for a run that had nothing to do. Removes this run's record and
   * returns the folder of the result files. Undefined if anything has changed, if the files are gone or
   * outdated, or if the previous run had another ending than `ending`.
   */
  keep(ending?: Ending): Promise<string | undefined>;
}

export interface Clock {
  /** Wall time in epoch ms, for records and for durations that span runs. */
  now(): number;
  /** Monotonic ms from an arbitrary origin, for ages and waits within a run. */
  elapsed(): number;
  /** Resolves after `ms`, or at once when `signal` aborts. Never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export type Listener = (event: Event) => void;
