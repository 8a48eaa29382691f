/** Promise: `verify --move` moves a checkpoint to a database and back, complete, and a batch can never be worked on in both places. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noPostgres, startPostgres, type PostgresServer } from '../engines/postgres.ts';
import type { HttpService } from '../fakes/http-service.ts';
import {
  folderWith,
  inProcess,
  killedRun,
  linesOf,
  pipeline,
  root,
  scenes,
  withKey,
  type Finished,
} from './cli.ts';
import { blackPicture, completed, startSlowService, startStandIn } from './stand-ins.ts';

let server: PostgresServer;
let batches = 0;

const listed = 12;

describe.skipIf(noPostgres !== undefined)(`shared${noPostgres ? ` (skipped: ${noPostgres})` : ''}`, () => {
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  it('goes there and back: the same list, nothing is paid for twice, and each place goes on with it', async () => {
    const batch = await halfDone();
    const before = await batch.list();
    expect(before).toContainEqual(
      expect.objectContaining({
        pictures: [expect.objectContaining({ labelled_words: ['buoy'] })],
        columns: expect.objectContaining({ score: 0.5 }) as object,
      }),
    );
    batch.setShared(true);
    const refused = await batch.do('run');
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining('`nightrender verify pipeline.yaml --move`'),
    ]);
    const moved = await batch.do('verify', '--move', '--json');
    expect([moved.code, moved.stderr]).toEqual([0, '']);
    expect(linesOf(moved)).toEqual([
      expect.objectContaining({
        type: 'checkpoint-moved',
        from: 'out/checkpoint.sqlite.moved',
        scenes: listed,
      }),
    ]);
    expect(await batch.list()).toEqual(before);
    batch.setShared(false);
    expect(await batch.do('run')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('in a database') as string,
    });
    batch.setShared(true);
    expect((await batch.do('run', '--limit', '8')).code).toBe(0);
    batch.setShared(false);
    const unknown = await inProcess(['verify', 'pipeline.yaml', '--move'], { cwd: batch.cwd, ...withKey });
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('DATABASE_URL')]);
    const there = await batch.list(true);
    const saved = there.filter((row) => (row as { state: string }).state === 'saved');
    expect(saved.length).toBeGreaterThan(4);
    for (const row of saved) expect(row).toMatchObject({ columns: { score: 0.5 } });
    const back = await batch.do('verify', '--move');
    expect([back.code, back.stdout]).toEqual([0, expect.stringContaining('12 scenes')]);
    expect(await batch.list()).toEqual(there);
    expect((await batch.do('run')).code).toBe(0);
    await batch.expectAllOnce();
    batch.setShared(true);
    expect((await batch.do('run')).code).toBe(2);
    batch.setShared(false);
    const left = readdirSync(join(batch.cwd, 'out')).filter((name) => /moved|arriving/.test(name));
    expect(left).toEqual(['checkpoint.sqlite.moved']);
    // Moving once more changes nothing.
    const again = await batch.do('verify', '--move');
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('already there')]);
    expect((await batch.do('verify')).stdout).toContain(`good      ${listed}\n`);
  });

  it('takes along what a killed run has left in flight, and collects it there', async () => {
    const service = await startSlowService(1_500);
    const batch = new Batch(service);
    await killedRun(batch.cwd, 5);
    batch.setShared(true);
    expect((await batch.do('verify', '--move')).code).toBe(0);
    const run = await batch.do('run');
    expect([run.code, run.stderr]).toEqual([0, expect.stringContaining('are collected first')]);
    await batch.expectEachOnRecord();
  });

  it.each(['before', 'after'] as const)(
    'goes on where it died %s the file was put aside; until then the batch is in one place at most',
    async (when) => {
      const batch = await halfDone();
      batch.setShared(true);
      const before = join(batch.cwd, 'before');
      cpSync(join(batch.cwd, 'out'), before, { recursive: true });
      expect((await batch.do('verify', '--move')).code).toBe(0);
      // As the copy is before the last step.
      await batch.sql(
        `DO $$ BEGIN EXECUTE format('COMMENT ON SCHEMA ${batch.schema} IS %L', obj_description('${batch.schema}'::regnamespace) || ', arriving'); END $$`,
      );
      if (when === 'before') {
        rmSync(join(batch.cwd, 'out'), { recursive: true });
        renameSync(before, join(batch.cwd, 'out'));
      }
      const refused = await batch.do('run');
      expect([refused.code, refused.stderr]).toEqual([
        2,
        expect.stringContaining('`nightrender verify pipeline.yaml --move`'),
      ]);
      batch.setShared(false);
      // What the file has learnt since goes there too.
      const own = await batch.do('run', '--limit', '8');
      expect(own.code).toBe(when === 'before' ? 0 : 2);
      const known = when === 'before' ? await batch.list() : undefined;
      batch.setShared(true);
      expect((await batch.do('verify', '--move')).code).toBe(0);
      if (known !== undefined) expect(await batch.list()).toEqual(known);
      expect((await batch.do('run')).code).toBe(0);
      await batch.expectAllOnce();
    },
  );

  it('goes on where it died on the way back, and nobody can go on in the database meanwhile', async () => {
    const batch = await halfDone();
    batch.setShared(true);
    expect((await batch.do('verify', '--move')).code).toBe(0);
    batch.setShared(false);
    expect((await batch.do('verify', '--move')).code).toBe(0);
    // As it is before the file has its name.
    const file = join(batch.cwd, 'out/checkpoint.sqlite');
    renameSync(file, `${file}.arriving`);
    expect((await batch.do('run')).code).toBe(2);
    batch.setShared(true);
    expect(await batch.do('run')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('was moved to a checkpoint') as string,
    });
    batch.setShared(false);
    expect((await batch.do('verify', '--move')).code).toBe(0);
    expect(existsSync(`${file}.arriving`)).toBe(false);
    expect((await batch.do('run')).code).toBe(0);
    await batch.expectAllOnce();
  });

  it('takes nothing from a database that is not known as the one of this folder, nor over another batch', async () => {
    const [mine, other] = [await halfDone(), await halfDone()];
    for (const batch of [mine, other]) {
      batch.setShared(true);
      expect((await batch.do('verify', '--move')).code).toBe(0);
    }
    mine.setShared(false);
    const taken = await mine.do('verify', '--move', { DATABASE_URL: other.address });
    expect([taken.code, taken.stderr]).toEqual([2, expect.stringContaining('is the one of this folder')]);
    const third = await halfDone();
    third.setShared(true, other.address);
    const over = await third.do('verify', '--move');
    expect([over.code, over.stderr]).toEqual([2, expect.stringContaining('choose another name (?batch=')]);
    expect((await other.do('run')).code).toBe(0);
    await other.expectAllOnce();
  });

  it('goes on with a database of an earlier version, and keeps there what that did not know of', async () => {
    const batch = await halfDone();
    batch.setShared(true);
    expect((await batch.do('verify', '--move')).code).toBe(0);
    const { schema } = batch;
    await batch.sql(
      `ALTER TABLE ${schema}.pictures DROP COLUMN output; ALTER TABLE ${schema}.runs DROP COLUMN rules;
       ALTER TABLE ${schema}.attempts DROP COLUMN kept; ALTER TABLE ${schema}.account DROP COLUMN untimed;
       COMMENT ON SCHEMA ${schema} IS 'nightrender checkpoint, format 3'`,
    );
    // From a machine that has never seen it, before a run has brought it up to date.
    rmSync(join(batch.cwd, 'out/.shared'), { recursive: true });
    expect(await batch.do('status')).toMatchObject({ code: 0, stderr: '' });
    expect((await batch.do('run')).code).toBe(0);
    await batch.expectAllOnce();
    rmSync(join(batch.cwd, 'out/.shared'), { recursive: true });
    const list = (await batch.list()) as { pictures: { labelled_words?: string[] }[] }[];
    expect(list.filter(({ pictures }) => pictures[0]?.labelled_words?.[0] === 'buoy')).toHaveLength(
      listed - 4,
    );
  });

  it('is the list of a stage there as in a file', async () => {
    const batch = await halfDone();
    batch.setShared(true);
    expect((await batch.do('verify', '--move')).code).toBe(0);
    const stage = pipeline(
      batch.service.url,
      "input: {image: '{{ picture | file_base64 }}', scene: 'next {{ scene }}'}\n",
    )
      .replace('manifest: scenes.csv\n', "scenes: {from: pipeline.yaml, keep: 'score = 0.5'}\n")
      .replace('dir: out', 'dir: next');
    writeFileSync(join(batch.cwd, 'next.yaml'), stage);
    const env = { ...withKey.env, DATABASE_URL: batch.address };
    const start = () => inProcess(['run', 'next.yaml'], { cwd: batch.cwd, env });
    expect(await start()).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('8 scenes have no picture (8 wait) and are skipped here') as string,
    });
    expect(batch.service.inputs).toHaveLength(4 + 4);
    expect((await start()).code).toBe(0);
    expect(batch.service.inputs).toHaveLength(8);
  });

  it('keeps the seeds of a batch that an earlier version began', async () => {
    const { service } = await halfDone();
    const { cwd, schema, address } = new Batch(service);
    execFileSync('tar', ['-xzf', join(root, 'test/fixtures/half-done/sweep.tgz'), '-C', cwd]);
    const text = readFileSync(join(cwd, 'pipeline.yaml'), 'utf8');
    const env = { ...withKey.env, DATABASE_URL: address };
    const plan = async (): Promise<unknown> => {
      const { code, stdout, stderr } = await inProcess(['plan', 'pipeline.yaml', '--json'], { cwd, env });
      expect(code, stderr).toBe(0);
      return linesOf({ stdout }).at(-1);
    };
    const expected = {
      changes: { added: 0, changed: 0, unchanged: 8, withdrawn: 0 },
      counts: { waiting: 3, active: 2, saved: 3 },
    };
    expect(await plan()).toMatchObject(expected);
    for (const checkpoint of ['checkpoint: "${DATABASE_URL}"\n', '']) {
      writeFileSync(join(cwd, 'pipeline.yaml'), text + checkpoint);
      expect((await inProcess(['verify', 'pipeline.yaml', '--move'], { cwd, env })).code, schema).toBe(0);
      expect(await plan()).toMatchObject(expected);
    }
  });

  it('waits for no run: one that is at work keeps its batch where it is', async () => {
    const batch = await halfDone();
    batch.setShared(true);
    expect((await batch.do('verify', '--move')).code).toBe(0);
    await batch.sql(
      `INSERT INTO ${batch.schema}.runners (run, lease_until) VALUES (99, now() + interval '1 minute')`,
    );
    batch.setShared(false);
    expect((await batch.do('verify', '--move')).code).toBe(11);
    await batch.sql(`UPDATE ${batch.schema}.runners SET lease_until = '-infinity'`);
    batch.setShared(true);
    expect((await batch.do('run')).code).toBe(0);
    await batch.expectAllOnce();
  });
});

class Batch {
  readonly service: HttpService;
  readonly cwd: string;
  readonly schema = `nightrender_moved_${process.pid}_${(batches += 1)}`;
  readonly address: string;

  constructor(service: HttpService) {
    this.service = service;
    this.address = `${server.url}?batch=${this.schema.slice('nightrender_'.length)}`;
    this.cwd = folderWith({ 'pipeline.yaml': this.text(), 'scenes.csv': scenes(listed) });
  }

  text(more = ''): string {
    return pipeline(this.service.url, more).replace('  dir: out\n', '  dir: out\n  values: {score: score}\n');
  }

  setShared(isShared: boolean, address = '${DATABASE_URL}'): void {
    const text = this.text(isShared ? `checkpoint: "${address}"\n` : '');
    writeFileSync(join(this.cwd, 'pipeline.yaml'), text);
  }

  do(command: string, ...more: (string | Record<string, string>)[]): Promise<Finished> {
    const args = more.filter((each) => typeof each === 'string');
    const env = Object.assign({ ...withKey.env, DATABASE_URL: this.address }, ...more.slice(args.length));
    return inProcess([command, 'pipeline.yaml', ...args], {
      cwd: this.cwd,
      env: env as Record<string, string>,
    });
  }

  /** As `list` tells it; `isThere`: of the database, though pipeline.yaml does not have it. */
  async list(isThere = false): Promise<unknown[]> {
    if (isThere) this.setShared(true);
    const listing = await this.do('list', '--json');
    if (isThere) this.setShared(false);
    expect([listing.code, listing.stderr]).toEqual([0, '']);
    return linesOf(listing);
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
    const results = readFileSync(join(this.cwd, 'out/report/results.csv'), 'utf8');
    expect(results.match(/,saved,/g)).toHaveLength(listed);
    const rows = (await this.list()) as { columns: { scene: string }; attempts: number }[];
    for (const { columns, attempts } of rows)
      expect(this.service.submissions().get(columns.scene) ?? 0).toBeLessThanOrEqual(attempts);
  }
}

async function halfDone(): Promise<Batch> {
  const output = [{ rendered_image: await blackPicture(), seed: 1, score: 0.5, labelled_words: ['buoy'] }];
  const service = await startStandIn({ plan: () => ({ executionMs: 10, end: () => completed(output) }) });
  const batch = new Batch(service);
  const run = await batch.do('run', '--limit', '4');
  expect([run.code, run.stderr]).toEqual([0, expect.any(String)]);
  return batch;
}
