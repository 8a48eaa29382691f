/** Invalid YAML is reported with clear messages, and unusual but valid YAML has the intended values. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { shownFile } from '../../../src/lib/yaml/yaml-file.ts';
import { readConfig } from '../../../src/runner/config/read-config.ts';
import {
  configOf,
  linesOf,
  marked,
  placesOf,
  problemsIn,
  problemsOf,
  tempFolder,
  withRequired,
} from '../../runner/config/pipeline-file.ts';

afterEach(() => void vi.restoreAllMocks());

it('several syntax errors are reported at once, one on each line', () => {
  const { text, places } = marked('manifest: [a, b\n▸endpoint:\n▸\tbaseUrl: local\noutput: "abc\n▸');
  expect(placesOf(problemsOf(text))).toEqual(places);
});

it.each([
  ['scene: ▸{{ scene }}', 'quote a placeholder: "{{ … }}"'],
  ['scene: ▸{{scene}}', 'quote a placeholder'],
  ['scene: ▸{{ a }} of {{ b }}', 'quote a placeholder'],
  ['scene: ▸{{ ["My Column"] }}', 'quote a placeholder'],
  ['scene: ▸{% if a %}b{% endif %}', 'quote a placeholder'],
  ['list: [1, ▸{{ scene }}]', 'quote a placeholder'],
  ['nested: {scene: ▸{{ scene }}}', 'quote a placeholder'],
  ['▸scene: a\n  ▸scene: b', 'the key "scene" appears twice; expected it once'],
  ['scene: ▸@a', 'quote it'],
  ['scene: ▸*nothing', 'no anchor (&name) precedes this alias'],
  ['scene: &a [▸*a]', 'contains it'],
  ['scene: ▸!foo a', 'unknown tag (!name)'],
  ['scene: !!binary ▸aGVsbG8=', 'a value that JSON cannot represent'],
  ['scene: ▸"a\\0b"', 'contains a NUL character'],
  ['scene: ▸a: b', 'two keys on one line'],
  ['▸? [a, b]\n  : c', 'a key must be a text'],
  ['scene: "▸\\q"', 'unknown escape after \\ in double quotes'],
  ['scene: {a: 1\n  ▸b: 2', 'a { is still open here; close it with }'],
  ['scene: [a\n  ▸b: 2', 'a [ is still open here; close it with ]'],
  ['scene: {a: ▸1 b: 2}', 'a comma is missing before this key'],
  ['scene:\n    - a\n▸   b: 2', 'this line has another indentation than its neighbours'],
  ['a: b\n▸---\nc: d', 'a second document begins here'],
])('%j', (line, expected) => {
  const { text, places } = marked(withRequired(`input:\n  ${line}\n`));
  const problems = problemsOf(text);
  expect(placesOf(problems)).toEqual(places.slice(-1));
  expect(problems[0]).toContain(expected);
});

it('aliases that grow without bounds are refused', () => {
  const lines = ['a0: &a0 [x, x]'];
  for (let i = 1; i < 12; i++) lines.push(`a${i}: &a${i} [${`*a${i - 1}, `.repeat(9)}]`);
  expect(problemsOf(withRequired(`input:\n  ${lines.join('\n  ')}\n`))).toEqual([
    expect.stringContaining('cannot be resolved'),
  ]);
});

it('aliases and merge keys are the values that they stand for', () => {
  const text = `x-settings: &common {scene: "{{ scene }}", steps: &steps 30}
manifest: a.csv
endpoint: {baseUrl: local, id: x}
output: {dir: out}
concurrency: *steps
input: {<<: *common, again: *steps}
`;
  expect(problemsOf(text)).toEqual([expect.stringContaining('1:1: the key "x-settings" is unknown')]);
  const { concurrency, input } = configOf(
    withRequired('concurrency: &n 30\ninput: {a: &x {scene: "{{ s }}", steps: *n}, b: {<<: *x, steps: 4}}'),
  );
  expect(concurrency).toBe(30);
  expect(input?.render({ s: 'hills' })).toEqual({
    a: { scene: 'hills', steps: 30 },
    b: { scene: 'hills', steps: 4 },
  });
});

it('a problem in the value of an alias is reported where the alias stands', () => {
  const { text, places } = marked(
    'manifest: a.csv\nendpoint: &e\n  baseUrl: local\n  id: x\noutput: {dir: o}\n▸▸retry: *e\n',
  );
  expect(placesOf(problemsOf(text))).toEqual(places);
});

it('CRLF and a byte-order mark change neither values nor places', () => {
  const { text, places } = marked(`manifest: ▸7\n${withRequired('▸foo: 1\n').replace(/^.*\n/, '')}`);
  for (const variant of [text, text.replaceAll('\n', '\r\n'), `\u{FEFF}${text}`]) {
    expect(placesOf(problemsOf(variant))).toEqual(places);
  }
  const { output, manifest } = configOf(`\u{FEFF}${withRequired('').replaceAll('\n', '\r\n')}`);
  expect([output.dir, ...manifest].join()).not.toMatch(/\r|\uFEFF/);
});

it('bytes that are not UTF-8 are reported at their place', () => {
  const text = Buffer.from(`# \u{FFFD} é\nmanifest: caf`);
  const latin1 = Buffer.concat([text, Buffer.from([0xe9, 0x0a])]);
  expect(problemsOf(latin1)).toEqual(['2:14: not valid UTF-8; save the file as UTF-8']);
  const utf16 = Buffer.from(`\u{FEFF}manifest: é`, 'utf16le');
  for (const bytes of [utf16, Buffer.from(utf16).swap16()])
    expect(problemsOf(bytes)).toEqual([expect.stringContaining('UTF-16; expected UTF-8')]);
  for (const start of [
    [0xff, 0xff],
    [0xfe, 0xfe],
    [0xfe, 0x41],
  ])
    expect(problemsOf(Buffer.from(start))).toEqual(['1:1: not valid UTF-8; save the file as UTF-8']);
});

it.each([
  ['a file that is not there', 'nothing.yaml', 'no such file'],
  ['a folder', 'folder', 'this is a folder; expected a pipeline.yaml'],
  ['a file below a file', 'folder/nothing/pipeline.yaml', 'no such file'],
])('%s', (_, name, expected) => {
  const folder = tempFolder();
  mkdirSync(join(folder, 'folder'));
  const problems = problemsIn(() => readConfig(join(folder, name), [], {}));
  expect(problems).toEqual([{ where: expect.stringContaining(name) as string, text: expected }]);
});

it('a manifest in the place of a pipeline.yaml is not parsed for minutes', () => {
  expect(problemsOf('id,scene\n'.repeat(200_000))).toEqual([
    expect.stringContaining('1,800,000 bytes; expected'),
  ]);
});

it('yes and no are texts, as in YAML 1.2', () => {
  expect(configOf(withRequired('input: {a: "{{ a }}", b: no}')).input?.render({ a: 'x' })).toEqual({
    a: 'x',
    b: 'no',
  });
});

it('tabs are reported once, at the first of them, and hide no other mistake', () => {
  expect(problemsOf('endpoint:\n\tbaseUrl: local\n\tid: x\noutput:\n\tdir: @o\nretry: @a\n')).toEqual([
    '2:1: a tab in the indentation; expected spaces',
    expect.stringMatching(/^6:8: /),
  ]);
});

it('a YAML file is read from any folder', () => {
  const file = join(tempFolder(), 'x.yaml');
  expect(linesOf(file, () => readConfig(file, [], {}))).toHaveLength(1);
});

it.each([
  ['/night', '/night/pipeline.yaml', 'pipeline.yaml'],
  ['/night', '/other/pipeline.yaml', '../other/pipeline.yaml'],
  ['/', '/night/pipeline.yaml', '/night/pipeline.yaml'],
  ['/', 'night/pipeline.yaml', '/night/pipeline.yaml'],
])('in %s, %s is shown as %s', (cwd, file, shown) => {
  vi.spyOn(process, 'cwd').mockReturnValue(cwd);
  expect(shownFile(file)).toBe(shown);
});
