/** Promise: `plan` accepts exactly what `run` accepts, refuses the rest in the same words, and leaves no trace in the folder. */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { plan } from '../../src/commands/plan.ts';
import { run } from '../../src/commands/run.ts';

/** Takes no job, so that a run which begins ends at once. */
const service = createServer((_, response) => response.writeHead(401).end('{}'));
let url = '';

beforeAll(async () => {
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
});

afterAll(() => void service.close());

const good = { rows: ['a,sea', 'b,hills'], config: [] as string[], folder: 'batch', ending: 'csv' };

/** Settings, each as lines of the file; the first of each is good. */
const settings = fc
  .tuple(
    fc.constantFrom('', 'skipBadRows: true'),
    fc.constantFrom('', 'concurrency: 3', 'concurrency: 0', 'concurency: 3'),
    fc.constantFrom(
      '',
      'input: {scene: "{{ scene }}!"}',
      'input: {scene: "{{ mood }}"}',
      'input: {scene: "{{ scene"}',
    ),
    fc.constantFrom('', '', 'limits: {cost: 1}', 'limits: {cost: 1}\npricing: {perSecond: 0.1}'),
  )
  .map((lines) => lines.filter((line) => line !== ''));

const rows = fc.array(
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom('sea', 'hills')).map(String),
    },
    { weight: 1, arbitrary: fc.constantFrom('', 'only one column', ',no id', 'a,"never closed', 'x,y,z') },
  ),
  { maxLength: 4 },
);

type Change = (out: string) => void;

/** What may be found in the folder; `batch` is one that a run has begun. */
const folders: Record<string, Change> = {
  none: (out) => rmSync(out, { recursive: true }),
  batch: () => undefined,
  empty: (out) => {
    rmSync(out, { recursive: true });
    mkdirSync(out);
  },
  'garbage for a checkpoint': (out) => writeFileSync(checkpointIn(out), 'this is no database'.repeat(1_000)),
  'an empty file for a checkpoint': (out) => writeFileSync(checkpointIn(out), ''),
  'an empty file for a checkpoint of pictures': (out) => {
    writeFileSync(checkpointIn(out), '');
    writeFileSync(join(out, 'images/a.png'), 'a');
  },
  'pictures without a checkpoint': (out) => {
    rmSync(checkpointIn(out));
    writeFileSync(join(out, 'images/a.png'), 'a');
  },
  'a newer checkpoint': (out) => change(out, 'PRAGMA user_version = 99'),
  'an older checkpoint': (out) => change(out, 'ALTER TABLE runs DROP COLUMN stats; PRAGMA user_version = 3'),
  'another program’s file': (out) => change(out, 'PRAGMA application_id = 7'),
  'a damaged page': (out) => {
    const bytes = readFileSync(checkpointIn(out));
    writeFileSync(checkpointIn(out), bytes.fill(0xff, 3 * 4096 + 20, 3 * 4096 + 900));
  },
  'jobs in flight elsewhere': (out) =>
    change(
      out,
      `INSERT INTO attempts (scene, number, run, state, base_url, endpoint_id, version, job_id, intended_at, submitted_at)
       SELECT scene, attempts + 1, 1, 'submitted', 'http://elsewhere.example', 'e', 'v2', 'job-1', 1, 1 FROM scenes LIMIT 1`,
    ),
  'garbage for a lock': (out) =>
    writeFileSync(join(out, '.lock.sqlite'), 'this is no database'.repeat(1_000)),
  'another list': (out) => change(out, "DELETE FROM scenes WHERE id = 'b' AND attempts = 0"),
};

it.each(Object.keys(folders))('of a good list in a folder with: %s', async (folder) => {
  await compare({ ...good, folder });
});

it('whatever the file, the list and the folder say', async () => {
  const folder = fc.constantFrom(...Object.keys(folders));
  const ending = fc.constantFrom('csv', 'csv', 'csv', 'missing');
  await fc.assert(fc.asyncProperty(fc.record({ rows, config: settings, folder, ending }), compare), {
    numRuns: 60,
  });
}, 120_000);

async function compare({ rows: list, config, folder, ending }: typeof good): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-test-'));
  try {
    const file = join(dir, 'pipeline.yaml');
    const base = `endpoint: {baseUrl: "${url}", id: e, apiKey: k}\noutput: {dir: out}\nmanifest: list`;
    writeFileSync(file, `${base}.csv\n`);
    writeFileSync(join(dir, 'list.csv'), `id,scene\n${good.rows.join('\n')}\n`);
    await heard(() => run(file, { quiet: true }, undefined));
    folders[folder]?.(join(dir, 'out'));
    writeFileSync(file, [`${base}.${ending}`, ...config].join('\n'));
    writeFileSync(join(dir, 'list.csv'), `id,scene\n${list.join('\n')}\n`);
    const before = traceOf(dir);
    const planned = await heard(() => plan(file, { requests: '0' }));
    expect(traceOf(dir)).toEqual(before);
    const ran = await heard(() => run(file, { quiet: true }, undefined));
    expect(planned.code === 2).toBe(ran.code === 2);
    if (ran.code === 2) expect(planned.said).toBe(ran.said);
    else expect(planned.code).toBe(0);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** The exit code and all that was said. */
async function heard(work: () => Promise<number>): Promise<{ code: number; said: string }> {
  const said: string[] = [];
  const hear = (text: unknown): boolean => said.push(String(text)) > 0;
  const ears = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, 'write').mockImplementation(hear),
  );
  try {
    return { code: await work(), said: said.join('') };
  } finally {
    for (const ear of ears) ear.mockRestore();
  }
}

/** Every file with its bytes and when it was changed. */
function traceOf(dir: string): string[] {
  const names = readdirSync(dir, { recursive: true, encoding: 'utf8' }).toSorted();
  return names.map((name) => {
    const stats = statSync(join(dir, name), { bigint: true });
    const bytes = stats.isFile()
      ? createHash('sha256')
          .update(readFileSync(join(dir, name)))
          .digest('hex')
      : '';
    return `${name} ${stats.mtimeNs} ${stats.mode} ${bytes}`;
  });
}

function checkpointIn(out: string): string {
  return join(out, 'checkpoint.sqlite');
}

function change(out: string, sql: string): void {
  const db = new Sqlite(checkpointIn(out));
  db.exec(sql);
  db.close();
  expect(existsSync(`${checkpointIn(out)}-wal`)).toBe(false);
}
