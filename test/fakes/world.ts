/**
 * A batch in a fake world: a real checkpoint in memory, everything else in virtual time. A run can crash and the next
 * one resumes.
 */
import { type Database, runMigrations, Sqlite } from '../../src/lib/sqlite/database.ts';
import { rememberBatch, type BatchIdentity } from '../../src/runner/checkpoint/batch-identity.ts';
import { readSavedJobs, recordedReader } from '../../src/runner/checkpoint/recorded-pictures.ts';
import { pictureRepair } from '../../src/runner/checkpoint/repair-checkpoint.ts';
import { putBackSession } from '../../src/runner/checkpoint/put-back.ts';
import { checkpointSchema } from '../../src/runner/checkpoint/checkpoint-schema.ts';
import { SqliteCheckpoint } from '../../src/runner/checkpoint/sqlite-checkpoint.ts';
import type { JsonObject, JsonValue } from '../../src/lib/text/json.ts';
import { portablePath } from '../../src/runner/core/naming.ts';
import type { PutBack, PutBackChoice, WrongId } from '../../src/runner/core/retry-policy.ts';
import { fingerprintOf, type BadRow, type ListedScene, type Scene } from '../../src/runner/core/scene.ts';
import type { Verified } from '../../src/runner/core/scene-record.ts';
import type { Event } from '../../src/runner/pipeline/event.ts';
import { cancelBatch, type CancelResult } from '../../src/runner/pipeline/cancel-batch.ts';
import type { ManifestScenes, Ports, Report } from '../../src/runner/pipeline/ports.ts';
import { finishMoves } from '../../src/runner/pipeline/recover.ts';
import type { BatchResult } from '../../src/runner/pipeline/report-batch.ts';
import { runBatch } from '../../src/runner/pipeline/run-batch.ts';
import type { PipelineConfig } from '../../src/runner/pipeline/pipeline-config.ts';
import { Stop } from '../../src/runner/pipeline/stop.ts';
import { verifyBatch } from '../../src/runner/pipeline/verify-batch.ts';
import type { CrashMarker } from '../../src/runner/checkpoint/batch-lock.ts';
import { FakeAnswers } from './fake-answers.ts';
import { FakeDownloads } from './fake-downloads.ts';
import { FakeImages } from './fake-images.ts';
import { FakeService, type Behaviour } from './fake-service.ts';
import { CrashMarkersInMemory } from './in-hand-in-memory.ts';
import { Killer } from './killer.ts';
import { VirtualClock } from './virtual-clock.ts';

export interface RunOptions {
  /** Undefined if the run was stopped before the manifest was read. */
  manifest: ManifestScenes | undefined;
  settings?: Partial<PipelineConfig>;
  killAt?: number;
  /** Number, among the calls that need the disk, of the call that fails. */
  failAt?: number;
  /** Called at every event. May stop the run. */
  onEvent?: (event: Event, stop: Stop) => void;
  /** Stops the run. Default: a new one. */
  stop?: Stop;
  /** Writes the final report. Default: does nothing. */
  writeReport?: Report['write'];
  /** Writes a report while the run goes on. */
  updateReport?: Report['update'];
  /** Wall time between the last run and this one. */
  afterMs?: number;
  /** Name (`port.method`) of the calls that never return. The run is then abandoned at `until`. */
  hang?: string;
  /** Time in ms after which the run is abandoned, as if it were killed. */
  until?: number;
}

/** New checkpoints are copies of this one, because a copy takes a tenth of the time of migrations. */
const emptyCheckpoint = ((): Buffer => {
  const db = new Sqlite(':memory:');
  runMigrations(db, checkpointSchema.migrations);
  return db.serialize();
})();

export class World {
  /** Database of the checkpoint, for tests to read. */
  readonly db: Database;
  readonly images = new FakeImages();
  readonly downloads = new FakeDownloads();
  readonly answers = new FakeAnswers();
  readonly service: FakeService;
  readonly events: Event[] = [];
  /** Crash markers that dead runs have left. */
  readonly marks: CrashMarker[] = [];
  /** Further parts of the batch's identity that pipeline.yaml states. */
  batch: Pick<BatchIdentity, 'until' | 'values'> = {};
  readonly started = Date.UTC(2026, 0, 1);
  clock = new VirtualClock(this.started);
  /** Returns a number in [0, 1). */
  random = (): number => 0.5;

  constructor(behaviour: Behaviour = () => ({}), db: Database = new Sqlite(emptyCheckpoint)) {
    this.db = db;
    rememberStatements(db);
    this.db.pragma('foreign_keys = ON');
    this.service = new FakeService(() => this.clock.now(), behaviour);
  }

  /** Runs the batch once. Returns undefined if the run was killed. */
  async run({ manifest, settings = {}, until, ...options }: RunOptions): Promise<BatchResult | undefined> {
    const { ports, stop } = this.#begin(options);
    const running = runBatch(manifest, ports, { ...defaultSettings, ...settings }, stop);
    return drive(running, this.clock, this.killer, until);
  }

  /** Runs `cancel` once. Returns undefined if it was killed. */
  async cancel({ settings = {}, until, ...options }: Omit<RunOptions, 'manifest'> = {}): Promise<
    CancelResult | undefined
  > {
    const { ports, stop } = this.#begin(options);
    const running = cancelBatch(ports, { ...defaultSettings, ...settings }, stop);
    return drive(running, this.clock, this.killer, until);
  }

  /** Runs `verify --repair` once. Returns undefined if it was killed. */
  async repair(options: Pick<RunOptions, 'killAt' | 'afterMs'> = {}): Promise<Verified | undefined> {
    const { ports } = this.#begin(options);
    const { pendingMoves, ...writes } = pictureRepair(this.db);
    const { recordMoved, putBack } = this.killer.guard('checkpoint', writes);
    const work = async (): Promise<Verified> => {
      await finishMoves({ pendingMoves, recordMoved }, ports.images);
      const verifyPorts = {
        jobs: () => readSavedJobs(this.db),
        readAgain: recordedReader(this.db),
        inspect: ports.images.inspect,
        repair: { setAside: ports.images.setAside, putBack },
        onBad: () => undefined,
        onProgress: () => undefined,
      };
      return verifyBatch(verifyPorts, 2);
    };
    return drive(work(), this.clock, this.killer);
  }

  /** Runs `retry` once. Returns undefined if it was killed. */
  async putBack(
    choice: PutBackChoice,
    options: Pick<RunOptions, 'killAt' | 'afterMs'> = {},
  ): Promise<PutBack | WrongId[] | undefined> {
    const { ports } = this.#begin(options);
    this.db.exec('DROP TABLE IF EXISTS temp.chosen');
    const session = putBackSession(this.db);
    const guarded = this.killer.guard('checkpoint', {
      putBack: async () => session.putBack(choice, this.clock.now()),
    });
    const work = async (): Promise<PutBack | WrongId[]> => {
      for (const file of session.picturesOf(choice)) await ports.images.setAside(file, 'former');
      return guarded.putBack();
    };
    return drive(work(), this.clock, this.killer);
  }

  /** Returns the ports of a new start of the program. */
  #begin({
    killAt,
    failAt,
    onEvent,
    stop = new Stop(),
    writeReport = async () => 'report',
    updateReport = async () => undefined,
    afterMs = 0,
    hang,
  }: Omit<RunOptions, 'manifest'>): { ports: Ports & { images: FakeImages }; stop: Stop } {
    this.clock = new VirtualClock(this.clock.now() + afterMs);
    const killer = new Killer(killAt, hang, failAt);
    const { clock } = this;
    const { checkpoint, file, others } = this.openCheckpoint();
    const ports = {
      service: killer.guard('service', this.service),
      checkpoint: killer.guard('checkpoint', checkpoint),
      file: file && killer.guard('checkpoint', file),
      others,
      downloads: killer.guard('downloads', this.downloads),
      answers: killer.guard('answers', this.answers),
      images: killer.guard('images', this.images),
      // `update` is not guarded, because virtual time must pass while a run writes it and goes on.
      report: {
        ...killer.guard('report', { write: writeReport }),
        update: updateReport,
        keep: async () => undefined,
      },
      clock,
      random: this.random,
      emit: (event: Event) => {
        if (killer.isDead) return;
        this.events.push(event);
        onEvent?.(event, stop);
      },
    };
    this.killer = killer;
    return { ports, stop };
  }

  /** Returns the checkpoint for a new start of the program. */
  protected openCheckpoint(): Pick<Ports, 'checkpoint' | 'file' | 'others'> {
    const run = this.db
      .prepare(
        `INSERT INTO runs (pid, host, program, started_at, idempotency_key)
         SELECT 1, 'here', 'test', ?, 'run-' || (count(*) + 1) FROM runs`,
      )
      .run(this.clock.now());
    if (this.batch.values !== undefined) rememberBatch(this.db, { ...plainBatch, ...this.batch });
    const markers = new CrashMarkersInMemory(this.marks);
    const checkpoint = new SqliteCheckpoint(this.db, Number(run.lastInsertRowid), markers);
    return { checkpoint, file: checkpoint, others: undefined };
  }

  /** Empties the checkpoint, as if it had been deleted. */
  async forget(): Promise<void> {
    this.db.exec('DELETE FROM pictures; DELETE FROM attempts; DELETE FROM scenes; DELETE FROM batch');
  }

  async close(): Promise<void> {
    this.db.close();
  }

  killer = new Killer();

  rows<Row>(sql: string): Row[] {
    return this.db.prepare<[], Row>(sql).all();
  }
}

/**
 * Makes `prepare` return the statement that it returned for the same text before. A test with a kill at every call
 * opens the checkpoint thousands of times, and preparing the same statements took a third of its time.
 */
function rememberStatements(db: Database): void {
  const statements = new Map<string, ReturnType<Database['prepare']>>();
  const prepare = db.prepare.bind(db);
  db.prepare = ((sql: string) => {
    const known = statements.get(sql);
    // A killed run may have left the statement in the middle of its rows.
    if (known !== undefined && !known.busy) return known;
    const statement = prepare(sql);
    statements.set(sql, statement);
    return statement;
  }) as Database['prepare'];
}

/** Runs everything that can happen, then lets virtual time pass, until the run has ended or was killed. */
async function drive<Result>(
  running: Promise<Result>,
  clock: VirtualClock,
  killer: Killer,
  until = Infinity,
): Promise<Result | undefined> {
  let outcome: { result: Result } | { error: unknown } | undefined;
  running.then(
    (result) => (outcome = { result }),
    (error: unknown) => (outcome = { error }),
  );
  const ended = (): typeof outcome => outcome;
  let stuck = 0;
  let waited = 0;
  for (let steps = 0; ended() === undefined && !killer.isDead && clock.elapsed() <= until; steps++) {
    if (steps > 1_000_000 || stuck > 1_000) throw new Error('the run does not end');
    // A slow database needs the processor more than this loop does.
    await new Promise((resolve) => (waited++ < 100 ? setImmediate(resolve) : setTimeout(resolve, 1)));
    if (ended() !== undefined || !killer.isIdle) continue;
    const hasAdvanced = clock.advance();
    stuck = hasAdvanced ? 0 : stuck + 1;
    if (hasAdvanced) waited = 0;
    if (stuck > 100 && until < Infinity) return undefined;
  }
  const end = ended();
  // Like a killed process, an abandoned run does nothing more. Calls that it has already made still take effect.
  killer.isDead ||= end === undefined;
  for (let turns = 0; killer.isDead && turns < 3; turns++)
    await new Promise((resolve) => setImmediate(resolve));
  if (end === undefined) return undefined;
  if ('error' in end) throw end.error;
  return end.result;
}

export const endpoint = { baseUrl: 'https://service.example', id: 'scene-renderer', version: 'v2' } as const;

export const plainBatch: BatchIdentity = { manifest: ['list.csv'], endpoint, columns: ['id', 'scene'] };

export const defaultSettings: PipelineConfig = {
  endpoint,
  concurrency: 2,
  retry: {
    attempts: 3,
    submissions: 10,
    firstWait: 2_000,
    longestWait: 120_000,
    unanswered: 'resubmit',
  },
  polling: { lag: 0.05, shortest: 10, longest: 30_000 },
  halt: { consecutive: 20, percent: 50, minimum: 50, unreachable: 30 * 60_000, refused: 30_000 },
  rate: {
    submit: { atOnce: 200, perTenSeconds: 1_000 },
    status: { atOnce: 400, perTenSeconds: 2_000 },
  },
  pricing: undefined,
  timeouts: { queue: 3_600_000, execution: 1_800_000 },
  freshness: 150_000,
  keepsMs: 1_800_000,
  // Its health is never requested.
  service: { kind: 'described' },
  limits: {},
  shutdown: { grace: 10_000 },
  report: { every: undefined },
  output: {
    name: { renderText: ({ id }) => portablePath(id as string) },
    files: [],
    values: [],
    formats: [],
    keep: 'png',
  },
  outputDigest: 'settings',
  names: 'id',
};

/** Returns settings with some keys of `output`. */
export function outputWith(some: Partial<PipelineConfig['output']>): Pick<PipelineConfig, 'output'> {
  return { output: { ...defaultSettings.output, ...some } };
}

/** Returns settings with these names for pictures. */
export function namedBy(
  nameOf: (id: string, seed: JsonValue | undefined) => string,
): Pick<PipelineConfig, 'output'> {
  return outputWith({ name: { renderText: ({ id, seed }) => nameOf(id as string, seed) } });
}

/** A signal that never aborts. */
export const unstopped = new AbortController().signal;

/** Returns a manifest of pairs of id and text. It may be shorter than an earlier manifest of the same test. */
export function manifestOf(pairs: [id: string, scene: string][], bad: BadRow[] = []): ManifestScenes {
  const scenes = pairs.map(([id, scene], i): ListedScene => {
    const input = { scene };
    return {
      id,
      fingerprint: fingerprintOf(input),
      input: JSON.stringify(input),
      columns: JSON.stringify({ id, scene }),
      position: i + 1,
      source: `list.csv:${i + 2}`,
    };
  });
  const digest = JSON.stringify([scenes, bad]);
  return { digest, allowsFewer: true, scenes: () => scenes, badRows: () => bad };
}

/** Returns the scenes of a list with their inputs and columns parsed. */
export function readList(list: ManifestScenes): Scene[] {
  return Array.from(list.scenes(), ({ input, columns, ...scene }) => ({
    ...scene,
    input: JSON.parse(input) as JsonObject,
    columns: JSON.parse(columns) as JsonObject,
  }));
}
