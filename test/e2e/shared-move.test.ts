/**
 * Promise: `verify --move` moves a complete checkpoint to a database and back, and runs can never use a batch
 * in both places.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noPostgres, startPostgres, type PostgresServer } from '../engines/postgres.ts';
import type { HttpService } from '../fakes/http-service.ts';
import { folderWith, Night, pipeline, root, scenes, type Started, withKey } from './cli.ts';
import { blackPicture, completed, startSlowService, startStandIn } from './stand-ins.ts';

let server: PostgresServer;
let batches = 0;

const listed = 12;

describe.skipIf(noPostgres !== undefined)(`shared${noPostgres ? ` (skipped: ${noPostgres})` : ''}`, () => {
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  it('a moved batch goes there and back: the same list, nothing is paid for twice, and each place continues with it', async () => {
    const batch = await halfDone();
    const before = await batch.rows();
    expect(before).toContainEqual(
      expect.objectContaining({
        pictures: [expect.objectContaining({ labelled_words: ['buoy'] })],
        columns: expect.objectContaining({ score: 0.5 }) as object,
      }),
    );
    batch.setShared(true);
    await batch.run().fails(2, '`nightrender verify pipeline.yaml --move`');
    expect(await batch.verify('--move', '--json').exits(0).warnsOnly('').lines()).toEqual([
      expect.objectContaining({
        type: 'checkpoint-moved',
        from: 'out/checkpoint.sqlite.moved',
        scenes: listed,
      }),
    ]);
    expect(await batch.rows()).toEqual(before);
    batch.setShared(false);
    await batch.run().fails(2, 'in a database');
    batch.setShared(true);
    await batch.run('--limit', '8').exits(0);
    batch.setShared(false);
    await batch.with(withKey).verify('--move').fails(2, 'DATABASE_URL');
    const there = await batch.rows(true);
    const saved = there.filter((row) => (row as { state: string }).state === 'saved');
    expect(saved.length).toBeGreaterThan(4);
    for (const row of saved) expect(row).toMatchObject({ columns: { score: 0.5 } });
    await batch.verify('--move').exits(0, '12 scenes');
    expect(await batch.rows()).toEqual(there);
    await batch.run().exits(0);
    await batch.expectAllOnce();
    batch.setShared(true);
    await batch.run().exits(2);
    batch.setShared(false);
    const left = readdirSync(batch.path('out')).filter((name) => /moved|arriving/.test(name));
    expect(left).toEqual(['checkpoint.sqlite.moved']);
    // Moving again changes nothing.
    await batch.verify('--move').exits(0, 'already there');
    await batch.verify().prints(`good      ${listed}\n`);
  });

  it('a moved batch includes the jobs that a killed run left in flight, and collects them there', async () => {
    const service = await startSlowService(1_500);
    const batch = new Batch(service);
    await batch.killAfter(5);
    batch.setShared(true);
    await batch.verify('--move').exits(0);
    await batch.run().exits(0).warns('are collected first');
    await batch.expectEachOnRecord();
  });

  it.each(['before', 'after'] as const)(
    'a move that was killed %s the file was put aside is completed; until then the batch is in one place at most',
    async (when) => {
      const batch = await halfDone();
      batch.setShared(true);
      const before = batch.path('before');
      cpSync(batch.path('out'), before, { recursive: true });
      await batch.verify('--move').exits(0);
      // This is the state of the copy before the last step.
      await batch.sql(
        `DO $$ BEGIN EXECUTE format('COMMENT ON SCHEMA ${batch.schema} IS %L', obj_description('${batch.schema}'::regnamespace) || ', arriving'); END $$`,
      );
      if (when === 'before') {
        rmSync(batch.path('out'), { recursive: true });
        renameSync(before, batch.path('out'));
      }
      await batch.run().fails(2, '`nightrender verify pipeline.yaml --move`');
      batch.setShared(false);
      // Records that the file got meanwhile are moved too.
      await batch.run('--limit', '8').exits(when === 'before' ? 0 : 2);
      const known = when === 'before' ? await batch.rows() : undefined;
      batch.setShared(true);
      await batch.verify('--move').exits(0);
      if (known !== undefined) expect(await batch.rows()).toEqual(known);
      await batch.run().exits(0);
      await batch.expectAllOnce();
    },
  );

  it('a move that was killed on the way back continues, and no run can use the database meanwhile', async () => {
    const batch = await halfDone();
    batch.setShared(true);
    await batch.verify('--move').exits(0);
    batch.setShared(false);
    await batch.verify('--move').exits(0);
    // This is the state before the file has its final name.
    const file = batch.path('out/checkpoint.sqlite');
    renameSync(file, `${file}.arriving`);
    await batch.run().exits(2);
    batch.setShared(true);
    await batch.run().fails(2, 'was moved to a checkpoint');
    batch.setShared(false);
    await batch.verify('--move').exits(0);
    expect(existsSync(`${file}.arriving`)).toBe(false);
    await batch.run().exits(0);
    await batch.expectAllOnce();
  });

  it('a move takes nothing from a database that is not known to belong to this folder, and overwrites no other batch', async () => {
    const [mine, other] = [await halfDone(), await halfDone()];
    for (const batch of [mine, other]) {
      batch.setShared(true);
      await batch.verify('--move').exits(0);
    }
    mine.setShared(false);
    const elsewhere = mine.with({ env: { ...withKey.env, DATABASE_URL: other.address } });
    await elsewhere.verify('--move').fails(2, 'is the one of this folder');
    const third = await halfDone();
    third.setShared(true, other.address);
    const over = await third.verify('--move');
    expect([over.code, over.stderr]).toEqual([2, expect.stringContaining('choose another name (?batch=')]);
    expect((await other.run()).code).toBe(0);
    await other.expectAllOnce();
  });

  it('a moved batch continues with a database of an earlier version, which then keeps its new columns', async () => {
    const batch = await halfDone();
    batch.setShared(true);
    await batch.verify('--move').exits(0);
    const { schema } = batch;
    await batch.sql(
      `ALTER TABLE ${schema}.pictures DROP COLUMN output; ALTER TABLE ${schema}.runs DROP COLUMN rules;
       ALTER TABLE ${schema}.attempts DROP COLUMN kept, DROP COLUMN cost, DROP COLUMN cost_from; ALTER TABLE ${schema}.account DROP COLUMN untimed;
       COMMENT ON SCHEMA ${schema} IS 'nightrender checkpoint, format 3'`,
    );
    // This command runs on a machine that does not know the batch, before a run upgrades it.
    rmSync(batch.path('out/.shared'), { recursive: true });
    await batch.status().exits(0).warnsOnly('');
    await batch.run().exits(0);
    await batch.expectAllOnce();
    rmSync(batch.path('out/.shared'), { recursive: true });
    const list = (await batch.rows()) as { pictures: { labelled_words?: string[] }[] }[];
    expect(list.filter(({ pictures }) => pictures[0]?.labelled_words?.[0] === 'buoy')).toHaveLength(
      listed - 4,
    );
  });

  it('a moved batch is the list of a stage, as it was in a file', async () => {
    const batch = await halfDone();
    batch.setShared(true);
    await batch.verify('--move').exits(0);
    const stage = pipeline(
      batch.service.url,
      "input: {image: '{{ picture | file_base64 }}', scene: 'next {{ scene }}'}\n",
    )
      .replace('manifest: scenes.csv\n', "scenes: {from: pipeline.yaml, keep: 'score = 0.5'}\n")
      .replace('dir: out', 'dir: next');
    batch.write('next.yaml', stage);
    await batch
      .start('run', 'next.yaml')
      .exits(0)
      .warns('8 scenes have no result (8 wait) and are skipped here');
    expect(batch.service.inputs).toHaveLength(4 + 4);
    await batch.start('run', 'next.yaml').exits(0);
    expect(batch.service.inputs).toHaveLength(8);
  });

  it('a moved batch keeps the seeds of an earlier version that began it', async () => {
    const { service } = await halfDone();
    const batch = new Batch(service);
    execFileSync('tar', ['-xzf', join(root, 'test/fixtures/half-done/sweep.tgz'), '-C', batch.cwd]);
    const text = batch.read('pipeline.yaml');
    const plan = async (): Promise<unknown> => (await batch.plan('--json').exits(0).lines()).at(-1);
    const expected = {
      changes: { added: 0, changed: 0, unchanged: 8, withdrawn: 0 },
      counts: { waiting: 3, active: 2, saved: 3 },
    };
    expect(await plan()).toMatchObject(expected);
    for (const checkpoint of ['checkpoint: "${DATABASE_URL}"\n', '']) {
      batch.write('pipeline.yaml', text + checkpoint);
      await batch.verify('--move').exits(0);
      expect(await plan()).toMatchObject(expected);
    }
  });

  it('a move waits for no run: a batch that a run uses stays where it is', async () => {
    const batch = await halfDone();
    batch.setShared(true);
    await batch.verify('--move').exits(0);
    await batch.sql(
      `INSERT INTO ${batch.schema}.runners (run, lease_until) VALUES (99, now() + interval '1 minute')`,
    );
    batch.setShared(false);
    await batch.verify('--move').exits(11);
    await batch.sql(`UPDATE ${batch.schema}.runners SET lease_until = '-infinity'`);
    batch.setShared(true);
    await batch.run().exits(0);
    await batch.expectAllOnce();
  });
});

class Batch extends Night {
  readonly service: HttpService;
  readonly schema = `nightrender_moved_${process.pid}_${(batches += 1)}`;
  readonly address: string;

  constructor(service: HttpService) {
    super(folderWith({ 'scenes.csv': scenes(listed) }));
    this.service = service;
    this.address = `${server.url}?batch=${this.schema.slice('nightrender_'.length)}`;
    this.setShared(false);
  }

  text(more = ''): string {
    return pipeline(this.service.url, more).replace('  dir: out\n', '  dir: out\n  values: {score: score}\n');
  }

  setShared(isShared: boolean, address = '${DATABASE_URL}'): void {
    this.write('pipeline.yaml', this.text(isShared ? `checkpoint: "${address}"\n` : ''));
  }

  /** Like `start` of `Night`, with the URL of the database. */
  override start(...args: string[]): Started {
    return this.with({ env: { ...withKey.env, DATABASE_URL: this.address } }).start(...args);
  }

  /**
   * Returns the output of `list`. If `isThere` is set, it reads from the database although pipeline.yaml does
   * not name it.
   */
  async rows(isThere = false): Promise<unknown[]> {
    if (isThere) this.setShared(true);
    const rows = await this.list('--json').exits(0).warnsOnly('').lines();
    if (isThere) this.setShared(false);
    return rows;
  }

  async sql(statement: string): Promise<void> {
    const client = new pg.Client(server.url);
    await client.connect();
    await client.query(statement);
    await client.end();
  }

  async expectAllOnce(): Promise<void> {
    await this.expectEachOnRecord();
    expect(this.service.inputs.length).toBe(listed);
  }

  async expectEachOnRecord(): Promise<void> {
    expect(this.read('out/report/results.csv').match(/,saved,/g)).toHaveLength(listed);
    const rows = (await this.rows()) as { columns: { scene: string }; attempts: number }[];
    for (const { columns, attempts } of rows)
      expect(this.service.submissions().get(columns.scene) ?? 0).toBeLessThanOrEqual(attempts);
  }
}

async function halfDone(): Promise<Batch> {
  const output = [{ rendered_image: await blackPicture(), seed: 1, score: 0.5, labelled_words: ['buoy'] }];
  const service = await startStandIn({ plan: () => ({ executionMs: 10, end: () => completed(output) }) });
  const batch = new Batch(service);
  await batch.run('--limit', '4').exits(0);
  return batch;
}
