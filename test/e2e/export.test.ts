/**
 * Promise: other software can read what `export` writes. It contains every saved picture unchanged, and names
 * missing ones.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import sharp from 'sharp';
import { expect, it } from 'vitest';
import { ExportFolder } from '../../src/runner/export/export-folder.ts';
import { firstTier, isWhole, random, sampled } from '../fakes/tier.ts';
import { folderWith, type Night, nightWith, pipeline } from './cli.ts';
import { completed, startStandIn } from './stand-ins.ts';

const count = 7;
const styles = ['ink', 'oil "thick"', 'Aquarell, naß'];

interface Batch {
  night: Night;
  /** Returns the saved pictures, in the order of the list. */
  saved(): Promise<{ id: string; file: string; sha256: string; bytes: number }[]>;
}

/**
 * Creates a batch with seven scenes, one of them in a subfolder. Each has a score and a price. The last scene
 * fails, and a row is invalid.
 */
async function batch(formats = ''): Promise<Batch> {
  const pngs = await Promise.all(Array.from({ length: count }, (_, number) => picture(number)));
  const service = await startStandIn({
    plan: ({ scene }) => {
      const number = Number(/\d+/.exec(JSON.stringify(scene))?.[0]);
      if (number === count) return { end: () => ({ status: 'FAILED', error: 'out of paint' }) };
      return { end: () => completed([{ rendered_image: pngs[number], seed: number, score: number / 10 }]) };
    },
  });
  const rows = Array.from(
    { length: count + 1 },
    (_, i) => `s${i},Hills ${i},"${(styles[i % 3] ?? '').replaceAll('"', '""')}",${i * 2}`,
  );
  const more =
    'input: {scene: "{{ scene }}", style: "{{ style }}"}\nretry: {attempts: 1}\npricing: {perPicture: 0.25}\ncolumns: {guidance: number}\n';
  const output = `  dir: out\n  name: "{{ style }}/{{ id }}.png"\n  values: {score: score}\n${formats}`;
  const night = nightWith({
    'pipeline.yaml': pipeline(service.url, more).replace('  dir: out\n', output),
    'scenes.csv': `id,scene,style,guidance\n${rows.join('\n')}\n`,
  });
  await night.run('--quiet').exits(3);
  return batchIn(night);
}

/**
 * Creates a batch with three seeds for each of two prompts. The width of each picture depends on its seed
 * number.
 */
async function seededBatch(sent = '{{ prompt }}'): Promise<Batch> {
  const pngs = await Promise.all([0, 1, 2, 3].map(picture));
  const service = await startStandIn({
    plan: ({ n, seed }) => ({ end: () => completed([{ rendered_image: pngs[Number(n)], seed }]) }),
  });
  const more = `input: {prompt: "${sent}", seed: "{{ seed }}", n: "{{ seed_number }}"}\nscenes: {seeds: 3}\n`;
  const night = nightWith({
    'pipeline.yaml': pipeline(service.url, more),
    'scenes.csv': 'id,prompt\na,Hills\nb,Lake\n',
  });
  await night.run('--quiet').exits(0);
  return batchIn(night);
}

let ended: string | undefined;

/** Returns a copy of a finished batch, which is run once per process. Its service no longer runs. */
async function endedBatch(): Promise<Batch> {
  if (ended === undefined) {
    const dir = mkdtempSync(join(tmpdir(), 'nightrender-ended-'));
    process.once('exit', () => rmSync(dir, { recursive: true, force: true }));
    cpSync((await batch()).night.cwd, dir, { recursive: true, preserveTimestamps: true });
    ended = dir;
  }
  const night = nightWith({});
  cpSync(ended, night.cwd, { recursive: true, preserveTimestamps: true });
  return batchIn(night);
}

function batchIn(night: Night): Batch {
  type Row = { id: string; pictures: { file: string; sha256: string; bytes: number }[] };
  const saved = async () =>
    (await night.list('--state', 'saved', '--json').lines<Row>()).flatMap(({ id, pictures }) =>
      pictures.map((each) => ({ id, ...each, file: each.file.replace(/^images\//, '') })),
    );
  return { night, saved };
}

/** Returns a PNG as base64. */
async function picture(number: number): Promise<string> {
  const one = sharp({
    create: { width: 32 + number, height: 24, channels: 3, background: { r: number * 30, g: 9, b: 90 } },
  });
  return (await one.png().toBuffer()).toString('base64');
}

function filesIn(dir: string): Record<string, string> {
  const names = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((name) =>
    statSync(join(dir, name)).isFile(),
  );
  return Object.fromEntries(names.toSorted().map((name) => [name, sha256Of(readFileSync(join(dir, name)))]));
}

function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

async function query(sql: string): Promise<Record<string, unknown>[]> {
  const connection = await (await DuckDBInstance.create()).connect();
  try {
    return (await connection.runAndReadAll(sql)).getRowObjectsJson();
  } finally {
    connection.closeSync();
  }
}

firstTier.it('makes a folder of pictures with their metadata, which DuckDB reads', async () => {
  const { night, saved } = await endedBatch();
  await night
    .do('export', 'set', '--to', 'imagefolder')
    .exits(
      0,
      /^7 pictures in set, as imagefolder: 7 written now \(\d+ kB\)\.\n1 scene has no picture: 1 failed\. They are listed in set\/missing\.jsonl\.\n$/,
    )
    .warnsOnly('');
  const pictures = await saved();
  const files = filesIn(night.path('set'));
  for (const { file, sha256 } of pictures) expect(files[file]).toBe(sha256);
  expect(Object.keys(files).filter((name) => !name.endsWith('.png'))).toEqual([
    '.nightrender-export.files',
    '.nightrender-export.json',
    'metadata.jsonl',
    'missing.jsonl',
  ]);
  const text = readFileSync(night.path('set/metadata.jsonl'), 'utf8');
  expect(text).toMatch(/^(\{"file_name":"[^\n]+\}\n){7}$/);
  const rows = await query(`SELECT * FROM read_json('${night.path('set/metadata.jsonl')}')`);
  expect(rows.map((row) => [row['id'], row['file_name']])).toEqual(
    pictures.map(({ id, file }) => [id, file]),
  );
  expect(rows[1]).toMatchObject({
    prompt: 'Hills 1',
    scene: 'Hills 1',
    style: 'oil "thick"',
    seed: '1',
    score: 0.1,
    guidance: '2',
  });
  expect(JSON.parse(readFileSync(night.path('set/missing.jsonl'), 'utf8'))).toEqual({
    id: 's7',
    state: 'failed',
    failure: { kind: 'job-failed', text: expect.stringContaining('out of paint') as unknown },
    source: 'scenes.csv:9',
  });
});

firstTier.it('writes a text beside each picture, from a template', async () => {
  const { night, saved } = await endedBatch();
  await night
    .do('export', 'set', '--to', 'captions', '--caption', '{{ prompt }}, {{ style }} {{ score }}')
    .exits(0);
  for (const { file, id } of await saved()) {
    const style = file.startsWith('oil') ? styles[1] : file.startsWith('ink') ? styles[0] : styles[2];
    expect(readFileSync(night.path('set', file.replace(/png$/, 'txt')), 'utf8')).toBe(
      `Hills ${id.slice(1)}, ${style} ${Number(id.slice(1)) / 10}`,
    );
  }
  await night.do('export', 'set', '--to', 'captions').exits(0);
  expect(readFileSync(night.path('set/ink/s0.txt'), 'utf8')).toBe('Hills 0');
});

firstTier.it(
  'makes a gallery to send: pictures without prompts and jobs, on a page without failures and paths',
  async () => {
    const { night, saved } = await batch('  metadata: embed\n  formats: [{format: webp}]\n');
    const pictures = await saved();
    // Some users make their paid pictures read-only.
    for (const { file } of pictures) chmodSync(night.path('out/images', file), 0o444);
    await night
      .do('export', 'set', '--to', 'gallery')
      .exits(
        0,
        /^7 pictures in set, as gallery: 7 written now \(\d+ kB\)\.\n1 scene has no picture: 1 failed\. The gallery does not mention them\.\n$/,
      );
    const made = Object.keys(filesIn(night.path('set')));
    expect(made.filter((name) => !name.startsWith('pictures/'))).toEqual([
      '.nightrender-export.files',
      '.nightrender-export.json',
      'index.html',
    ]);
    const [, url = ''] = /baseUrl: (\S+)/.exec(night.read('pipeline.yaml')) ?? [];
    const [{ jobId } = { jobId: '' }] = await night.list('--json').lines<{ jobId: string }>();
    const secrets = [night.cwd, url, jobId, 'Hills', 'out of paint', 'pipeline.yaml'];
    expect(secrets).not.toContain('');
    await night.do('export', 'copies', '--to', 'gallery', '--copy', 'webp').exits(0);
    for (const set of ['set', 'copies'])
      for (const name of Object.keys(filesIn(night.path(set))))
        for (const secret of secrets)
          expect(readFileSync(night.path(set, name), 'latin1'), name).not.toContain(secret);
    // The exported bytes are those that the service sent.
    for (const [number, { file, sha256 }] of pictures.entries()) {
      const bare = readFileSync(night.path('set/pictures', file));
      expect(bare.toString('base64')).toBe(await picture(number));
      expect(sha256Of(bare)).not.toBe(sha256);
      // If the copy were read-only like its picture, its metadata could not be removed.
      expect(statSync(night.path('set/pictures', file)).mode & 0o200).not.toBe(0);
    }

    await night.do('export', 'all', '--to', 'gallery', '--with-metadata').exits(0);
    for (const { file, sha256 } of pictures)
      expect(sha256Of(readFileSync(night.path('all/pictures', file)))).toBe(sha256);
    expect(night.read('all/index.html')).toContain('"text":"Hills 1"');
    await night.do('export', 'all', '--to', 'gallery', '--caption', '{{ style }}').exits(0);
    expect(night.read('all/index.html')).toContain('"text":"ink"');
    expect(night.read('all/index.html')).not.toContain('Hills');
    await night
      .do('export', 'x', '--to', 'captions', '--with-metadata')
      .fails(2, '--with-metadata: captions');
  },
);

const python = spawnSync('python3', ['--version']).status === 0;

firstTier.describe('as a WebDataset', () => {
  it('has shards that tar reads: keys in order, pictures byte for byte', async () => {
    const { night, saved } = await endedBatch();
    await night.do('export', 'set', '--to', 'webdataset', '--shard', '3').exits(0);
    const pictures = await saved();
    const listed = [0, 1, 2].map((n) =>
      execFileSync('tar', ['tf', night.path(`set/0000${n}.tar`)], { encoding: 'utf8' }),
    );
    expect(listed.join('').trim().split('\n')).toEqual(
      pictures.flatMap((_, i) => ['png', 'json', 'txt'].map((end) => `00000000${i}.${end}`)),
    );
    const into = folderWith({});
    for (const n of [0, 1, 2]) execFileSync('tar', ['xf', night.path(`set/0000${n}.tar`), '-C', into]);
    for (const [i, { sha256, id, file }] of pictures.entries()) {
      expect(sha256Of(readFileSync(join(into, `00000000${i}.png`)))).toBe(sha256);
      expect(JSON.parse(readFileSync(join(into, `00000000${i}.json`), 'utf8'))).toMatchObject({
        file_name: file,
        id,
      });
      expect(readFileSync(join(into, `00000000${i}.txt`), 'utf8')).toBe(`Hills ${i}`);
    }
    expect(
      execFileSync('tar', ['tvf', night.path('set/00000.tar')], { encoding: 'utf8', env: { TZ: 'UTC' } }),
    ).toMatch(/^(-rw-r--r-- 0\/0 +\d+ 1970-01-01 00:00 \S+\n){9}$/);
    expect(JSON.parse(readFileSync(night.path('set/00002_stats.json'), 'utf8'))).toEqual({
      count: 1,
      bytes: pictures[6]?.bytes,
      left_out: 0,
    });
  });

  it.skipIf(!python)("has shards that Python's tarfile reads (skipped without python3)", async () => {
    const { night, saved } = await endedBatch();
    await night.do('export', 'set', '--to', 'webdataset').exits(0);
    const script = `
import hashlib, json, sys, tarfile
t = tarfile.open(sys.argv[1])
print(json.dumps([[m.name, m.mode, m.uid, m.mtime, m.isreg(), hashlib.sha256(t.extractfile(m).read()).hexdigest()] for m in t]))`;
    const members = JSON.parse(
      execFileSync('python3', ['-c', script, night.path('set/00000.tar')], { encoding: 'utf8' }),
    ) as unknown[][];
    const pngs = members.filter(([name]) => String(name).endsWith('.png'));
    expect(pngs).toEqual(
      (await saved()).map(({ sha256 }, i) => [`00000000${i}.png`, 0o644, 0, 0, true, sha256]),
    );
    expect(members).toHaveLength(3 * count);
  });
});

firstTier.it('makes tables that DuckDB reads, with the counts and sums of the report', async () => {
  const { night, saved } = await endedBatch();
  await night.do('export', 'set', '--to', 'parquet', '--shard', '3').exits(0);
  const all = `read_parquet('${night.path('set')}/*.parquet')`;
  const pictures = await saved();
  const summary = JSON.parse(readFileSync(night.path('out/report/summary.json'), 'utf8')) as {
    pictures: { files: number; bytes: number };
    cost: { spent: number };
  };
  expect(
    await query(
      `SELECT count(*)::INT AS n, sum(bytes)::INT AS bytes, sum(cost) AS cost, sum(score) AS score FROM ${all}`,
    ),
  ).toEqual([
    {
      n: summary.pictures.files,
      bytes: summary.pictures.bytes,
      cost: summary.cost.spent,
      score: expect.closeTo(2.1) as unknown,
    },
  ]);
  const rows = await query(`SELECT * FROM ${all}`);
  expect(rows.map((row) => [row['id'], row['path'], row['sha256']])).toEqual(
    pictures.map(({ id, file, sha256 }) => [id, `images/${file}`, sha256]),
  );
  expect(rows[2]).toMatchObject({ prompt: 'Hills 2', seed: '2', attempts: 1, score: 0.2, guidance: 4 });
  expect(
    await query(`SELECT columns->>'style' AS style, values->>'score' AS score FROM ${all} LIMIT 1 OFFSET 2`),
  ).toEqual([{ style: styles[2], score: '0.2' }]);
});

firstTier.it(
  'puts the pictures into a table as an Image column of Hugging Face, checked, and the number of a seed as an integer',
  async () => {
    const { night, saved } = await seededBatch();
    const pictures = await saved();
    const [gone = { file: '' }] = pictures.splice(3, 1);
    renameSync(night.path('out/images', gone.file), night.path('gone.png'));
    await night
      .do('export', 'set', '--to', 'parquet', '--embed')
      .exits(3, '5 pictures in set')
      .warnsOnly(`${gone.file} (scene b-s1): it is missing\n`);
    const table = `'${night.path('set/part-00000.parquet')}'`;
    const rows = await query(
      `SELECT id, image.path AS path, sha256(image.bytes) AS sha256, seed_number FROM read_parquet(${table})`,
    );
    expect(rows).toEqual(
      pictures.map(({ id, file, sha256 }) => ({ id, path: file, sha256, seed_number: /\d$/.exec(id)?.[0] })),
    );
    // `datasets` treats the struct as a picture only if this metadata names it and no field is required.
    const metadata = `SELECT decode(value) AS value FROM parquet_kv_metadata(${table}) WHERE decode(key) = 'huggingface'`;
    const [feature] = await query(metadata);
    expect(JSON.parse(String(feature?.['value']))).toEqual({
      info: { features: { image: { _type: 'Image' } } },
    });
    const schema = `SELECT name, type, repetition_type AS repeated, num_children AS children, converted_type AS kind FROM parquet_schema(${table})`;
    const columns = await query(schema);
    const at = columns.findIndex(({ name }) => name === 'image');
    expect(columns.slice(at, at + 3)).toEqual([
      { name: 'image', type: null, repeated: 'OPTIONAL', children: '2', kind: null },
      { name: 'bytes', type: 'BYTE_ARRAY', repeated: 'OPTIONAL', children: null, kind: null },
      { name: 'path', type: 'BYTE_ARRAY', repeated: 'OPTIONAL', children: null, kind: 'UTF8' },
    ]);
    expect(columns.find(({ name }) => name === 'seed_number')).toMatchObject({ type: 'INT64' });
    renameSync(night.path('gone.png'), night.path('out/images', gone.file));
    await night.do('export', 'set', '--to', 'parquet', '--embed').exits(0, '6 written now');
    await night.do('export', 'set', '--to', 'parquet', '--embed').exits(0, '6 as they were');
  },
);

firstTier.it('names the files by a template: portable, unique, with the ending of the file', async () => {
  const { night, saved } = await endedBatch();
  const named = (...args: string[]) =>
    night.do('export', 'set', ...args, '--name', '{{ style }} {{ prompt | slice: 0 }}');
  const first = ['ink H', 'oil -thick- H', 'Aquarell, naß H'];
  const expected = Array.from({ length: count }, (_, i) => {
    const nth = Math.floor(i / 3);
    return `${first[i % 3]}${nth === 0 ? '' : `-${nth + 1}`}`;
  });
  const pictures = await saved();
  await named('--to', 'imagefolder').exits(0);
  for (const [i, { sha256 }] of pictures.entries())
    expect(sha256Of(readFileSync(night.path('set', `${expected[i]}.png`)))).toBe(sha256);
  const lines = readFileSync(night.path('set/metadata.jsonl'), 'utf8').trim().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { file_name: string }).file_name)).toEqual(
    expected.map((name) => `${name}.png`),
  );
  await named('--to', 'imagefolder').exits(0, '7 as they were');
  // Changed names leave no old files, even if two pictures swap names.
  const swap = (one: string, other: string) =>
    night.do(
      'export',
      'set',
      '--to',
      'imagefolder',
      '--where',
      "id = 's0' or id = 's1'",
      '--name',
      `{% if id == 's0' %}${one}{% else %}${other}{% endif %}`,
    );
  await swap('a', 'b').exits(0);
  const before = filesIn(night.path('set'));
  await swap('b', 'a').exits(0, '2 written now');
  expect(filesIn(night.path('set'))).toMatchObject({ 'a.png': before['b.png'], 'b.png': before['a.png'] });
  await night.do('export', 'texts', '--to', 'captions', '--name', 'all/../{{ index }}.PNG').exits(0);
  expect(Object.keys(filesIn(night.path('texts/all/unnamed')))).toEqual(
    expect.arrayContaining(['1.png', '1.txt', '1-2.png', '1-7.txt']),
  );
  await night.do('export', 'tar', '--to', 'webdataset', '--name', '{{ id }}-{{ seed }}').exits(0);
  const json = execFileSync('tar', ['xOf', night.path('tar/00000.tar'), '000000001.json'], {
    encoding: 'utf8',
  });
  expect(JSON.parse(json)).toMatchObject({ file_name: 's1-1.png' });
  await night.do('export', 'album', '--to', 'gallery', '--name', '{{ id }} {{ style }}').exits(0);
  expect(readdirSync(night.path('album/pictures'))).toContain('s0 ink.png');
  expect(readFileSync(night.path('album/index.html'), 'utf8')).toContain('pictures/s0 ink.png');
});

firstTier.it('does not repeat a prompt or a seed that the list has too', async () => {
  const { night } = await seededBatch();
  await night.do('export', 'set', '--to', 'imagefolder').exits(0);
  const [line = ''] = readFileSync(night.path('set/metadata.jsonl'), 'utf8').split('\n');
  expect(JSON.parse(line)).toEqual({
    file_name: 'a-s1.png',
    id: 'a-s1',
    prompt: 'Hills',
    seed: expect.stringMatching(/^\d+$/) as string,
    seed_number: 1,
  });
  // As soon as one picture differs, every line has both keys, because all lines have the same keys.
  const { night: other } = await seededBatch("{% if id == 'a' %}Mountains{% else %}{{ prompt }}{% endif %}");
  await other.do('export', 'set', '--to', 'webdataset').exits(0);
  const json = execFileSync('tar', ['xOf', other.path('set/00000.tar'), '000000003.json'], {
    encoding: 'utf8',
  });
  expect(JSON.parse(json)).toMatchObject({ prompt: 'Lake', 'manifest.prompt': 'Lake' });
});

it.each(sampled(['imagefolder', 'captions', 'webdataset', 'parquet', 'gallery'], { ms: 400 }))(
  'writes %s identically again, and after an edit only the changes',
  async (to) => {
    const { night } = await batch();
    const exported = async (dir: string, ...more: string[]) =>
      (
        await night
          .do(
            'export',
            dir,
            '--to',
            to,
            '--json',
            ...(['webdataset', 'parquet'].includes(to) ? ['--shard', '2'] : []),
            ...more,
          )
          .lines<{ written: number; pictures: number }>()
      ).at(-1);
    expect(await exported('set')).toMatchObject({
      pictures: 7,
      written: 7,
      missing: { failed: 1 },
      exitCode: 0,
    });
    const first = filesIn(night.path('set'));
    expect(await exported('set')).toMatchObject({ pictures: 7, written: 0 });
    expect(filesIn(night.path('set'))).toEqual(first);
    // The page of a gallery is named after its folder.
    await exported('other/set');
    expect(filesIn(night.path('other/set'))).toEqual(first);

    writeFileSync(
      night.path('scenes.csv'),
      readFileSync(night.path('scenes.csv'), 'utf8').replace('Hills 4', 'Hills 5'),
    );
    await night.run('--quiet');
    writeFileSync(night.path('set/README.md'), 'mine');
    const isSharded = ['webdataset', 'parquet'].includes(to);
    expect(await exported('set')).toMatchObject({ pictures: 7, written: isSharded ? 2 : 1 });
    // With fewer pictures, the files of the others are removed.
    expect(await exported('set', '--where', 'guidance < 3')).toMatchObject({ pictures: 2 });
    await exported('few/set', '--where', 'guidance < 3');
    const { 'README.md': mine, ...left } = filesIn(night.path('set'));
    expect(mine).toBe(sha256Of(Buffer.from('mine')));
    expect(left).toEqual(filesIn(night.path('few/set')));
  },
);

firstTier.it.each(['imagefolder', 'webdataset'])(
  'names a picture that is not as it was saved, exports all others, and takes it when it is back: %s',
  async (to) => {
    const { night, saved } = await endedBatch();
    const [whole = { file: '' }, changed = { file: '' }, gone = { file: '' }] = await saved();
    const good = readFileSync(night.path('out/images', changed.file));
    appendFileSync(night.path('out/images', changed.file), 'x');
    rmSync(night.path('out/images', gone.file));
    await night
      .do('export', 'set', '--to', to)
      .exits(3, '5 pictures in set', '2 saved pictures are missing or damaged, and not in it')
      .warnsOnly(
        `${changed.file} (scene s1): its bytes are not those that were saved (sha256)\n${gone.file} (scene s2): it is missing\n`,
      );
    const lacking = readFileSync(night.path('set/missing.jsonl'), 'utf8').trim().split('\n');
    expect(lacking.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(['s7', 's1', 's2']);
    if (to === 'imagefolder') {
      expect([whole, changed, gone].map(({ file }) => existsSync(night.path('set', file)))).toEqual([
        true,
        false,
        false,
      ]);
      expect(readFileSync(night.path('set/metadata.jsonl'), 'utf8').split('\n')).toHaveLength(6);
    } else {
      const names = execFileSync('tar', ['tf', night.path('set/00000.tar')], { encoding: 'utf8' });
      expect(names).toMatch(/^000000000\.png\n[^]*000000000\.txt\n000000003\.png/);
    }
    writeFileSync(night.path('out/images', changed.file), good);
    const events = await night.do('export', 'set', '--to', to, '--json').lines();
    expect(events).toMatchObject([
      { type: 'picture-missing', scene: 's2' },
      { type: 'exported', pictures: 6, bad: 1, exitCode: 3 },
    ]);
  },
);

firstTier.it('exports copies, and links', async () => {
  const { night, saved } = await batch('  formats: [{format: webp}, {format: jpeg, size: 16}]\n');
  await night.do('export', 'set', '--to', 'imagefolder', '--copy', 'webp').exits(0);
  const [first = { file: '' }] = await saved();
  const copy = first.file.replace(/png$/, 'webp');
  expect(readFileSync(night.path('set', copy)).equals(readFileSync(night.path('out/images', copy)))).toBe(
    true,
  );
  await night.do('export', 'small', '--to', 'webdataset', '--copy', '16.jpg').exits(0);
  expect(execFileSync('tar', ['tf', night.path('small/00000.tar')], { encoding: 'utf8' })).toMatch(
    /^000000000\.jpg\n/,
  );
  await night.do('export', 'linked', '--to', 'captions', '--link').exits(0);
  expect(statSync(night.path('linked', first.file)).ino).toBe(
    statSync(night.path('out/images', first.file)).ino,
  );
  await night.do('export', 'linked', '--to', 'captions', '--where', 'id = "none"').exits(0);
  await night.verify().exits(0);
});

firstTier.it('refuses a folder that is not its own, and options that do not fit', async () => {
  const [mine, others] = [(await endedBatch()).night, (await batch()).night];
  await mine.do('export', 'set', '--to', 'captions');
  mine.write('file', '');
  const refusals: [Night, string[], string][] = [
    [mine, ['set', '--to', 'imagefolder'], 'set: holds an export as something else; choose'],
    [others, [mine.path('set'), '--to', 'captions'], 'set: holds an export of another batch'],
    [mine, ['out', '--to', 'captions'], 'out: holds other files'],
    [mine, ['file', '--to', 'captions'], 'file: is not a folder'],
    [mine, ['new'], '--to: it is missing; expected one of imagefolder'],
    [mine, ['new', '--to', 'parket'], '--to: "parket" is not a kind of export; did you mean parquet?'],
    [
      mine,
      ['new', '--to', 'parquet', '--copy', 'webp'],
      '--copy: parquet contains no pictures or clips without --embed',
    ],
    [
      mine,
      ['new', '--to', 'parquet', '--name', '{{ id }}'],
      '--name: parquet contains no pictures or clips without',
    ],
    [mine, ['new', '--to', 'captions', '--embed'], '--embed: captions has the pictures in any case'],
    [
      mine,
      ['new', '--to', 'captions', '--name', '{{ stile }}'],
      '--name: there is no column "stile"; did you mean style?',
    ],
    [mine, ['new', '--to', 'captions', '--name', '{{ style'], '--name: {{ without }}'],
    [
      mine,
      ['new', '--to', 'captions', '--copy', 'webp'],
      '--copy: there is no copy "webp"; output.formats has none',
    ],
    [mine, ['new', '--to', 'parquet', '--link'], '--link: parquet has no files to link'],
    [mine, ['new', '--to', 'imagefolder', '--caption', 'x'], '--caption: imagefolder has no captions'],
    [
      mine,
      ['new', '--to', 'captions', '--caption', '{{ stile }}'],
      '--caption: there is no column "stile"; did you mean style?',
    ],
    [
      mine,
      ['new', '--to', 'webdataset', '--shard', '0'],
      '--shard: 0 is given; expected a whole number from 1',
    ],
    [mine, ['new', '--to', 'captions', '--where', 'stile = 1'], '--where: "stile" at character 1'],
  ];
  for (const [night, args, said] of refusals) await night.do('export', ...args).fails(2, said);
  expect(mine.has('new')).toBe(false);
});

firstTier.it('says that the record of an export is damaged, and changes nothing', async () => {
  const { night } = await endedBatch();
  await night.do('export', 'set', '--to', 'captions');
  const record = night.path('set/.nightrender-export.json');
  const whole = readFileSync(record, 'utf8');
  for (const damage of ['', whole.slice(0, 40), '\0'.repeat(90), '[]', '{"shards": {}}']) {
    writeFileSync(record, damage);
    const before = filesIn(night.path('set'));
    await night
      .do('export', 'set', '--to', 'captions')
      .fails(2, /^set: its \.nightrender-export\.json is damaged, .* delete this one if it is/);
    expect(filesIn(night.path('set'))).toEqual(before);
  }
});

firstTier.it('rewrites a shard if its record or the list of files is damaged', async () => {
  const { night } = await endedBatch();
  const exported = () => night.do('export', 'set', '--to', 'webdataset', '--shard', '4', '--json');
  await exported();
  const whole = filesIn(night.path('set'));
  const record = night.path('set/.nightrender-export.json');
  const { shards, ...identity } = JSON.parse(readFileSync(record, 'utf8')) as { shards: object };
  const [first = ''] = Object.keys(shards);
  for (const [damaged, written] of [
    [undefined, 7],
    [5, 7],
    [{ ...shards, [first]: null }, 4],
    [{ ...shards, [first]: { digest: 'x', files: 3 } }, 4],
  ] as const) {
    writeFileSync(record, JSON.stringify({ ...identity, shards: damaged }));
    writeFileSync(night.path('set/.nightrender-export.files'), `${Object.keys(whole).join('\n')}\n\0\n.\n`);
    expect((await exported().lines()).at(-1)).toMatchObject({ pictures: 7, written, exitCode: 0 });
    const after = {
      ...filesIn(night.path('set')),
      '.nightrender-export.json': whole['.nightrender-export.json'],
    };
    expect(after).toEqual(whole);
    expect((await exported().lines()).at(-1)).toMatchObject({ pictures: 7, written: 0 });
  }
});

firstTier.it('removes and overwrites nothing behind a link to another folder', async () => {
  const { night } = await endedBatch();
  const exported = (...more: string[]) => night.do('export', 'set', '--to', 'captions', ...more);
  await exported();
  // The subfolder was moved to another disk and replaced by a link.
  renameSync(night.path('set/ink'), night.path('elsewhere'));
  symlinkSync(night.path('elsewhere'), night.path('set/ink'));
  const moved = filesIn(night.path('elsewhere'));
  await exported().exits(0).warnsOnly('');
  await exported('--where', "style <> 'ink'")
    .exits(0)
    .warns(/^6 files of an earlier export, such as ink\/s0\.\w+, stayed in set: a link leads/);
  expect(filesIn(night.path('elsewhere'))).toEqual(moved);
  // This file belongs to the user.
  writeFileSync(night.path('elsewhere/s0.png'), 'mine');
  await exported().fails(
    2,
    /^set: ink in it is a link to another folder, .*; put a folder in place of the link/,
  );
  expect(readFileSync(night.path('elsewhere/s0.png'), 'utf8')).toBe('mine');
  // An export through a link to its own folder works as usual.
  rmSync(night.path('set/ink'));
  symlinkSync(night.path('set'), night.path('linked'));
  await night.do('export', 'linked', '--to', 'captions', '--where', 'guidance = 0').exits(0).warnsOnly('');
  expect(readdirSync(night.path('set'), { recursive: true })).toContain('ink/s0.txt');
  expect(readdirSync(night.path('set'), { recursive: true })).not.toContain('ink/s3.txt');
});

firstTier.it('keeps two exports into one folder apart, and leaves no lock behind', async () => {
  const { night } = await endedBatch();
  const dir = night.path('set');
  // A kill left the lock file, and a disk fault damaged it.
  mkdirSync(dir);
  writeFileSync(join(dir, '.nightrender-export.lock'), 'damaged');
  const other = await ExportFolder.open(dir, { batch: 'another', to: 'parquet', options: {} });
  const held = readdirSync(dir).filter((name) => name.includes('lock'));
  const { code, stderr } = await night.do('export', 'set', '--to', 'parquet');
  // The error about the owner of the folder precedes the one about the lock.
  expect([code, stderr]).toEqual([2, expect.stringContaining('holds an export of another batch')]);
  rmSync(join(dir, '.nightrender-export.json'));
  rmSync(join(dir, '.nightrender-export.files'));
  await night
    .do('export', 'set', '--to', 'parquet')
    .exits(11)
    .warnsOnly(
      `another export is writing into ${dir}; it is not affected. Wait until it has ended, then give the same command again.\n`,
    );
  expect(readdirSync(dir)).toEqual(held);
  other.close();
  await night.do('export', 'set', '--to', 'parquet').exits(0);
  expect(readdirSync(dir).filter((name) => name.includes('lock'))).toEqual([]);
});

it.each(sampled(['imagefolder', 'webdataset', 'captions', 'parquet', 'gallery'], { ms: 6_000 }))(
  'an export is right after a kill at any point: %s',
  async (to) => {
    const { night } = await endedBatch();
    const args = [
      'export',
      'pipeline.yaml',
      'set',
      '--to',
      to,
      ...(['webdataset', 'parquet'].includes(to) ? ['--shard', '2'] : []),
    ];
    await night.do('export', 'whole/set', ...args.slice(3));
    const whole = filesIn(night.path('whole/set'));
    let kills = 0;
    const set = night.path('set');
    const states = night.path('states');
    const preload = join(folderWith({ 'kill.cjs': killer }), 'kill.cjs');
    const killAt = 2 + random(8);
    const env = {
      NODE_OPTIONS: `--require=${preload}`,
      CHANGES_BELOW: set,
      ...(isWhole ? { STATES: states } : { KILL_AT: String(killAt) }),
    };
    const { code } = await night.with({ env }).built(...args);
    expect(code).toBe(isWhole ? 0 : null);
    for (const call of isWhole ? readdirSync(states) : [String(killAt)]) {
      if (isWhole) {
        rmSync(set, { recursive: true });
        renameSync(join(states, call), set);
      }
      if (Number(call) % 2 === 0)
        await night.do('export', 'set', ...args.slice(3), '--where', 'guidance > 3');
      await night.do('export', 'set', ...args.slice(3)).exits(0);
      expect(filesIn(set), `killed before call ${call}`).toEqual(whole);
      kills += 1;
    }
    expect(kills).toBeGreaterThan(0);
  },
  300_000,
);

/**
 * Kills the process before its call number KILL_AT that changes something in a folder. Without KILL_AT, it
 * copies the folder before each such call, because a kill at that moment would leave the same files.
 */
const killer = `
const fs = require('node:fs');
const { CHANGES_BELOW: folder, KILL_AT: killAt, STATES: states } = process.env;
const { cpSync, existsSync } = fs;
let calls = 0;
const at = (path) => {
  if (!String(path).startsWith(folder)) return;
  calls += 1;
  if (calls === Number(killAt)) process.kill(process.pid, 'SIGKILL');
  if (states && existsSync(folder)) cpSync(folder, states + '/' + calls, { recursive: true, preserveTimestamps: true });
};
for (const name of ['openSync', 'renameSync', 'appendFileSync', 'rmSync', 'mkdirSync']) {
  const call = fs[name];
  fs[name] = (path, ...more) => { if (name !== 'openSync' || more[0] !== 'r') at(path); return call(path, ...more); };
}
for (const name of ['copyFile', 'open', 'rename']) {
  const call = fs.promises[name];
  fs.promises[name] = (path, ...more) => { at(name === 'copyFile' ? more[0] : path); return call(path, ...more); };
}
require('node:module').syncBuiltinESMExports();
`;
