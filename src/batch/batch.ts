/** A batch: the starting point of everything that a command or a program does to one. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { proxyRules } from '../lib/net/addresses.ts';
import { ConfigError, type Problem } from '../lib/yaml/problem.ts';
import type { Override } from '../lib/yaml/yaml-file.ts';
import { type BatchIdentity, readBatch } from '../runner/checkpoint/batch-identity.ts';
import { checkpointFile } from '../runner/checkpoint/find-loss.ts';
import { openCheckpointForReading } from '../runner/checkpoint/open-checkpoint.ts';
import { type Config, PipelineParts } from '../runner/config/config.ts';
import type { BatchPlan } from '../runner/core/batch-plan.ts';
import type { RunEnded } from '../runner/pipeline/event.ts';
import type { Listener } from '../runner/pipeline/ports.ts';
import type { Stop } from '../runner/pipeline/stop.ts';
import { Book } from './book.ts';
import type { CancelledBatch } from './cancel-jobs.ts';
import type { LocalService } from './connect-service.ts';
import type { PlanChoices } from './dry-run.ts';
import { findRecord, openRecord } from './find-record.ts';
import { type BucketEdges, shownImages } from './pictures-place.ts';
import { isElsewhere, noBatch, type OpenRecord, type SharedAddress } from './record.ts';
import { commandArguments, namedRefusal, type Refusal, shownPath } from './refusal.ts';
import type { RunChoices } from './start-choices.ts';

export interface BatchPlace {
  /** Path of pipeline.yaml as given, which messages repeat. For reading, the path of the output folder is enough. */
  file: string;
  /** Settings that replace those of the file, in order of increasing precedence. */
  overrides?: Override[];
  /** Output folder given instead of the one in the file. Commands in messages repeat it. */
  output?: unknown;
  env?: NodeJS.ProcessEnv;
  /** Starts the job service that comes with the program, for batches that use it. */
  localService: LocalService;
  /** Called with a sentence when a bucket does not answer outside a run. */
  onTrouble: (text: string) => void;
}

export class Batch {
  readonly file: string;
  readonly overrides: Override[];
  readonly env: NodeJS.ProcessEnv;
  /** Arguments for commands in messages, such as `pipeline.yaml --output elsewhere`. */
  readonly arguments: string;
  readonly #localService: LocalService;
  readonly #onTrouble: (text: string) => void;
  readonly #folder: OutputFolder | undefined;
  #parts: PipelineParts | undefined;
  #place: { dir: string; shared: SharedAddress } | undefined;
  #config: Config | undefined;
  /** True if `#config` was read with the key of the service. */
  #hasKey = false;

  private constructor(
    { file, overrides = [], output, env = process.env, localService, onTrouble }: BatchPlace,
    folder: OutputFolder | undefined,
  ) {
    this.file = file;
    this.overrides = overrides;
    this.env = env;
    this.arguments = folder?.arguments ?? commandArguments(file, output);
    this.#folder = folder;
    this.#localService = localService;
    this.#onTrouble = onTrouble;
  }

  /** Creates the batch without reading pipeline.yaml. */
  static at(place: BatchPlace): Batch {
    return new Batch(place, outputFolderAt(place.file));
  }

  /** Absolute output folder. A missing key elsewhere in the file does not matter. Throws `ConfigError`. */
  get dir(): string {
    return this.#where().dir;
  }

  /** Parts of the file, each of which is checked when it is read. Throws `ConfigError` if the file cannot be read. */
  get parts(): PipelineParts {
    const file = this.#folder === undefined ? this.file : this.#folder.pipeline;
    if (this.#folder !== undefined && (file === undefined || !existsSync(file))) throw this.#lackingFile();
    return (this.#parts ??= new PipelineParts(file ?? this.file, this.overrides, this.env));
  }

  /** Variables, proxies and listener with which the bucket of the batch is opened. Throws `ConfigError` if the file cannot be read. */
  get edges(): BucketEdges {
    const file = this.#folder === undefined ? this.file : this.#folder.pipeline;
    const isForAll = file !== undefined && existsSync(file) && this.parts.isProxyForAll();
    return { env: this.env, proxies: proxyRules(this.env, isForAll), onTrouble: this.#onTrouble };
  }

  /** Output folder, or undefined if no method has read it from the file yet. */
  get knownDir(): string | undefined {
    return this.#config?.output.dir ?? this.#place?.dir ?? this.#folder?.dir;
  }

  /** Whole configuration, or undefined if `config` was not called yet or has thrown. */
  get knownConfig(): Config | undefined {
    return this.#config;
  }

  /**
   * Checks the whole file. `needsKey`: a missing key is a problem. `problems`: found before, such as those of options.
   * Throws one `ConfigError` with all problems.
   */
  async config(needsKey = true, problems: Problem[] = []): Promise<Config> {
    this.#assertFile();
    const { readConfig } = await import('../runner/config/read-config.ts');
    try {
      if (needsKey && !this.#hasKey) this.#config = undefined;
      this.#config ??= readConfig(this.file, this.overrides, this.env, needsKey);
      this.#hasKey ||= needsKey;
    } catch (thrown) {
      if (!(thrown instanceof ConfigError)) throw thrown;
      throw new ConfigError([...problems, ...thrown.problems]);
    }
    if (problems.length > 0) throw new ConfigError(problems);
    return this.#config;
  }

  shownImagesOf({ output: { dir, pictures } }: Config): string {
    return shownImages(dir, pictures);
  }

  /** Reads the batch without changing it, even during a run. Throws `ConfigError` if there is none. */
  async read<T>(work: (book: Book) => Promise<T> | T): Promise<T> {
    const { book, close } = await this.openToRead();
    try {
      return await work(book);
    } finally {
      await close();
    }
  }

  /** Like `read`, for generators that are read later. The caller must call `close`. */
  async openToRead(): Promise<{ book: Book; close: () => Promise<void> }> {
    const { dir, shared } = this.#where();
    const record = await openRecord(dir, shared);
    try {
      const db = openCheckpointForReading(record.dir);
      if (db === undefined) throw noBatch(dir);
      const close = async (): Promise<void> => {
        try {
          db.close();
        } finally {
          await record.close();
        }
      };
      return { book: new Book(dir, record, db, this.edges, this.#folder !== undefined), close };
    } catch (error) {
      await record.close();
      throw error;
    }
  }

  /** Changes the batch while no run works; `prepare` runs first. Throws `BatchInUse`, and `ConfigError` if there is no batch. */
  async upkeep<T>(work: (book: Book) => Promise<T> | T, prepare?: () => Promise<void>): Promise<T> {
    this.#assertFile();
    return this.onRecord((record) =>
      record.maintain((db) => work(new Book(this.dir, record, db, this.edges)), prepare),
    );
  }

  /** Opens only the record, for callers that wait for a batch to begin. */
  async onRecord<T>(work: (record: OpenRecord) => Promise<T>): Promise<T> {
    const { dir, shared } = this.#where();
    const record = await openRecord(dir, shared);
    try {
      return await work(record);
    } finally {
      await record.close();
    }
  }

  /** Moves the checkpoint to the place in the file. Undefined if it is there already. */
  async moveCheckpoint() {
    this.#assertFile();
    const { dir, shared } = this.#where();
    const { moveCheckpoint } = await import('./move.ts');
    return moveCheckpoint(dir, shared, this.edges);
  }

  /** Plans a run on a copy of the checkpoint, and refuses as a run does. Undefined if `signal` aborts. */
  async plan(choices: PlanChoices, signal: AbortSignal): Promise<BatchPlan | undefined> {
    const config = await this.config(choices.isChecked);
    const { planOnCopy } = await import('./dry-run.ts');
    const record = await openRecord(config.output.dir, sharedAddressOf(config), choices.isFresh);
    try {
      const request = { file: this.file, config, choices };
      const edges = { localService: this.#localService, onTrouble: this.#onTrouble };
      return await planOnCopy(request, record, edges, signal);
    } finally {
      await record.close();
    }
  }

  /** Starts or continues the batch until the run has ended. Throws errors that `refusalOf` explains, and bugs. */
  async run(choices: RunChoices, stop: Stop, emit: Listener): Promise<RunEnded> {
    const read = await this.config();
    const config = { ...read, acceptEdits: read.acceptEdits ?? choices.acceptEdits };
    const { startRun } = await import('./start-run.ts');
    const record = await findRecord(config.output.dir, sharedAddressOf(config));
    return startRun(
      { file: this.file, config, choices, stop, emit, localService: this.#localService },
      record,
    );
  }

  /** Cancels every job in flight, and saves finished ones. `onEnd` gets the result before the batch closes. */
  async cancel(
    isLossAccepted: boolean,
    stop: Stop,
    emit: Listener,
    onEnd: (cancelled: CancelledBatch) => void = () => undefined,
  ): Promise<CancelledBatch> {
    const config = await this.config();
    const { cancelJobs } = await import('./cancel-jobs.ts');
    const found = await findRecord(config.output.dir, sharedAddressOf(config));
    const record = await found.openForCancel(isLossAccepted);
    try {
      return await cancelJobs(
        { file: this.file, config, stop, emit, onEnd, localService: this.#localService },
        record,
      );
    } finally {
      await record.close();
    }
  }

  /** Returns ending and text of an expected error; undefined for a bug. `isReading`: nothing was sent. */
  refusalOf(thrown: unknown, isReading = false): Refusal | undefined {
    return namedRefusal(thrown, this.knownDir, this.arguments, isReading);
  }

  /** Throws `ConfigError` if the batch was named by its output folder. That may be a copy, so it is only read. */
  #assertFile(): void {
    if (this.#folder === undefined) return;
    const { pipeline } = this.#folder;
    const isThere = pipeline !== undefined && existsSync(pipeline);
    const known = isThere ? `, such as ${shownPath(pipeline)}, from which it was made` : '';
    const text = `this is the output folder of a batch; this command needs its pipeline.yaml${known}`;
    throw new ConfigError([{ where: shownPath(this.file), text }]);
  }

  /** Returns the output folder. Throws `ConfigError` if `--output` is given as well, or if the checkpoint is in a database. */
  #readable({ dir, isShared }: OutputFolder): string {
    const where = shownPath(this.file);
    if (this.overrides.some(({ from }) => from === '--output')) {
      const text = `${where} is an output folder itself; leave this out, or name a pipeline.yaml instead of the folder`;
      throw new ConfigError([{ where: '--output', text }]);
    }
    if (!isShared) return dir;
    const text =
      'this is the output folder of a batch whose checkpoint is in a database; expected its pipeline.yaml, which names the database';
    throw new ConfigError([{ where, text }]);
  }

  #lackingFile(): ConfigError {
    const { pipeline } = this.#folder ?? {};
    const gone =
      pipeline === undefined ? '' : `; ${shownPath(pipeline)}, from which it was made, is not there`;
    const text = `this is the output folder of a batch, and settings of its pipeline.yaml are needed as well${gone}. Name the file instead`;
    return new ConfigError([{ where: shownPath(this.file), text }]);
  }

  #where(): { dir: string; shared: SharedAddress } {
    if (this.#folder !== undefined) return { dir: this.#readable(this.#folder), shared: undefined };
    this.#place ??= {
      dir: this.parts.outputDir(),
      shared: this.parts.checkpoint(),
    };
    return this.#place;
  }
}

function sharedAddressOf({ checkpoint, placeOf }: Config): SharedAddress {
  return checkpoint === undefined ? undefined : { address: checkpoint, where: placeOf(['checkpoint']) };
}

/** Returns undefined if `path` is not the output folder of a batch that has begun. */
function outputFolderAt(path: string): OutputFolder | undefined {
  const dir = resolve(path);
  if (path === '') return undefined;
  if (!existsSync(checkpointFile(dir))) {
    const shared = { dir, isShared: true, pipeline: undefined, arguments: '<pipeline>' };
    return isElsewhere(dir) ? shared : undefined;
  }
  const { pipeline, output } = recordedIn(dir) ?? {};
  const named = pipeline === undefined ? '<pipeline>' : shownPath(pipeline);
  const shown = commandArguments(named, output === undefined ? undefined : shownPath(dir));
  return { dir, isShared: false, pipeline, arguments: pipeline === undefined ? named : shown };
}

interface OutputFolder {
  /** Absolute path. */
  dir: string;
  /** True if the checkpoint is in a database, whose address the folder does not contain. */
  isShared: boolean;
  /** Absolute path of the pipeline.yaml that the latest run used. Undefined if the checkpoint does not record it. */
  pipeline: string | undefined;
  /** Arguments for commands in messages. */
  arguments: string;
}

/** Returns undefined for a damaged checkpoint, which is reported when it is read. */
function recordedIn(dir: string): BatchIdentity | undefined {
  try {
    const db = openCheckpointForReading(dir);
    try {
      return db && readBatch(db);
    } finally {
      db?.close();
    }
  } catch {
    return undefined;
  }
}
