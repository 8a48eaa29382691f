/**
 * One start of the program on a batch, in virtual time and on real files. It does what `run` and the other commands do,
 * except that the service is a stand-in.
 */
import { beginChoicesOf, overridesOf, unknownPicturesOf } from '../../src/batch/start-choices.ts';
import { noBatch } from '../../src/batch/record.ts';
import { tryWriteReport, keptReport, recordEnd, recordThrown } from '../../src/batch/result-files.ts';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isBatch, lockBatch, type BatchLock } from '../../src/runner/checkpoint/batch-lock.ts';
import { readBatch } from '../../src/runner/checkpoint/batch-identity.ts';
import {
  type OpenCheckpoint,
  openCheckpoint,
  openCheckpointForReading,
} from '../../src/runner/checkpoint/open-checkpoint.ts';
import { beginRun } from '../../src/batch/begin.ts';
import { outputFiles } from '../../src/batch/pictures-place.ts';
import type { ReadScenes } from '../../src/runner/list/read-scenes.ts';
import { refusalOf } from '../../src/batch/refusal.ts';
import { retry } from '../../src/commands/retry.ts';
import { batchLists } from '../../src/batch/lists.ts';
import { verify } from '../../src/commands/verify.ts';
import type { Config } from '../../src/runner/config/config.ts';
import { readConfig } from '../../src/runner/config/read-config.ts';
import { endings, type Ending } from '../../src/runner/core/ending.ts';
import { folderPlace } from '../../src/runner/images/folder-place.ts';
import { createImageStore } from '../../src/runner/images/image-store.ts';
import { cancelBatch } from '../../src/runner/pipeline/cancel-batch.ts';
import type { Event } from '../../src/runner/pipeline/event.ts';
import type { Clock, Ports } from '../../src/runner/pipeline/ports.ts';
import { runBatch } from '../../src/runner/pipeline/run-batch.ts';
import type { PipelineConfig } from '../../src/runner/pipeline/pipeline-config.ts';
import { Stop, type StopMode } from '../../src/runner/pipeline/stop.ts';
import { KeptAnswersFolder } from '../../src/runner/checkpoint/kept-answers.ts';
import { FakeDownloads } from '../fakes/fake-downloads.ts';
import { VirtualClock } from '../fakes/virtual-clock.ts';
import { captureOutput } from './capture-output.ts';
import { copyTree } from './damages.ts';
import type { NightService } from './night-service.ts';
import { PortCalls } from './port-calls.ts';

/** The machine on which the program runs. */
export interface Machine {
  /** Folder with pipeline.yaml, the list and the output folder `out`. */
  root: string;
  service: NightService;
  /** True time, epoch ms. */
  now: number;
  /** Difference of the wall clock from true time. */
  skewMs: number;
  random: () => number;
  /** Called with everything that happens, in order. */
  emit: (line: string) => void;
}

export interface Start {
  what: 'run' | 'cancel' | 'retry' | 'verify';
  /** Options of the command. */
  argv?: Record<string, unknown>;
  /** Number of the half call of a port at which the program dies. */
  dieAt?: number | undefined;
  stop?: { atCall: number; mode: StopMode } | undefined;
  /** Changes the wall clock at the nth call. */
  jump?: { atCall: number; ms: number } | undefined;
}

export interface Outcome {
  kind: 'ended' | 'refused' | 'died' | 'bug';
  exitCode: number | undefined;
  words: string;
  events: Event[];
  halves: number;
}

export const outOf = ({ root }: Pick<Machine, 'root'>): string => join(root, 'out');
const fileOf = ({ root }: Machine): string => join(root, 'pipeline.yaml');

/** Limit of virtual time for one start. */
const maxMs = 30 * 24 * 3_600_000;

export async function start(machine: Machine, asked: Start): Promise<Outcome> {
  const file = fileOf(machine);
  if (asked.what === 'retry') return command(() => retry({ ...asked.argv, pipeline: file }));
  if (asked.what === 'verify') return command(() => verify({ ...asked.argv, pipeline: file }));
  return new Process(machine, asked).go();
}

/** The simulation uses no bucket. */
function fail(text: string): never {
  throw new Error(text);
}

/** Runs a real command that needs no service, from its arguments to its exit code. */
async function command(work: () => Promise<number>): Promise<Outcome> {
  const { result, output } = await captureOutput(work);
  const kinds: Record<number, Outcome['kind']> = { 1: 'bug', 2: 'refused', 11: 'refused', 14: 'refused' };
  return { kind: kinds[result] ?? 'ended', exitCode: result, words: output, events: [], halves: 0 };
}

class Process {
  readonly #machine: Machine;
  readonly #asked: Start;
  readonly #calls: PortCalls;
  readonly #clock: VirtualClock;
  readonly #stop = new Stop();
  readonly #events: Event[] = [];
  #count = 0;
  #lock: BatchLock | undefined;
  #opened: OpenCheckpoint | undefined;
  #scenes: ReadScenes | undefined;

  constructor(machine: Machine, asked: Start) {
    this.#machine = machine;
    this.#asked = asked;
    this.#clock = new VirtualClock(machine.now);
    machine.service.now = () => this.#clock.now();
    this.#calls = new PortCalls({
      dieAt: asked.dieAt ?? Infinity,
      onDeath: () => this.#keepFolder(),
      onCall: (name) => this.#onCall(name),
    });
  }

  async go(): Promise<Outcome> {
    const outcome = await this.#outcome();
    this.#machine.now = this.#clock.now();
    this.#scenes?.list.close();
    await this.#opened?.close();
    this.#lock?.release();
    // An fsync of the checkpoint may still be in progress.
    await new Promise((resolve) => setImmediate(resolve));
    if (this.#calls.isDead) this.#takeFolder();
    return { ...outcome, events: this.#events, halves: this.#calls.halves };
  }

  async #outcome(): Promise<Omit<Outcome, 'events' | 'halves'>> {
    const dir = outOf(this.#machine);
    try {
      const ending = await this.#drive(this.#asked.what === 'cancel' ? this.#cancel() : this.#run());
      if (ending === undefined) return { kind: 'died', exitCode: undefined, words: '' };
      return { kind: 'ended', exitCode: endings[ending.kind].exitCode, words: ending.text };
    } catch (thrown) {
      const refusal = refusalOf(thrown, dir);
      if (this.#opened !== undefined) await recordThrown(this.#opened, thrown, dir);
      if (refusal === undefined) return { kind: 'bug', exitCode: 1, words: stackOf(thrown) };
      const problems = refusal.problems.map(({ where, text }) => `${where}: ${text}\n`);
      const { exitCode } = endings[refusal.ending];
      return { kind: 'refused', exitCode, words: problems.join('') + refusal.text };
    }
  }

  /** Does what `batch/start-run.ts` does. */
  async #run(): Promise<Ending> {
    const step = <T>(name: string, work: () => T | Promise<T>): Promise<T> => this.#calls.call(name, work);
    const file = fileOf(this.#machine);
    const dir = outOf(this.#machine);
    const config = readConfig(file, overridesOf(this.#asked.argv ?? {}, {}), environment);
    const signal = this.#stop.draining;
    if (isBatch(dir)) await step('lock', () => this.#takeLock());
    await step('read', async () => {
      const batch = { dir, recordKind: this.#lock && 'own', isAdopting: false, onTrouble: fail } as const;
      this.#scenes = await batchLists(config, batch, signal);
    });
    if (this.#lock === undefined) await step('lock', () => this.#takeLock());
    const choices = beginChoicesOf(this.#asked.argv ?? {}, []);
    await step('begin', async () => {
      const request = { file, config, choices: { ...choices, part: undefined } };
      const { opened } = await beginRun(request, this.#scenes);
      this.#opened = opened;
    });
    const ports = await this.#ports(config);
    const settings = { ...this.#settings(config), unknownPictures: unknownPicturesOf(choices) };
    const result = await runBatch(this.#scenes?.list, ports, settings, this.#stop);
    if (result.report === undefined) await this.#recordEnd(result.ending);
    return result.ending;
  }

  /** Does what `batch/cancel-jobs.ts` does. */
  async #cancel(): Promise<Ending> {
    const dir = outOf(this.#machine);
    const config = readConfig(fileOf(this.#machine), [], environment);
    const db = openCheckpointForReading(dir);
    const batch = db && readBatch(db);
    db?.close();
    const isLossAccepted = this.#asked.argv?.['acceptLoss'] === true;
    if (batch === undefined) throw noBatch(dir, isLossAccepted);
    await this.#takeLock();
    this.#opened = openCheckpoint(dir, 'simulated', batch, this.#wall(), isLossAccepted);
    const ports = await this.#ports(config);
    const result = await cancelBatch(ports, this.#settings(config), this.#stop);
    if (result.report === undefined) await this.#recordEnd(result.ending);
    return result.ending;
  }

  async #takeLock(): Promise<void> {
    this.#lock = await lockBatch(outOf(this.#machine), this.#wall());
  }

  #settings(config: Config): PipelineConfig {
    return { ...config, names: this.#opened?.names ?? 'prompt' };
  }

  async #recordEnd(ending: Ending): Promise<void> {
    if (this.#opened !== undefined) await recordEnd(this.#opened, ending);
  }

  async #ports(config: Config): Promise<Ports> {
    const { dir } = config.output;
    const opened = this.#opened;
    if (opened === undefined) throw new Error('nothing is opened');
    const images = createImageStore(folderPlace(join(dir, 'images')), {
      pixels: config.limits.pixels,
      ...config.check,
      ...outputFiles(config.output, opened.rules, () => undefined),
    });
    await this.#calls.call('prepare', () => images.prepare());
    // Only whether the report can be written matters here.
    const write = async (signal: AbortSignal): Promise<string | undefined> => {
      if (config.report.every === undefined) return join(dir, 'report');
      return (await tryWriteReport(dir, signal, undefined, this.#wall())) ? join(dir, 'report') : undefined;
    };
    return {
      service: this.#calls.guard('service', this.#machine.service),
      downloads: new FakeDownloads(),
      answers: this.#calls.guard('answers', new KeptAnswersFolder(join(dir, 'kept-answers'), config.limits)),
      checkpoint: this.#calls.guard('checkpoint', opened.checkpoint),
      file: opened.file && this.#calls.guard('checkpoint', opened.file),
      others: undefined,
      images: this.#calls.guard('images', images),
      report: this.#calls.guard('report', {
        write: async (ending, signal) => {
          await this.#recordEnd(ending);
          return write(signal);
        },
        update: async (signal) => void (await write(signal)),
        keep: async (ending) => keptReport(dir, opened, ending),
      }),
      clock: this.#jumpingClock(),
      random: this.#machine.random,
      emit: (event) => this.#emit(event),
    };
  }

  /** Returns a clock whose wall time may be changed. Sleeping is not affected. */
  #jumpingClock(): Clock {
    const clock = this.#clock;
    return {
      now: () => this.#wall(),
      elapsed: () => clock.elapsed(),
      sleep: (ms, signal) => clock.sleep(ms, signal),
    };
  }

  #wall(): number {
    return this.#clock.now() + this.#machine.skewMs;
  }

  #emit(event: Event): void {
    if (this.#calls.isDead) return;
    this.#events.push(event);
    this.#machine.emit(JSON.stringify(event));
  }

  #onCall(name: string): void {
    const { stop, jump } = this.#asked;
    this.#count += 1;
    this.#machine.emit(`${this.#clock.elapsed()} ${name}`);
    // Earlier stops are handled by `commands/run.ts`, which this simulation replaces.
    if (this.#opened !== undefined && this.#count === stop?.atCall)
      this.#stop.request(stop.mode, { kind: 'interrupted', text: 'Interrupted' });
    if (this.#count === jump?.atCall) this.#machine.skewMs += jump.ms;
  }

  /**
   * Runs everything that can happen, then lets virtual time pass, until the program has ended. Returns undefined if it
   * died.
   */
  async #drive<Result>(running: Promise<Result>): Promise<Result | undefined> {
    const state = { isOver: false };
    const over = running.finally(() => (state.isOver = true));
    over.catch(() => undefined);
    for (let idle = 0; !state.isOver && !this.#calls.isDead;) {
      await this.#calls.idle();
      await new Promise((resolve) => setImmediate(resolve));
      if (state.isOver || this.#calls.isDead || !this.#calls.isIdle) continue;
      idle = this.#clock.advance() ? 0 : idle + 1;
      if (idle > 1_000 || this.#clock.elapsed() > maxMs) throw new Error('the run does not end');
    }
    // Calls that a dead program has already made still take effect.
    if (!this.#calls.isDead) return running;
    await this.#calls.idle();
    return undefined;
  }

  /** Copies the folder as it was when the program died. Later writes of calls in progress must not count. */
  #keepFolder(): void {
    const dir = outOf(this.#machine);
    if (existsSync(dir)) copyTree(dir, `${dir}.kept`, () => true);
  }

  #takeFolder(): void {
    const dir = outOf(this.#machine);
    rmSync(dir, { recursive: true, force: true });
    if (existsSync(`${dir}.kept`)) renameSync(`${dir}.kept`, dir);
  }
}

function stackOf(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
}

export const environment = { NIGHTRENDER_API_KEY: 'a-key' };
