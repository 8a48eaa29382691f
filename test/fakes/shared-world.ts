/**
 * A batch in a fake world whose checkpoint is in a real PostgreSQL. Each start of the program joins it as a separate
 * runner.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { changeBatch } from '../../src/runner/checkpoint/postgres/replica.ts';
import {
  findSharedBatch,
  joinBatch,
  type JoinedBatch,
  type SharedBatch,
} from '../../src/runner/checkpoint/postgres/shared-batch.ts';
import type { CancelResult } from '../../src/runner/pipeline/cancel-batch.ts';
import type { Checkpoint, Ports } from '../../src/runner/pipeline/ports.ts';
import type { PipelineConfig } from '../../src/runner/pipeline/pipeline-config.ts';
import type { BatchResult } from '../../src/runner/pipeline/report-batch.ts';
import type { Behaviour } from './fake-service.ts';
import { pricingOf } from '../../src/runner/core/spending.ts';
import { defaultSettings, plainBatch, World } from './world.ts';

/** Aborts the transaction of a program that was killed. */
const died = new Error('the program has died');

let worlds = 0;

export class SharedWorld extends World {
  readonly #dir: string;
  readonly #address: string;
  /** Connection through which the test reads the batch, and through which commands other than runs change it. */
  #observer: SharedBatch;
  #joined: JoinedBatch | undefined;

  /** Creates a world in the database with this URL. */
  static async make(url: string, behaviour?: Behaviour): Promise<SharedWorld> {
    const dir = mkdtempSync(join(tmpdir(), 'nightrender-world-'));
    const address = `${url}?batch=world-${(worlds += 1)}`;
    return new SharedWorld(dir, address, await find(address, join(dir, 'observer')), behaviour);
  }

  private constructor(dir: string, address: string, observer: SharedBatch, behaviour?: Behaviour) {
    super(behaviour, observer.replica.db);
    this.db.pragma('foreign_keys = OFF');
    this.#dir = dir;
    this.#address = address;
    this.#observer = observer;
  }

  override run(options: Parameters<World['run']>[0]): Promise<BatchResult | undefined> {
    return this.#asRunner(() => super.run(options), options.settings);
  }

  override cancel(options: Parameters<World['cancel']>[0]): Promise<CancelResult | undefined> {
    return this.#asRunner(() => super.cancel(options));
  }

  override repair(options: Parameters<World['repair']>[0]): ReturnType<World['repair']> {
    return this.#change(() => super.repair(options));
  }

  override putBack(...asked: Parameters<World['putBack']>): ReturnType<World['putBack']> {
    return this.#change(() => super.putBack(...asked));
  }

  override async forget(): Promise<void> {
    await this.#observer.db.query(`DROP SCHEMA ${this.#observer.schema} CASCADE`);
    await super.forget();
  }

  override async close(): Promise<void> {
    await this.#observer.db.query(`DROP SCHEMA ${this.#observer.schema} CASCADE`);
    await this.#observer.close();
    rmSync(this.#dir, { recursive: true });
  }

  /** A command that only reads pictures gets an empty checkpoint. */
  protected override openCheckpoint(): Pick<Ports, 'checkpoint' | 'file' | 'others'> {
    const { checkpoint, others } = this.#joined ?? { checkpoint: {} as Checkpoint, others: undefined };
    return { checkpoint, file: undefined, others };
  }

  async #asRunner<T>(
    work: () => Promise<T | undefined>,
    { limits = {}, pricing }: Partial<PipelineConfig> = {},
  ): Promise<T | undefined> {
    const shared = await find(this.#address, join(this.#dir, 'runners'));
    await shared.db.query(
      `UPDATE ${shared.schema}.runners SET lease_until = now() - interval '1 minute' WHERE lease_until > now()`,
    );
    const joined = await joinBatch(shared, {
      program: 'test',
      batch: { ...plainBatch, ...this.batch },
      limits,
      pricing: pricingOf({ ...defaultSettings, pricing }),
      clock: { now: () => Date.now(), elapsed: () => performance.now() },
    });
    this.#joined = joined;
    try {
      const result = await work();
      // A killed program never tells the others that it leaves.
      if (result === undefined) await shared.db.close();
      return result;
    } finally {
      await this.#leave(joined);
    }
  }

  async #leave(joined: JoinedBatch): Promise<void> {
    this.#joined = undefined;
    await joined.close();
    await this.#look();
  }

  async #look(): Promise<void> {
    const { db, schema, replica } = this.#observer;
    await replica.pull();
    const marked = await db.query<{ run: number; attempt: number }>(
      `SELECT owner AS run, attempt FROM ${schema}.attempts WHERE in_hand`,
    );
    this.marks.splice(0, Infinity, ...marked);
  }

  /** Runs a command that changes the batch in one transaction. A kill rolls it back. */
  async #change<T>(work: () => Promise<T | undefined>): Promise<T | undefined> {
    const { db, schema, replica } = this.#observer;
    try {
      return await changeBatch(db, schema, replica, async () => {
        const result = await work();
        if (result === undefined) throw died;
        return result;
      });
    } catch (error) {
      if (error === died) return undefined;
      throw error;
    } finally {
      await this.#look();
    }
  }
}

async function find(address: string, dir: string): Promise<SharedBatch> {
  const shared = await findSharedBatch(address, dir, true);
  if (shared === undefined) throw new Error('it was to be made');
  return shared;
}
