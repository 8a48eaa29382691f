/**
 * Promise: metadata that is too large for one file is split, each part beside its pictures, and parts that
 * are no longer needed are removed.
 */
import { createHash } from 'node:crypto';
import { existsSync, linkSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ExportFolder } from '../../../src/runner/export/export-folder.ts';
import type { ExportedPicture, Medium } from '../../../src/runner/export/checked-pictures.ts';
import { exportPictures } from '../../../src/runner/export/export-pictures.ts';
import { folderWith } from '../../e2e/cli.ts';

const contentOf = (id: string): Buffer => Buffer.from(`picture ${id}`);

function picture(id: string): ExportedPicture {
  const content = contentOf(id);
  return {
    id,
    scene: id,
    file: `${id}.png`,
    name: `${id}.png`,
    path: `images/${id}.png`,
    width: 1,
    height: 1,
    bytes: content.length,
    sha256: createHash('sha256').update(content).digest('hex'),
    prompt: 'Hills',
    seed: null,
    endpoint: null,
    attempts: 1,
    cost: null,
    columns: {},
    values: {},
    caption: 'Hills',
  };
}

it('an export has a folder for each file of metadata after the first', async () => {
  const dir = join(folderWith({}), 'set');
  const exported = async (maxMetadataBytes: number): Promise<void> => {
    const folder = await ExportFolder.open(dir, { batch: '1', to: 'imagefolder', options: {} });
    const ports = {
      read: ({ id }: ExportedPicture) => Promise.resolve(contentOf(id)),
      fetch: ({ id }: ExportedPicture, to: string) => {
        writeFileSync(to, contentOf(id));
        return Promise.resolve(true);
      },
      isCopy: false,
      cleaned: undefined,
      gallery: { thumbnail: async () => undefined, textOf: () => '', page: async () => '' },
      onBad: () => undefined,
      onDone: () => undefined,
    };
    const pictures = ['a', 'b', 'c', 'd', 'e'].map(picture);
    await exportPictures(folder, 'imagefolder', pictures, ports, {
      shard: 1,
      salt: '',
      numeric: [],
      isEmbedded: false,
      media: new Set<Medium>(),
      maxMetadataBytes,
    });
    await folder.finish();
  };
  const idsIn = (part: string): string[] =>
    readFileSync(join(dir, part, 'metadata.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { file_name: string }).file_name);
  const lineBytes = JSON.stringify({ file_name: 'a.png', id: 'a', prompt: 'Hills', seed: null }).length + 1;
  await exported(2 * lineBytes);
  expect(['', 'part-00001', 'part-00002'].map(idsIn)).toEqual([
    ['a.png', 'b.png'],
    ['c.png', 'd.png'],
    ['e.png'],
  ]);
  expect(readFileSync(join(dir, 'part-00002/e.png'))).toEqual(contentOf('e'));
  await exported(5 * lineBytes);
  expect(idsIn('')).toHaveLength(5);
  expect(existsSync(join(dir, 'part-00001'))).toBe(false);
});

it('an export removes no file that has the name of a kept one on a disk that ignores case', async () => {
  const dir = join(folderWith({}), 'set');
  const folder = await ExportFolder.open(dir, { batch: 'b', to: 'imagefolder', options: {} });
  folder.begin(['Dawn.png', 'dusk.png', 'dawn.png']);
  await folder.write('dawn.png', 'new');
  // On such a disk both names are one file. A hard link has the same effect.
  linkSync(join(dir, 'dawn.png'), join(dir, 'Dawn.png'));
  await folder.write('dusk.png', 'old');
  folder.keep('dawn.png');
  await folder.finish();
  expect(
    readdirSync(dir)
      .filter((name) => name.endsWith('.png'))
      .toSorted(),
  ).toEqual(['Dawn.png', 'dawn.png']);
});
