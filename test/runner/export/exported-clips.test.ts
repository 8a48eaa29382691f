/**
 * Promise: an export contains clips byte for byte, in formats that other programs read, and never loads a
 * large clip into memory.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { parquetReadObjects, parquetMetadata } from 'hyparquet';
import { expect, it } from 'vitest';
import { type ClipFacts, clipValues } from '../../../src/runner/core/clip.ts';
import { ExportFolder, type ExportKind } from '../../../src/runner/export/export-folder.ts';
import {
  type ExportedPicture,
  type ExportPorts,
  type Medium,
  mediumOf,
} from '../../../src/runner/export/checked-pictures.ts';
import { exportPictures } from '../../../src/runner/export/export-pictures.ts';
import { folderPlace } from '../../../src/runner/images/folder-place.ts';
import { folderWith } from '../../e2e/cli.ts';
import { clip } from '../../fakes/clips.ts';

const large = 17_000_000;

interface Made {
  images: string;
  pictures: ExportedPicture[];
}

/** Creates a large and a small video, an animated GIF and a sound file in the folder of a batch. */
function clips(): Made {
  const images = join(folderWith({}), 'images');
  mkdirSync(images);
  const made = (
    file: string,
    content: Buffer,
    [width, height]: [number, number],
    facts: ClipFacts,
  ): ExportedPicture => {
    writeFileSync(join(images, file), content);
    return {
      id: file.replace(/\.\w+$/, ''),
      scene: file.replace(/\.\w+$/, ''),
      file,
      name: file,
      path: `images/${file}`,
      width,
      height,
      bytes: content.length,
      sha256: sha256Of(content),
      prompt: 'Waves',
      seed: null,
      endpoint: null,
      attempts: 1,
      cost: null,
      columns: { codecs: 'of the list' },
      values: {},
      caption: 'Waves at dusk',
      clip: clipValues(facts),
    };
  };
  const pictures = [
    made('waves.mp4', clip('MP4', { bytes: large }), [64, 48], {
      durationMs: 1_500,
      frameRate: 8,
      codecs: ['h264'],
    }),
    made('hills.webm', clip('WebM'), [64, 48], { durationMs: 1_000, codecs: ['vp8'] }),
    made('fox.gif', clip('GIF'), [64, 48], {}),
    made('gulls.wav', clip('WAV'), [0, 0], { durationMs: 1_000, codecs: ['pcm_s16le'], isEndOpen: true }),
  ];
  return { images, pictures };
}

function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

interface Exported {
  dir: string;
  written: number;
  bad: string[];
}

/** Exports the clips into the folder. Fails if a large clip is read at once. */
async function exported(
  to: ExportKind,
  { images, pictures }: Made,
  {
    dir = join(folderWith({}), 'set'),
    isEmbedded = false,
    isCleaned = false,
    ...more
  }: { dir?: string; isEmbedded?: boolean; isCleaned?: boolean; maxShardBytes?: number } = {},
): Promise<Exported> {
  const place = folderPlace(images);
  const folder = await ExportFolder.open(dir, { batch: '1', to, options: {} });
  const result: Exported = { dir, written: 0, bad: [] };
  const ports: ExportPorts = {
    read: ({ file, bytes }) =>
      bytes >= large ? Promise.reject(new Error(`${file} was read at once`)) : place.read(file),
    fetch: ({ file }, path, isPassing = false) => place.fetch(file, path, isPassing),
    isCopy: false,
    cleaned: isCleaned ? () => Buffer.from('cleaned') : undefined,
    gallery: { thumbnail: async () => undefined, textOf: () => '', page: async () => '' },
    onBad: ({ file }, { kind }) => void result.bad.push(`${file}: ${kind}`),
    onDone: (_pictures, written) => {
      result.written += written;
    },
  };
  const media = new Set<Medium>(pictures.map(mediumOf));
  const choice = { shard: 10, salt: '', numeric: [], isEmbedded, media, ...more };
  await exportPictures(folder, to, pictures, ports, choice);
  await folder.finish();
  return result;
}

function linesOf(path: string): unknown[] {
  return readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}

it('makes a folder of clips with their metadata, and writes only new files', async () => {
  const made = clips();
  const { dir, written } = await exported('imagefolder', made);
  expect(written).toBe(4);
  for (const { name, sha256 } of made.pictures) expect(sha256Of(readFileSync(join(dir, name)))).toBe(sha256);
  expect(linesOf(join(dir, 'metadata.jsonl'))).toMatchObject([
    {
      file_name: 'waves.mp4',
      id: 'waves',
      codecs: 'of the list',
      duration_s: 1.5,
      frame_rate: 8,
      'output.codecs': ['h264'],
      end_open: false,
    },
    { file_name: 'hills.webm', frame_rate: null },
    { file_name: 'fox.gif', duration_s: null, 'output.codecs': null },
    { file_name: 'gulls.wav', end_open: true },
  ]);
  truncateSync(join(dir, 'waves.mp4'), large - 1);
  expect(await exported('imagefolder', made, { dir })).toMatchObject({ written: 1, bad: [] });
  expect(sha256Of(readFileSync(join(dir, 'waves.mp4')))).toBe(made.pictures[0]?.sha256);
});

it('puts a caption beside each clip', async () => {
  const { dir } = await exported('captions', clips());
  expect(
    readdirSync(dir)
      .filter((name) => !name.startsWith('.'))
      .toSorted(),
  ).toEqual([
    'fox.gif',
    'fox.txt',
    'gulls.txt',
    'gulls.wav',
    'hills.txt',
    'hills.webm',
    'waves.mp4',
    'waves.txt',
  ]);
  expect(readFileSync(join(dir, 'waves.txt'), 'utf8')).toBe('Waves at dusk');
});

it('cleans no clip for a gallery, because only pictures can be cleaned', async () => {
  const made = clips();
  const { dir } = await exported('gallery', made, { isCleaned: true });
  for (const { name, sha256 } of made.pictures)
    expect(sha256Of(readFileSync(join(dir, 'pictures', name)))).toBe(sha256);
});

it('leaves out clips that are damaged or missing, large or small, and nothing of them stays', async () => {
  const made = clips();
  const other = Buffer.alloc(large, 'x');
  writeFileSync(join(made.images, 'waves.mp4'), other);
  rmSync(join(made.images, 'fox.gif'));
  for (const kind of ['imagefolder', 'webdataset'] as const) {
    const { dir, bad } = await exported(kind, made);
    expect(bad).toEqual(['waves.mp4: damaged', 'fox.gif: missing']);
    expect(existsSync(join(dir, 'waves.mp4'))).toBe(false);
    expect(readdirSync(dir).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  }
});

const python = spawnSync('python3', ['--version']).status === 0;

it('a shard ends at its number of bytes, if it contains the clips', async () => {
  const made = clips();
  const maxShardBytes = large;
  const shards = async (to: ExportKind, isEmbedded = false) => {
    const { dir } = await exported(to, made, { isEmbedded, maxShardBytes });
    return readdirSync(dir).filter((name) => /\.(tar|parquet)$/.test(name));
  };
  const { dir } = await exported('webdataset', made, { maxShardBytes });
  const counts = ['00000', '00001'].map(
    (name) => JSON.parse(readFileSync(join(dir, `${name}_stats.json`), 'utf8')) as unknown,
  );
  expect(counts).toMatchObject([{ count: 1 }, { count: 3 }]);
  // Keys go on from shard to shard.
  expect(readFileSync(join(dir, '00001.tar')).toString('latin1', 0, 14)).toBe('000000001.webm');
  expect(await shards('parquet', true)).toHaveLength(2);
  expect(await shards('parquet')).toHaveLength(1);
});

it.skipIf(!python)('tar files have the extensions of the clips (skipped without python3)', async () => {
  const made = clips();
  const { dir } = await exported('webdataset', made);
  const script = `
import hashlib, json, sys, tarfile
t = tarfile.open(sys.argv[1])
print(json.dumps([[m.name, hashlib.sha256(t.extractfile(m).read()).hexdigest()] for m in t]))`;
  const members = JSON.parse(
    execFileSync('python3', ['-c', script, join(dir, '00000.tar')], { encoding: 'utf8' }),
  ) as [string, string][];
  expect(members.filter(([name]) => !/\.(txt|json)$/.test(name))).toEqual(
    made.pictures.map(({ name, sha256 }, i) => [`00000000${i}${/\.\w+$/.exec(name)?.[0]}`, sha256]),
  );
  expect(members).toHaveLength(12);
});

it('tables have the facts of clips, and the clips only on request', async () => {
  const { images, pictures } = clips();
  const videos: Made = { images, pictures: pictures.slice(0, 3) };
  const read = async (dir: string) => {
    const bytes = readFileSync(join(dir, 'part-00000.parquet'));
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
    const { key_value_metadata: metadata = [] } = parquetMetadata(file);
    return { rows: await parquetReadObjects({ file, utf8: false }), metadata };
  };
  const bare = await read((await exported('parquet', videos)).dir);
  expect(bare.rows).toMatchObject([
    { path: 'images/waves.mp4', duration_s: 1.5, frame_rate: 8, codecs: ['h264'], end_open: false },
    { duration_s: 1, frame_rate: null },
    { duration_s: null, codecs: null },
  ]);
  expect(Object.keys(bare.rows[0] ?? {})).not.toContain('video');
  const full = await read((await exported('parquet', videos, { isEmbedded: true })).dir);
  expect(full.metadata).toEqual([
    { key: 'huggingface', value: '{"info":{"features":{"video":{"_type":"Video"}}}}' },
  ]);
  const contents = full.rows.map((row) => row['video'] as { bytes: Uint8Array; path: string });
  expect(contents.map(({ bytes }) => sha256Of(bytes))).toEqual(videos.pictures.map(({ sha256 }) => sha256));
  const sound = await read(
    (await exported('parquet', { images, pictures: pictures.slice(3) }, { isEmbedded: true })).dir,
  );
  expect(sound.metadata).toMatchObject([{ value: '{"info":{"features":{"audio":{"_type":"Audio"}}}}' }]);
  // The library has no feature type for both video and sound.
  const mixed = await read((await exported('parquet', { images, pictures }, { isEmbedded: true })).dir);
  expect(mixed.metadata).toEqual([]);
  expect(mixed.rows.map((row) => (row['file'] as { path: string }).path)).toEqual(
    pictures.map(({ name }) => name),
  );
});
