/**
 * Promise: the name of a picture has its actual seed: the seed that the service returns precedes the seed
 * that was sent.
 */
import { expect, it } from 'vitest';
import { pictureName, PictureNames } from '../../../src/runner/pipeline/picture-names.ts';
import { configOf, withRequired } from '../config/pipeline-file.ts';

it.each([
  ['the seed of the service', '7', { seed: 5 }, 'a-7.png'],
  ['the sent seed if the service returns none', '', { seed: 5 }, 'a-5.png'],
  ['no seed if none is known', '', {}, 'a-.png'],
])('the name of a picture has %s', (_, seed, columns, name) => {
  const config = configOf(withRequired('').replace('renders', `renders\n  name: '{{ id }}-{{ seed }}'`));
  const picture = { id: 'a', columns, input: {}, seed, index: 1 };
  expect(pictureName({ ...config, names: 'prompt' }, picture)).toBe(name);
});

it.each([
  ['media: video', 'sea/{{ id }}.mp4', 'sea/a.png'],
  ['media: audio', '{{ id }}.WAV', 'a.png'],
  ['media: video', '{{ id }}', 'a.png'],
  ['media: video', '.mp4', 'mp4.png'],
  ['image: image', '{{ id }}.mp4', 'a.mp4.png'],
])(
  'the extension of a clip is removed from output.name, if the batch has clips: %s, %s',
  (output, template, name) => {
    const named = `renders\n  ${output}\n  name: '${template}'`;
    const config = configOf(withRequired('').replace('renders', named));
    const picture = { id: 'a', columns: {}, input: {}, seed: '', index: 1 };
    expect(pictureName({ ...config, names: 'id' }, picture)).toBe(name);
  },
);

it.each<[string, string[], string | undefined]>([
  ['as it is named', ['ink/a-7.png'], undefined],
  ['in another format', ['ink/a-7.jpg'], undefined],
  ['as a clip', ['ink/a-7.mp4', 'ink/a-7-2.webm'], undefined],
  ['apart from an equal name', ['ink/a-7-0123ab.png'], undefined],
  ['in a bucket, or from there', ['ink/a-7-3-0123abcd.png', 'ink/a-7-2-3-0123abcd.png'], undefined],
  [
    'with a second picture and a file beside',
    ['ink/a-7.png', 'ink/a-7-2.png', 'depth ink/a-7-depth.exr'],
    undefined,
  ],
  ['by another template', ['a-7.png'], 'ink/a-7.png'],
  ['a clip, which keeps its extension', ['a-7.mp4'], 'ink/a-7.mp4'],
  ['as another picture of a bucket', ['ink/a-7-4-ffffffff.png'], 'ink/a-7.png'],
  ['with a file beside that is named otherwise', ['ink/a-7.png', 'depth a-7-depth.exr'], 'ink/a-7-depth.exr'],
])('finds a name that it would not give: %s', (_, names, wanted) => {
  const config = configOf(withRequired('').replace('renders', `renders\n  name: 'ink/{{ id }}-{{ seed }}'`));
  const pictures = new PictureNames(
    { ownerOf: () => Promise.resolve(undefined) },
    { ...config, names: 'id' },
  );
  const attempt = {
    key: 3,
    sceneId: 'a',
    fingerprint: '0123abcdef'.repeat(7),
    columns: {},
    input: {},
    isReplaced: false,
  };
  const files = names.map((name) => {
    const [label, file = ''] = name.includes(' ') ? name.split(' ') : [undefined, name];
    return { file, seed: '7', sha256: '0123abcdef'.repeat(6), ...(label !== undefined && { label }) };
  });
  expect(pictures.misfit(attempt, files)?.wanted).toBe(wanted);
});
