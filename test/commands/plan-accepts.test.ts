/**
 * Promise: `plan` accepts exactly what `run` accepts, rejects the rest with the same message, and changes
 * nothing in the folder.
 */
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
import * as fc from 'fast-check';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { plan } from '../../src/commands/plan.ts';
import { run } from '../../src/commands/run.ts';
import { editCheckpoint } from '../fakes/edit-checkpoint.ts';
import { heard } from './heard.ts';
import { firstTier, isWhole, runs } from '../fakes/tier.ts';

/** Accepts no job, so a run that begins ends at once. */
const service = createServer((_, response) => response.writeHead(401).end('{}'));
let url = '';

beforeAll(async () => {
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
});

afterAll(() => void service.close());

// A key in pipeline.yaml would cause a warning, which a run prints before it compares the list.
beforeEach(() => void vi.stubEnv('NIGHTRENDER_API_KEY', 'k'));
afterEach(() => void vi.unstubAllEnvs());

const good = {
  rows: ['a,sea', 'b,hills'],
  config: [] as string[],
  template: '',
  output: '{dir: out}',
  part: {} as Record<string, string>,
  folder: 'batch',
  ending: 'csv',
};

/** Each part is mostly valid, so that some combinations are accepted. */
function mostly<T>(fine: T[], wrong: T[]): fc.Arbitrary<T> {
  return fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...fine) },
    { weight: 1, arbitrary: fc.constantFrom(...wrong) },
  );
}

/** Settings, as lines of pipeline.yaml. */
const settings = fc
  .tuple(
    fc.constantFrom('', 'skipBadRows: true'),
    mostly(['', 'concurrency: 3'], ['concurrency: 0', 'concurency: 3']),
    mostly(['', 'limits: {cost: 1}\npricing: {perSecond: 0.1}'], ['limits: {cost: 1}']),
    mostly(
      ['', 'notify: [{command: "true"}]', 'notify: [{command: "touch told", on: [start, finish, halt]}]'],
      ['notify: [{command: "touch told", on: [strat]}]'],
    ),
    mostly([''], ['columns: {scene: json}', 'columns: {steps: number}']),
  )
  .map((lines) => lines.filter((line) => line !== ''));

/** `scenes` and `input`, as lines of pipeline.yaml. */
const templates = mostly(
  [
    '',
    'input: {scene: "{{ scene }}!"}',
    'scenes: {matrix: {style: [oil, ink]}}\ninput: {scene: "{{ scene }} {{ style }}"}',
    'scenes: {zip: {w: {file: values.txt}}, seeds: 2}\ninput: {scene: "{{ scene }} {{ w }}", seed: "{{ seed }}"}',
    'input: {scene: "{{ scene }}", photo: "{{ scene | file_base64 }}"}',
  ],
  [
    'input: {scene: "{{ mood }}"}',
    'input: {scene: "{{ scene"}',
    'scenes: {matrix: {style: [oil, ink]}}',
    'scenes: {matrix: {style: [1, 1.0]}}\ninput: {scene: "{{ scene }} {{ style }}"}',
    'scenes: {zip: {w: 1..2, h: [1]}}\ninput: {scene: "{{ scene }} {{ w }} {{ h }}"}',
    'scenes: {matrix: {w: {file: gone.txt}}}\ninput: {scene: "{{ scene }} {{ w }}"}',
    'input: {scene: "{{ scene }}", photo: "{{ scene | file_base64 }}"}\nlimits: {body: 20kB}',
  ],
);

const outputs = mostly(
  ['{dir: out}', '{dir: out, formats: [{format: webp}], metadata: sidecar}'],
  ['{dir: out, formats: [webp]}', '{dir: out, name: "{{ mood }}.png"}'],
);

const parts = mostly<Record<string, string>>(
  [{}, { limit: '1' }, { sample: '50%' }],
  [{ limit: '0' }, { sample: '101%' }],
);

const oneRow = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom('sea', 'hills')).map(String),
  },
  { weight: 1, arbitrary: fc.constantFrom('', 'only one column', ',no id', 'a,"never closed', 'x,y,z') },
);

const rows = fc.oneof(fc.constant(good.rows), fc.array(oneRow, { maxLength: 4 }));

type Change = (out: string) => void;

/** Changes of the output folder. `batch` leaves the batch that a run has begun. */
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
  'an older checkpoint': (out) =>
    change(
      out,
      'ALTER TABLE runs DROP COLUMN stats; ALTER TABLE attempts DROP COLUMN checksum; ALTER TABLE runs DROP COLUMN boot; ALTER TABLE runs DROP COLUMN process_started; ALTER TABLE scenes DROP COLUMN seed; DROP TABLE commits; PRAGMA user_version = 3',
    ),
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

firstTier.it.each(Object.keys(folders))(
  'plan and run agree on a good list in a folder with: %s',
  async (folder) => {
    await compare({ ...good, folder });
  },
);

firstTier.it.each(['parquet', 'json', 'csv.zst'])(
  'plan and run agree on a good list as .%s, which both accept',
  async (ending) => {
    expect(await compare({ ...good, ending })).toBe(true);
  },
);

it('plan and run agree whatever the file, the list and the folder contain', async () => {
  const folder = mostly(['none', 'batch', 'empty', 'another list'], Object.keys(folders));
  const ending = mostly(['csv', 'parquet', 'json', 'csv.zst'], ['missing']);
  const given = fc.record({
    rows,
    config: settings,
    template: templates,
    output: outputs,
    part: parts,
    folder,
    ending,
  });
  let accepted = 0;
  const property = fc.asyncProperty(given, async (each) => void (accepted += Number(await compare(each))));
  const numRuns = runs(100, { ms: 140, weight: 3 });
  await fc.assert(property, { numRuns });
  // With few cases, all may be rejected by chance.
  if (isWhole) expect(accepted).toBeGreaterThan(numRuns / 40);
}, 240_000);

/** Resolves to true if both commands accept the batch. */
async function compare(given: typeof good): Promise<boolean> {
  const { rows: list, config, template, output, part, folder, ending } = given;
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-test-'));
  try {
    const file = join(dir, 'pipeline.yaml');
    const endpoint = `endpoint: {baseUrl: "${url}", id: e}`;
    writeFileSync(file, `${endpoint}\noutput: {dir: out}\nmanifest: list.csv\n`);
    writeFileSync(join(dir, 'sea'), 'a photo');
    writeFileSync(join(dir, 'hills'), 'a large photo'.repeat(2_000));
    writeFileSync(join(dir, 'values.txt'), 'x\ny\n');
    writeList(dir, 'csv', good.rows);
    await heard(() => run(file, { quiet: true }));
    folders[folder]?.(join(dir, 'out'));
    const lines = [endpoint, `output: ${output}`, `manifest: list.${ending}`, template, ...config];
    writeFileSync(file, lines.join('\n'));
    writeList(dir, ending, list);
    const before = traceOf(dir);
    const planned = await heard(() => plan(file, { requests: '0', ...part }));
    expect(traceOf(dir)).toEqual(before);
    const ran = await heard(() => run(file, { quiet: true, ...part }));
    expect(planned.code === 2).toBe(ran.code === 2);
    if (ran.code === 2) expect(planned.said).toBe(ran.said);
    else expect(planned.code).toBe(0);
    return ran.code !== 2;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function writeList(dir: string, ending: string, list: string[]): void {
  const csv = `id,scene\n${list.join('\n')}\n`;
  const objects = list.map((row) => ({ id: row.split(',')[0] ?? '', scene: row.split(',')[1] ?? '' }));
  const columnData = ['id', 'scene'].map((name, i) => ({
    name,
    data: list.map((row) => row.split(',')[i] ?? ''),
    type: 'STRING' as const,
  }));
  const contents: Record<string, () => string | Uint8Array> = {
    csv: () => csv,
    json: () => JSON.stringify(objects),
    parquet: () => new Uint8Array(parquetWriteBuffer({ columnData })),
    'csv.zst': () => storedAsZstd(csv),
  };
  const content = contents[ending]?.();
  if (content !== undefined) writeFileSync(join(dir, `list.${ending}`), content);
}

/** Returns a zstd frame with an uncompressed block, because nothing in the project writes zstd. */
function storedAsZstd(text: string): Buffer {
  const bytes = Buffer.from(text);
  const size = Buffer.alloc(4);
  size.writeUInt32LE(bytes.length);
  const block = Buffer.alloc(4);
  block.writeUInt32LE(bytes.length * 8 + 1);
  return Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xa0]), size, block.subarray(0, 3), bytes]);
}

/** Returns every file with its content and modification time. */
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
  editCheckpoint(out, sql);
  expect(existsSync(`${checkpointIn(out)}-wal`)).toBe(false);
}
