/**
 * Promise: with `{{ photo | file_base64 }}`, a list can send only files of its folder, and the checkpoint
 * stores only their path, size and checksum.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../../../src/runner/config/read-config.ts';
import { filesIn, type SentFile, withFilesNamed, withoutPaths } from '../../../src/runner/core/file-text.ts';
import type { JsonObject } from '../../../src/lib/text/json.ts';
import { fingerprintOf } from '../../../src/runner/core/scene.ts';
import { problemsOf, tempFolder, withRequired } from './pipeline-file.ts';

const photo = Buffer.from('not much of a photo');

/** Creates a folder with `night/pipeline.yaml`, a photo in `night/photos` and a secret outside of `night`. */
function folderOf(
  input: string,
  more = '',
): { folder: string; render: (row: JsonObject, known?: SentFile) => JsonObject } {
  const outer = tempFolder();
  const folder = join(outer, 'night');
  mkdirSync(join(folder, 'photos'), { recursive: true });
  writeFileSync(join(folder, 'photos/a.jpg'), photo);
  writeFileSync(join(outer, 'secret'), 'key');
  writeFileSync(join(folder, 'pipeline.yaml'), withRequired(`input: ${input}\n${more}`));
  const render = (row: JsonObject, known?: SentFile): JsonObject => {
    const template = readConfig(join(folder, 'pipeline.yaml'), [], {}).input;
    if (template === undefined) throw new Error('no input');
    return template.render(row, known);
  };
  return { folder, render };
}

const plain = '{scene: "{{ scene }}", image: "{{ photo | file_base64 }}"}';
const row = { scene: 'hills', photo: 'photos/a.jpg' };
const described = {
  path: 'photos/a.jpg',
  sha256: createHash('sha256').update(photo).digest('hex'),
  bytes: photo.length,
};

it('a scene stores path and checksum of the file, and no content', () => {
  expect(folderOf(plain).render(row)).toEqual({ scene: 'hills', image: { $file_base64: [described] } });
});

it('the placeholder may stand anywhere in a text, several times, and is shown in words', () => {
  const input =
    '{scene: x, to: ["data:image/jpeg;base64,{{ photo | strip | file_base64 }};{% assign p = photo | file_base64 %}{{ p }}"]}';
  const rendered = folderOf(input).render(row);
  expect(rendered['to']).toEqual([{ $file_base64: ['data:image/jpeg;base64,', described, ';', described] }]);
  expect(withFilesNamed(rendered)).toEqual({
    scene: 'x',
    to: ['data:image/jpeg;base64,<photos/a.jpg, 28 bytes as base64>;<photos/a.jpg, 28 bytes as base64>'],
  });
  expect(filesIn(rendered)).toEqual([described, described]);
});

it('a file is left out if the template leaves it out', () => {
  const input = '{scene: "{{ scene }}", image: "{% if photo %}{{ photo | file_base64 }}{% endif %}"}';
  expect(folderOf(input).render({ scene: 'x', photo: null })).toEqual({ scene: 'x', image: '' });
});

it('an edited file makes another scene, and a moved one the same', () => {
  const { folder, render } = folderOf(plain);
  const print = (photoPath: string): string =>
    fingerprintOf(withoutPaths(render({ ...row, photo: photoPath })));
  const before = print('photos/a.jpg');
  renameSync(join(folder, 'photos/a.jpg'), join(folder, 'b.jpg'));
  expect(print('b.jpg')).toBe(before);
  writeFileSync(join(folder, 'b.jpg'), Buffer.from('not much of a phot0'));
  expect(print('b.jpg')).not.toBe(before);
});

describe('a list may have no file sent', () => {
  it.each([['../secret'], ['photos/../../secret'], ['/etc/passwd'], ['link'], ['linked/secret']])(
    'from outside of the folder of pipeline.yaml: %s',
    (path) => {
      const { folder, render } = folderOf(plain);
      symlinkSync('../secret', join(folder, 'link'));
      symlinkSync('..', join(folder, 'linked'));
      expect(() => render({ ...row, photo: path })).toThrow(
        `${JSON.stringify(path)} leads out of the folder of pipeline.yaml, and a list may send only files from there`,
      );
    },
  );

  it.each([
    ['.env', 'is hidden'],
    ['.secrets/key.txt', 'is hidden'],
    ['also-env', 'is hidden'],
    ['pipeline.yaml', 'belongs to the batch itself'],
    ['renders/checkpoint.sqlite', 'belongs to the batch itself'],
  ])('with a secret: %s', (path, why) => {
    const { folder, render } = folderOf(plain);
    mkdirSync(join(folder, 'renders'));
    mkdirSync(join(folder, '.secrets'));
    for (const file of ['.env', '.secrets/key.txt', 'renders/checkpoint.sqlite'])
      writeFileSync(join(folder, file), 'secret');
    symlinkSync('.env', join(folder, 'also-env'));
    expect(() => render({ ...row, photo: path })).toThrow(
      `${JSON.stringify(path)} ${why}, and a list may not have it sent`,
    );
  });

  it('by imitating the description of a file', () => {
    const forged = { deep: [{ $file_base64: [{ ...described, path: '../secret' }] }] };
    const { render } = folderOf('{scene: "{{ scene }}", meta: "{{ meta }}"}');
    expect(() => render({ scene: 'x', meta: forged })).toThrow('the key $file_base64 is reserved');
  });

  it('from a folder that stands in a column', () => {
    expect(problemsOf(withRequired('input: {image: "{{ photo | file_base64: dir }}"}'))).toEqual([
      expect.stringContaining('write the folder of file_base64 in quotes'),
    ]);
  });
});

it('the template may name another folder, and the list stays within that one', () => {
  const { folder, render } = folderOf(`{scene: x, image: "{{ photo | file_base64: '../elsewhere' }}"}`);
  mkdirSync(join(folder, '../elsewhere'));
  writeFileSync(join(folder, '../elsewhere/a.jpg'), photo);
  expect(render({ photo: 'a.jpg' })['image']).toEqual({
    $file_base64: [{ ...described, path: '../elsewhere/a.jpg' }],
  });
  expect(() => render({ photo: '../secret' })).toThrow('leads out of ../elsewhere');
});

it.each<[string, JsonObject, string]>([
  ['is not there', { photo: 'photos/b.jpg' }, '"photos/b.jpg" is not there (looked for in '],
  ['is below a file', { photo: 'photos/a.jpg/b' }, 'is not there (looked for in '],
  ['is a folder', { photo: 'photos' }, '"photos" is not a file'],
  ['is empty', { photo: 'empty' }, '"empty" is empty'],
  ['has no path', { photo: ' ' }, 'file_base64 needs the path of a file'],
  ['has a number for a path', { photo: 5 }, 'file_base64 needs the path of a file'],
  ['has an escape sequence in its path', { photo: '\u001B[2J' }, '"\\u001b[2J" is not there'],
  ['has a NUL in its path', { photo: 'a\0b' }, 'cannot be read'],
  ['is too large', { photo: 'large' }, '"large" takes 1.3 kB as base64; `limits.body` allows 1.0 kB'],
])('a row is bad whose file %s', (_, given, problem) => {
  const { folder, render } = folderOf(plain, 'limits: {body: 1kB}');
  writeFileSync(join(folder, 'empty'), '');
  writeFileSync(join(folder, 'large'), 'x'.repeat(1000));
  expect(() => render({ ...row, ...given })).toThrow(problem);
});

it.each([
  ['photos\\a.jpg', '; did you mean photos/a.jpg? Here, folders are separated by / and not by \\'],
  [
    'photos/cafe\u0301.jpg',
    '; did you mean photos/caf\u00e9.jpg? Its name is in composed Unicode (NFC) on this disk, and in decomposed Unicode (NFD) here',
  ],
])('the problem of %j names the file that is there', (path, hint) => {
  const { folder, render } = folderOf(plain);
  writeFileSync(join(folder, 'photos/caf\u00e9.jpg'), photo);
  expect(() => render({ ...row, photo: path })).toThrow(`is not there (looked for in ${folder})${hint}`);
});

it('a row is bad if its files together are too large', () => {
  const { folder, render } = folderOf(
    '{a: "{{ a | file_base64 }}", b: "{{ a | file_base64 }}"}',
    'limits: {body: 1kB}',
  );
  writeFileSync(join(folder, 'half'), 'x'.repeat(500));
  expect(() => render({ a: 'half' })).toThrow(
    'what it sends in 2 files takes 1.3 kB as base64; `limits.body` allows 1.0 kB',
  );
});

it.each([
  ['s3://night/a.mp4', '. Or send its address, if the service can read the bucket: {{ picture }}'],
  [
    'images/a.mp4',
    '. Or keep the pictures of the batch before in a bucket (`output.pictures`), and send its address',
  ],
])('a stage says how a clip of the batch before that is too large can be sent: %s', (picture, advice) => {
  const { render } = folderOf('{scene: x, clip: "{{ picture | file_base64 }}"}', 'limits: {body: 1kB}');
  const known = { path: picture, sha256: 'ab', bytes: 2_000_000_000 };
  expect(() => render({ picture }, known)).toThrow(advice);
  const { render: byAddress } = folderOf(
    '{scene: x, clip: \'{{ picture | replace: "s3://night/", "https://cdn.example/" }}\'}',
  );
  expect(byAddress({ picture: 's3://night/a.mp4' }, known)).toMatchObject({
    clip: 'https://cdn.example/a.mp4',
  });
});

it.each([
  '{{ photo | file_base64 | upcase }}',
  '{{ photo | file_base64 | size }}',
  '{{ photo | file_base64 | slice: 0, 9 }}',
])('it is the last filter of its placeholder: %s', (template) => {
  expect(() => folderOf(`{scene: x, image: "${template}"}`).render(row)).toThrow(
    'file_base64 must be the last filter of its placeholder',
  );
});

it('names are no place for it, and its key is no name for a value', () => {
  const text = withRequired('input: {scene: x, $file_base64: [a]}').replace(
    'dir: renders',
    `dir: renders\n  name: "{{ photo | file_base64 }}"`,
  );
  expect(problemsOf(text)).toEqual([
    expect.stringContaining('file_base64 and upload work only in `input`'),
    expect.stringContaining('the key $file_base64 is reserved'),
  ]);
});
