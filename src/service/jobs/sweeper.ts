/** Periodic work: times out jobs, deletes expired ones, records queue lengths, checks the data folder. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FolderWatch } from './data-folder.ts';
import { stepText } from './job-expiry.ts';
import type { JobStore } from './job-store.ts';

const timeOutsEveryMs = 500;

const folderEveryMs = 1_000;
const queuesEveryMs = 2_000;

export class Sweeper {
  readonly #store: JobStore;
  readonly #onProblem: (text: string) => void;
  readonly #timers: NodeJS.Timeout[];
  readonly #busy = new Set<string>();
  #isStopped = false;

  /** Deletes expired jobs often enough for the retention. Reads check the clock themselves. */
  constructor(store: JobStore, folder: FolderWatch, retentionMs: number, onProblem: (text: string) => void) {
    this.#store = store;
    this.#onProblem = onProblem;
    const everyMs = Math.min(30_000, Math.max(1_000, retentionMs / 10));
    this.#timers = [
      setInterval(() => void this.#alone('delete expired results', () => this.#sweep()), everyMs),
      setInterval(() => void this.#alone('end overdue jobs', () => this.#endOverdue()), timeOutsEveryMs),
      setInterval(() => void this.#alone('measure the queues', () => this.#noteQueues()), queuesEveryMs),
      setInterval(() => void this.#alone('check the data folder', () => void folder.check()), folderEveryMs),
    ];
    for (const timer of this.#timers) timer.unref();
  }

  stop(): void {
    this.#isStopped = true;
    for (const timer of this.#timers) clearInterval(timer);
  }

  async #alone(what: string, work: () => Promise<void> | void): Promise<void> {
    if (this.#busy.has(what)) return;
    this.#busy.add(what);
    try {
      await work();
    } catch (error) {
      this.#onProblem(`cannot ${what}: ${String(error)}`);
    } finally {
      this.#busy.delete(what);
    }
  }

  async #sweep(): Promise<void> {
    let deleted = 0;
    for (let some = 1; some > 0 && !this.#isStopped; await nextTurn()) {
      some = await this.#store.expiry.deleteSome();
      deleted += some;
    }
    const { expiry } = this.#store;
    if ((deleted > 0 || expiry.isScrubDue) && !this.#isStopped) expiry.scrub();
  }

  #noteQueues(): void {
    const { reads, history } = this.#store;
    history.noteQueues(reads.queueLengths());
  }

  async #endOverdue(): Promise<void> {
    const stepMs = await this.#store.keepClockStep();
    if (stepMs !== 0) this.#onProblem(stepText(stepMs));
    // `refill` first requeues the jobs of a crashed service, so that they are not timed out as running too long.
    if (this.#store.refill()) this.#store.bulk.announceWaiting();
    while (!this.#isStopped && (await this.#store.bulk.timeOutSome()).length > 0);
  }
}
