/** Changes many jobs in small batches, so that requests do not wait. */
import type { DueJob } from './job-statements.ts';
import type { StorePieces } from './store-pieces.ts';

export class BulkJobs {
  readonly #store: StorePieces;

  constructor(store: StorePieces) {
    this.#store = store;
  }

  /** Cancels all queued jobs of the endpoint, or those of one key. Returns the number of cancelled jobs. */
  async purgeQueue(endpointId: string, keyId?: string): Promise<number> {
    const { commit, reserve, transitions, signals } = this.#store;
    let removed = 0;
    for (let some: string[] | undefined; some === undefined || some.length > 0; removed += some.length) {
      // The batches are synced once, by the write at the end.
      some = await reserve.spend(() => commit.writeUnsynced(() => transitions.cancelSome(endpointId, keyId)));
      for (const id of some) signals.changed(id);
    }
    await commit.write(() => undefined);
    return removed;
  }

  async cancelAll(endpointId: string): Promise<void> {
    const { transitions, signals } = this.#store;
    await this.purgeQueue(endpointId);
    const { running } = transitions.sql;
    const all = running.all({ isPulled: 0 }).concat(running.all({ isPulled: 1 }));
    const jobs = all.filter((job) => job.endpointId === endpointId);
    const ended = await this.#writeFromReserve(() =>
      jobs.filter(({ id }) => {
        const isOpen = transitions.sql.metadata.get(id)?.endedAt === null;
        if (isOpen) transitions.end(id, 'CANCELLED');
        return isOpen;
      }),
    );
    for (const { id } of ended) signals.changed(id);
  }

  /** Requeues jobs that the service's own workers run at the endpoint, without counting a retry. */
  async requeueOwn(endpointId: string): Promise<void> {
    const { transitions, signals } = this.#store;
    const jobs = transitions.sql.running.all({ isPulled: 0 }).filter((job) => job.endpointId === endpointId);
    const back = await this.#writeFromReserve(() =>
      jobs.filter(({ id, workerId }) => {
        const job = transitions.runningOn({ id, workerId: workerId ?? '' });
        if (job !== undefined) transitions.requeue(id, job, undefined);
        return job !== undefined;
      }),
    );
    for (const { id } of back) signals.changed(id);
    if (back.length > 0) signals.queued(endpointId);
  }

  /** Signals each endpoint with queued jobs. */
  announceWaiting(): void {
    const { transitions, signals } = this.#store;
    for (const { endpointId } of transitions.sql.waiting.all()) signals.queued(endpointId);
  }

  /**
   * Ends some jobs whose execution timeout or time to live is over, and returns them. Call it until it returns
   * none.
   */
  async timeOutSome(): Promise<DueJob[]> {
    const { transitions, signals } = this.#store;
    if (!transitions.isAnyDue()) return [];
    const due = await this.#writeFromReserve(() => transitions.timeOutSome());
    for (const { id } of due) signals.changed(id);
    return due;
  }

  #writeFromReserve<T>(work: () => T): Promise<T> {
    const { commit, reserve } = this.#store;
    return reserve.spend(() => commit.write(work));
  }
}
