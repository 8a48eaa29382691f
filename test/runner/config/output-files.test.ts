/** `output.files`: what is asked for, and every problem with it where it stands. */
import { expect, it } from 'vitest';
import { configOf, problemsOf, withRequired } from './pipeline-file.ts';

const withOutput = (more: string): string =>
  withRequired('').replace('dir: renders', `dir: renders\n  ${more}`);

it('is nothing by default, and in the order of the file', () => {
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
    /output\.files\.depth\.kind is missing; expected png, exr, json, glb or npz/,
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
  ['image: none', /output\.image is .*none.*; expected `output\.files` or `output\.values` as well/],
])('refuses %s', (more, expected) => {
  const problems = problemsOf(withOutput(more));
  expect(problems.join('\n')).toMatch(expected);
  expect(problems).toHaveLength(1);
});
