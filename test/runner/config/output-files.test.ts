/**
 * `output.files` names the files to save besides pictures. Every problem in it is reported at its line and
 * column.
 */
import { expect, it } from 'vitest';
import { configOf, problemsOf, withRequired } from './pipeline-file.ts';

const withOutput = (more: string): string =>
  withRequired('').replace('dir: renders', `dir: renders\n  ${more}`);

it('`output.files` is empty by default, and keeps the order of pipeline.yaml', () => {
  expect(configOf(withRequired('')).output.files).toEqual([]);
  const { files, image } = configOf(
    withOutput('files: {mask: {at: files.mask, kind: png}, camera: {at: camera, kind: json}}\n  image: none'),
  ).output;
  expect(files).toEqual([
    { label: 'mask', kind: 'png', at: ['files', 'mask'] },
    { label: 'camera', kind: 'json', at: ['camera'] },
  ]);
  expect(image).toBe('none');
});

it.each([
  ['files: [depth]', /output\.files is .*; expected files such as \{depth:/],
  ['files: {depth: files.depth}', /output\.files\.depth is .*; expected the keys at, kind/],
  [
    'files: {depth: {at: files.depth}}',
    /output\.files\.depth\.kind is missing; expected png, exr, json, glb, npz, or a clip: mp4/,
  ],
  ['files: {depth: {at: files.depth, kind: tiff}}', /kind is .*tiff.*; expected png, exr/],
  ['files: {depth: {at: "files[0]", kind: exr}}', /at is .*; expected keys joined by dots/],
  ['files: {depth: {at: "a..b", kind: exr}}', /at is .*; expected keys joined by dots/],
  ['files: {depth: {at: a, kind: exr, form: b}}', /form.* is unknown in output\.files\.depth/],
  ['files: {2nd: {at: a, kind: exr}}', /cannot be set in output\.files; expected a name such as depth/],
  ['files: {a/b: {at: a, kind: exr}}', /cannot be set in output\.files; expected a name such as depth/],
  ['files: {A: {at: b, kind: exr}}', /cannot be set in output\.files; expected a name such as depth/],
  ['values: {score: "a[0]"}', /output\.values\.score is .*; expected keys joined by dots/],
  ['values: {"a b": c}', /cannot be set in output\.values; expected a name such as score/],
  ['values: {id: c}', /cannot be set in output\.values; expected another name: id is the id of the scene/],
  [
    'media: video\n  image: "images[0]"',
    /output\.image is .*; expected `output\.media` alone: it says where the clip is/,
  ],
  ['media: video\n  formats: [{format: webp}]', /formats is .*; expected none with `output\.media`/],
  ['media: audio\n  keep: original', /keep is .*; expected none with .*: clips are saved as they came/],
  ['media: ""', /media is .*; expected video, audio, or the path of the clip in the output/],
  ['media: Video', /media is .*Video.*; expected small letters: video or audio/],
  ['image: none', /output\.image is .*none.*; expected `output\.files` or `output\.values` as well/],
])('refuses %s', (more, expected) => {
  const problems = problemsOf(withOutput(more));
  expect(problems.join('\n')).toMatch(expected);
  expect(problems).toHaveLength(1);
});

it('`output.media` implies `image: none`, and no other file has to be saved', () => {
  for (const more of ['media: video', 'media: video\n  image: none'])
    expect(configOf(withOutput(more)).output).toMatchObject({ media: 'video', image: undefined, files: [] });
});

it.each(['blank: true', 'minSide: 64'])(
  'check.%s is refused with `output.media`, because it has no effect',
  (check) => {
    const [problem, ...others] = problemsOf(`${withOutput('media: video')}check: {${check}}\n`);
    expect(problem).toMatch(/expected none with `output\.media`: it has no effect on clips/);
    expect(others).toEqual([]);
  },
);

it('a change of `output.media`, or of `limits.download` for clips, has waiting results tried again', () => {
  const digestOf = (more: string, rest = ''): string => configOf(`${withOutput(more)}${rest}`).outputDigest;
  const plain = digestOf('');
  const media = digestOf('media: video');
  expect(new Set([plain, media, digestOf('media: audio')]).size).toBe(3);
  expect(digestOf('media: video', 'limits: {download: 5GB}\n')).not.toBe(media);
  expect(digestOf('', 'limits: {download: 5GB}\n')).toBe(plain);
  const sound = 'files: {sound: {at: sound, kind: wav}}';
  expect(digestOf(sound, 'limits: {download: 5GB}\n')).not.toBe(digestOf(sound));
});

it('a second of video has a price only if jobs bring clips', () => {
  const price = 'pricing: {perSecondOfVideo: 0.1}\nlimits: {cost: 5}\n';
  expect(configOf(`${withOutput('media: video')}${price}`).pricing).toMatchObject({ perSecondOfVideo: 0.1 });
  expect(problemsOf(`${withOutput('')}${price}`)).toEqual([
    expect.stringMatching(/perSecondOfVideo .*expected `output\.media` as well/),
  ]);
});
