/** What the road needs of the world; each edge implements one of these. */
import type { AdoptedScene, ExaminedPicture, FoundScene, SceneToName } from '../core/adoption.ts';
import type { Attempt, Endpoint, Held, JobAtService, Submitted } from '../core/attempt.ts';
import type { Ending } from '../core/ending.ts';
import type { Failure } from '../core/failure.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { Picture, FoundPicture, HeldPicture, PictureTotals, SavedPicture } from '../core/picture.ts';
import type { FileKind, LackingFile, NamedFile } from '../core/named-file.ts';
import type { Part } from '../core/part.ts';
import type { MadeAt, Plan, PlanRefused, RepeatedRows } from '../core/plan.ts';
import type { Provenance } from '../core/provenance.ts';
import type { RunStats } from '../core/run-stats.ts';
import type { ServiceHealth } from '../core/service-health.ts';
import type { BatchSpending } from '../core/spending.ts';
import type { BadRow, ListedScene, SceneCounts } from '../core/scene.ts';
import type { RecordedPicture } from '../core/verification.ts';
import type { JobTimes, SavedSettlement, Settlement, UnfinishedWriting } from '../core/settlement.ts';
import type { Event } from './event.ts';

export interface Ports {
  service: RenderService;
  checkpoint: Checkpoint;
  /** Where its checkpoint is a file of its own. */
  file: CheckpointFile | undefined;
  /** Where several runners may work on it. */
  others: OtherRunners | undefined;
  downloads: Downloads;
  answers: KeptAnswers;
  images: ImageStore;
  report: Report;
  clock: Clock;
  /** 0 ≤ random < 1. */
  random: () => number;
  emit: Listener;
}

/** The job service. Every call is a request or few and resolves to what came of it; expected failures never throw. */
export interface RenderService {
  /**
   * Where the service honours the `idempotencyKey`, it makes one job of all that is sent under it. With `lost`, one that
   * takes no key is asked for the job of what was sent, and sent nothing.
   */
  submit(
    endpoint: Endpoint,
    input: JsonObject,
    signal: AbortSignal,
    idempotencyKey?: string,
    lost?: LostSubmission,
  ): Promise<SubmitReply>;
  /**
   * `onHeldUp` is called if the answer is there and waits for room in memory. With `kept`, nothing is requested: the reply
   * is what the kept answer says.
   */
  status(
    job: JobAtService,
    signal: AbortSignal,
    onHeldUp?: () => void,
    kept?: KeptAnswer,
  ): Promise<StatusReply>;
  /**
   * Requests the result of a job that is over once more and passes the answer on as it comes, of any size, without the key.
   * Resolves to false if no whole answer came.
   */
  copyResult(job: JobAtService, write: WriteChunk, signal: AbortSignal): Promise<boolean>;
  /** Asks the service to stop a job; whatever comes back, the job is polled again to verify. */
  cancel(job: JobAtService, signal: AbortSignal): Promise<CancelReply>;
  /** Whether the endpoint is there: the evidence without which a 404 of an old job is not believed. */
  health(endpoint: Endpoint, signal: AbortSignal): Promise<HealthReply>;
}

/** It was sent, or may have been, and its answer did not come. */
export interface LostSubmission {
  /** Epoch ms; not before. */
  sentAt: number;
  /** Whether a job is another attempt's. */
  isTaken(jobId: string): Promise<boolean>;
}

export type SubmitReply =
  | ({ kind: 'accepted'; jobId: string; status: string; kept?: Record<string, string> } & ShownIdempotency)
  /** A lost submission was looked for: there is no job of it, or more than one may be its. */
  | { kind: 'not-found'; text: string }
  /** `isEachLost`: the service names its jobs in a way that cannot be requested, so that each is paid for in vain. */
  | { kind: 'failure'; failure: Failure; isEachLost?: true };

/** How long a submission can be found by its key or by what was sent, from the first time on; absent where it cannot, as far as is known. */
export interface ShownIdempotency {
  idempotencyMs?: number;
}

export type StatusReply =
  /** `status` is the service's word; any word that is not terminal means running. */
  | ({ kind: 'running'; status: string; isExecuting: boolean } & JobTimes)
  /** Who takes the pictures releases the `hold` when they are saved. */
  | ({ kind: 'completed'; status: string; pictures: FoundPicture[]; hold?: Hold } & JobTimes)
  /** The job is over without a picture. */
  | ({ kind: 'ended'; status: string; failure: Failure } & JobTimes)
  /** The service does not know the job (404); `isDeleted`: it knows it, and says that its result is gone. */
  | { kind: 'missing'; text: string; isDeleted?: true }
  /**
   * The answer says nothing of the job; `isForeign`: it names another job. `done`: the job is done, and the service does not
   * give out what it has brought.
   */
  | { kind: 'failure'; failure: Failure; isForeign?: true; done?: { status: string } & JobTimes };

/** Resolves when there is room for the next one. */
export type WriteChunk = (chunk: Uint8Array) => Promise<void>;

/** The body of an answer that an earlier run kept; `too-large` if it has more bytes than `limits.body` allows. */
export type KeptAnswer = Uint8Array | 'too-large';

/** What the checkpoint knows a kept answer by (`Held.answer`). */
export interface KeptAs {
  answer: string;
}

/** Answers of jobs whose results wait for a setting: on this machine, for as long as their attempts are in flight. */
export interface KeptAnswers {
  /**
   * Keeps what `copy` writes, durably. Resolves to `full` if the disk or `limits.kept` has no room, and to undefined if no
   * answer came.
   */
  keep(attempt: Attempt, copy: (write: WriteChunk) => Promise<boolean>): Promise<KeptAs | 'full' | undefined>;
  /** The kept answer of an attempt; undefined if this machine has none, or a damaged one. */
  read(attempt: Attempt): Promise<KeptAnswer | undefined>;
  /** The machine that has it; undefined if that is this one, or none has. */
  elsewhere(attempt: Attempt): Promise<string | undefined>;
  /** Deletes the kept answers of attempts that are settled: all but those that `inFlight` resolves to. */
  sweep(inFlight: (attempts: number[]) => Promise<number[]>): Promise<void>;
  remove(attempt: Attempt): Promise<void>;
}

export type CancelReply =
  | { kind: 'cancelled' }
  /** No such operation, or no such job. */
  | { kind: 'unsupported'; text: string }
  | { kind: 'failure'; failure: Failure };

export type HealthReply =
  /** `health` where the answer has any. */
  | ({ kind: 'answers'; health?: ServiceHealth } & ShownIdempotency)
  /** No such operation, or no such endpoint; `isUnasked`: nothing is known that could be asked. */
  | { kind: 'unknown'; text: string; isUnasked?: true }
  | { kind: 'failure'; failure: Failure };

/** A job's part of the memory that large answers and pictures share (`limits.memory`). */
export interface Hold {
  /** Bytes that are taken by now. */
  readonly bytes: number;
  /** Whether it holds so many now. */
  tryGrow(bytes: number): boolean;
  /** Gives all back, and resolves once it holds so many in its turn, or `signal` aborts. */
  retake(bytes: number, signal: AbortSignal): Promise<void>;
  /** Gives back what is beyond so many. */
  shrink(bytes: number): void;
  /** Gives all back. */
  release(): void;
}

/** For the pictures of a job that are still to come, so many, of which room is made for all before the first. */
export interface Room {
  hold: Hold;
  pictures: number;
}

/** The scenes of a checked manifest, ready to be compared with the checkpoint. */
export interface ManifestScenes {
  /**
   * Lists of one digest have the same scenes and rows; undefined where that is unknown. Of a list whose digest is that
   * of the last one compared, scenes and rows are not asked for.
   */
  digest?: string | undefined;
  /** Whether the list may have lost most of its scenes (`--allow-fewer`). */
  allowsFewer?: boolean;
  /** Thrown instead of comparing: a person has to accept an edit first. */
  refusal?: PlanRefused | undefined;
  repeated?: RepeatedRows | undefined;
  /** Ids of scenes that would be in the list, and that a person has left out. */
  leftOut?(): Iterable<string>;
  scenes(): Iterable<ListedScene>;
  /** Rows that are skipped on the user's word. */
  badRows(): Iterable<BadRow>;
}

/** A job as the service has named it. */
export interface AcceptedJob extends ShownIdempotency {
  jobId: string;
  status: string;
  kept?: Record<string, string>;
  at: number;
}

export interface Removal {
  /** For people. */
  text: string;
  /** Whether the record of the batch, or the latest part of it, is lost. */
  isLost: boolean;
}

/** The journal of a batch. A call resolves when what it wrote is on the disk; a failing disk throws `FatalFailure`. */
export interface Checkpoint {
  /**
   * Brings the batch's scenes in line with the manifest, by identity, not position. Throws `ListCutOff`. Undefined, and nothing is changed,
   * where `signal` aborts before all is done. No read may be asked for meanwhile: it would see half of it. With a `part`,
   * all of the manifest is compared and only scenes of that part wait to be claimed from then on.
   */
  reconcile(manifest: ManifestScenes, signal: AbortSignal, part?: Part): Promise<Plan | undefined>;
  /**
   * What dead runs have left intended, perhaps sent, as the manifest has it now; the violent deaths of scenes that they had in
   * progress are counted, each once.
   */
  recover(): Promise<Attempt[]>;
  /** Attempts whose jobs are in flight, oldest submission first. */
  openAttempts(): Promise<Submitted[]>;
  /**
   * Takes up to `max` scenes that are due, oldest due retry first, then manifest order, and records an attempt of each as
   * intended. `dueBy`: retries due by then are taken; `at` where left out.
   */
  claim(max: number, endpoint: Endpoint, at: number, dueBy?: number): Promise<Attempt[]>;
  /** As `claim`, for one scene that the program died with repeatedly; `claim` leaves these out. */
  claimSuspect(endpoint: Endpoint, at: number): Promise<Attempt | undefined>;
  /** When the next waiting scene is due (0: now), or that only suspects are left, or undefined where none waits. */
  nextDue(): Promise<{ at: number; isSuspect: boolean } | undefined>;
  /**
   * An object where the id is another attempt's at that endpoint, and nothing was recorded; `doubtful` is the scene that
   * was saved by that id since this attempt began.
   */
  recordSubmitted(attempt: Attempt, job: AcceptedJob): Promise<'recorded' | { doubtful: string | undefined }>;
  /** Whether an attempt has it. */
  hasJob(job: JobAtService): Promise<boolean>;
  /** While it is, a death of the program is held against the scene too. */
  setInProgress(attempt: Attempt, isInProgress: boolean): Promise<void>;
  /** `held`: why the result of the job waits for a setting. */
  recordStatus(
    attempt: Attempt,
    seen: { status: string; isExecuting: boolean; at: number; held?: Held },
  ): Promise<void>;
  /** Identifies the settings with which a picture of the batch was saved last; undefined if none was. */
  foundWith(): Promise<string | undefined>;
  recordFoundWith(settings: string): Promise<void>;
  /** True if a job of the endpoint was settled, not because of a time-out, and executed no longer than `executionMs`. */
  hasEndedOtherwise(endpoint: Endpoint, executionMs: number): Promise<boolean>;
  /** True if the service has ever accepted a submission of the batch. */
  hasAccepted(): Promise<boolean>;
  /** Those of these attempts whose jobs are in flight, of this run or another. */
  inFlightAmong(attempts: number[]): Promise<number[]>;
  /**
   * Puts down how the attempt is to be settled once its pictures are written. It outlives the program, not a power cut:
   * it is on the disk with whatever is written next. False, and nothing is put down, where another runner has taken one of
   * its names meanwhile.
   */
  beginWriting(attempt: Attempt, settlement: SavedSettlement): Promise<boolean>;
  /** What dead runs put down and did not settle. */
  unfinishedWriting(): Promise<UnfinishedWriting[]>;
  /** Forgets it. */
  dropWriting(attempt: Attempt): Promise<void>;
  settle(attempt: Attempt, settlement: Settlement): Promise<void>;
  /** Scenes that wait and were not submitted yet, in the order in which they are claimed; `max` of them at most. */
  nextScenes(max: number): Promise<SceneToName[]>;
  /** Every scene of the list, in no order. */
  listedScenes(): Promise<AsyncIterable<FoundScene>>;
  /** Records waiting scenes as saved, all or none; none of them is claimed any more. */
  adopt(adopted: AdoptedScene[], at: number): Promise<void>;
  /** The scene that owns a file name within the images folder, compared as case-insensitive file systems do. */
  ownerOf(file: string): Promise<NameOwner | undefined>;
  /** Renames of pictures that were decided and may not have been done yet, in the order to do them in. */
  pendingMoves(): Promise<PictureMove[]>;
  recordMoved(move: PictureMove): Promise<void>;
  /** Those of saved scenes; read as they are asked for. */
  savedPictures(): Promise<Iterable<RecordedPicture>>;
  /** `part`: of the scenes of the part that was chosen, where one was. */
  counts(): Promise<SceneCounts & { part?: SceneCounts }>;
  /** Of all pictures on record. */
  pictureTotals(): Promise<PictureTotals>;
  /** Where the pictures of the listed scenes were made. */
  madeAt(): Promise<MadeAt[]>;
  /** Files of `output.files` that saved scenes were saved without. */
  lackingFiles(): Promise<LackingFile[]>;
  /** What the batch's submissions took so far. */
  spending(): Promise<BatchSpending>;
}

/** What may happen to a file that one run alone has. */
export interface CheckpointFile {
  /** Throws `FatalFailure` where attempts were left out so far, since what is on record of them is damaged. */
  assertSound(): Promise<void>;
  /** Where it was removed during the run, or its disk is gone. */
  removed(): Promise<Removal | undefined>;
}

/** The other runners of the batch. */
export interface OtherRunners {
  /** Resolves when one has died and what it had is this one's; undefined once `signal` aborts. */
  takeOver(signal: AbortSignal): Promise<TakenOver | undefined>;
  /** `onCount`: so many share the rate of requests, this one included. */
  listen(listener: { onCount(runners: number): void }): void;
}

/** What a runner that died has left to this one. */
export interface TakenOver {
  writing: UnfinishedWriting[];
  /** Perhaps sent. */
  intended: Attempt[];
  /** As `openAttempts`; to be asked for when the others are settled. */
  submitted(): Promise<Submitted[]>;
}

/** The scene whose picture has a name. */
export interface NameOwner {
  sceneId: string;
  fingerprint: string;
  /** The file of that name; a shared checkpoint tells the name alone, which is that of a picture in any format. */
  file?: string;
}

export interface PictureMove {
  key: number;
  from: string;
  to: string;
}

/** Pictures that an output names by address. */
export interface Downloads {
  /**
   * One try; what comes is held by the hold of `room`. The text of a failure names the host, and nothing of the URL that could be
   * a signature.
   */
  fetch(url: string, signal: AbortSignal, room?: Room): Promise<{ bytes: Uint8Array } | Failure>;
}

/** Where finished pictures are: a folder, or a bucket. */
export interface ImageStore {
  /**
   * Decodes a picture strictly and checks that it is whole and as asked for; a failure is `bad-picture`, `output-unsupported`,
   * `blank-picture` or `picture-too-small`, with the digest of what came. Where it comes from is put into it, or into a sidecar,
   * if that is asked for.
   */
  check(picture: HeldPicture, provenance: Provenance): Promise<Picture | Failure>;
  /**
   * Puts the file under its final name, durably and at once, and then its sidecars; `FatalFailure` where the disk does
   * not take it. What has that name already is kept as `<name>.former`.
   */
  write(picture: Picture, file: string): Promise<void>;
  /** Whether the file is there with exactly these bytes; it then stays, whatever happens to the machine. */
  has(picture: SavedPicture): Promise<boolean>;
  /** The names of all pictures in it, or of all files of these kinds, whoever knows of them. */
  list(kinds?: readonly FileKind[]): Promise<string[]>;
  /** Those of these names under which a file is there. */
  whichExist(files: string[]): Promise<string[]>;
  /** Decodes one that is there, and checks it as if it came from a job; `named` says what it is unless a picture. */
  examine(file: string, named?: NamedFile): Promise<ExaminedPicture | { problem: string }>;
  /** By name and size alone, concurrently with other work; undefined where `signal` aborts before. */
  findMissing(pictures: Iterable<RecordedPicture>, signal: AbortSignal): Promise<MissingPictures | undefined>;
  /** Writes the missing sidecars of a picture, durably. */
  complete(picture: SavedPicture, provenance: Provenance): Promise<void>;
  /** Removes a picture and its sidecars, durably. */
  remove(file: string): Promise<void>;
  /** Renames a picture and its sidecars, durably; does nothing where that has happened already. */
  move(from: string, to: string): Promise<void>;
}

/** How many of the checked pictures are not as they were saved. */
export interface MissingPictures {
  checked: number;
  missing: number;
  /** The first of the missing, relative to the images folder. */
  example: string;
}

/** The result files; they can always be rebuilt from the checkpoint. */
export interface Report {
  /**
   * Writes them anew, with how the run ended and what it needed, and returns their folder; `FatalFailure` where the disk does not take them.
   * Undefined where `signal` aborts before they are complete: those of before stay.
   */
  write(ending: Ending, signal: AbortSignal, stats?: RunStats): Promise<string | undefined>;
  /** As above, during a run; resolves early where `signal` aborts. */
  update(signal: AbortSignal): Promise<void>;
  /**
   * For a run that had nothing to do: where the one before has ended, with this ending if one is given, and its files are
   * there, takes this one off the record and returns their folder.
   */
  keep(ending?: Ending): Promise<string | undefined>;
}

export interface Clock {
  /** Wall time, epoch ms: for what is written down and for what spans runs. */
  now(): number;
  /** Monotonic ms from an arbitrary origin: for ages and waits within a run. */
  elapsed(): number;
  /** Resolves after `ms`, or at once when `signal` aborts; never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export type Listener = (event: Event) => void;
