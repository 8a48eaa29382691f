/**
 * Promise: a wrong pipeline.yaml is reported with all its problems at once. Each has line and column, the
 * value found and the value expected.
 */
import { expect, it } from 'vitest';
import { configOf, marked, placesOf, problemsOf, withRequired } from './pipeline-file.ts';

it('reports every problem at once, in the order of the file', () => {
  const { text, places } = marked(`manifest: [a.csv, ▸5, ▸""]
▸endpoint:
  baseUrl: ▸api.example.com
  id: ▸scene renderer
  ▸verion: v2
input: {scene: ▸"{{ scene | nope }}", other: [1, {deep: ▸'{% if %}'}]}
concurrency: ▸"16"
retry: {▸atempts: 3, attempts: ▸0, firstWait: ▸3}
output:
  ▸folder: renders
  dir: ▸\${UNSET}
  name: ▸"{{ id"
▸colour: red
halt: ▸
polling: ▸[]
skipBadRows: ▸yes
`);
  const problems = problemsOf(text);
  expect(placesOf(problems)).toEqual(places);
  expect(problems).toEqual([
    '1:19: manifest[1] is 5; expected a path',
    '1:22: manifest[2] is ""; expected a path',
    expect.stringMatching(/^2:1: endpoint.apiKey is missing; write apiKey: /),
    expect.stringMatching(/^3:12: .*; expected `local`, or a URL beginning with http:\/\/ or https:\/\//),
    expect.stringMatching(/^4:7: .*letters, digits, - and _/),
    '5:3: the key "verion" is unknown in endpoint; did you mean version?',
    '6:16: invalid template: undefined filter: nope',
    expect.stringMatching(/^6:56: invalid template: /),
    '7:14: concurrency is "16"; expected jobs in flight, a whole number from 1 to 10000',
    '8:9: the key "atempts" is unknown in retry; did you mean attempts?',
    expect.stringMatching(/^8:31: retry.attempts is 0; expected .*, a whole number from 1 to 100$/),
    '8:45: retry.firstWait is 3; expected a duration from 0s to 20d, such as 30s, 5m or 2h',
    '10:3: the key "folder" is unknown in output; expected dir, pictures, name, image, media, files, values, hosts, keep, formats, metadata',
    '11:8: the environment variable UNSET is not set',
    '12:9: invalid template: {{ without }}',
    expect.stringMatching(/^13:1: the key "colour" is unknown; expected manifest, endpoint, input, /),
    '14:7: halt is empty; expected the keys consecutive, percent, minimum, unreachable, refused',
    '15:10: polling is an empty list; expected the keys lag, shortest, longest',
    '16:14: skipBadRows is "yes"; expected true or false',
  ]);
});

it('names the file as a person finds it from where the command is given', () => {
  expect(() => configOf('concurrency: x')).toThrow(
    /^[^\n]*pipeline\.yaml:1:1: manifest is missing; expected a path/,
  );
});

it('a missing key is reported at its section', () => {
  const { text, places } = marked('manifest: a.csv\n▸▸endpoint:\n  version: v2\n▸output:\n  name: x.png\n');
  const problems = problemsOf(text);
  expect(placesOf(problems)).toEqual(places);
  expect(problems[0]).toContain('endpoint.baseUrl is missing; expected');
  expect(problems[1]).toContain('endpoint.id is missing; expected the id of the endpoint');
  expect(problems[2]).toBe('4:1: output.dir is missing; expected a path');
});

it.each([
  ['nothing', ''],
  ['a comment', '# nothing\n'],
])('a file with %s lacks all that it must say', (_, text) => {
  expect(problemsOf(text)).toEqual([
    '1:1: manifest is missing; expected a path, a pattern such as lists/*.txt, or a list of them; - is standard input',
    '1:1: endpoint is missing; expected the keys baseUrl, id, and optionally speaks, version, statuses, apiKey, policy, freshness',
    '1:1: output is missing; expected the key dir, and optionally pictures, name, image, media, files, values, hosts, keep, formats, metadata',
  ]);
});

it.each([
  ['- a\n- b\n', 'the file is a list; expected the keys manifest, endpoint, output, and optionally input,'],
  ['jobs', 'the file is "jobs"; expected the keys manifest, endpoint, output, and optionally input,'],
])('a file that is no map: %j', (text, expected) => {
  const overrides = [{ path: ['concurrency'], value: 4, from: '--concurrency' }];
  for (const given of [{}, { overrides }]) {
    expect(problemsOf(text, given)).toEqual([expect.stringContaining(`1:1: ${expected}`)]);
  }
});

it.each([
  'endpoint: {baseUrl: local, id: x, ▸Version: v2}',
  'output: {dir: x, ▸"path": y}',
  'retry: {▸tries: 3}',
  'polling: {▸every: 3s}',
  'halt: {▸after: 3}',
  'timeouts: {▸connect: 3s}',
  'limits: {▸hours: 3}',
  'shutdown: {▸wait: 3s}',
  'report: {▸often: 3s}',
  'terminal: {▸colour: true}',
  '▸concurency: 3',
  '▸__proto__: {concurrency: 3}',
])('an unknown key is reported at the key: %s', (line) => {
  const { text, places } = marked(line);
  const own = text.split(':')[0] ?? '';
  const others = { manifest: 'a', endpoint: '{baseUrl: local, id: x}', output: '{dir: o}' };
  const rest = Object.entries(others).filter(([key]) => key !== own);
  const problems = problemsOf([text, ...rest.map(([key, value]) => `${key}: ${value}`)].join('\n'));
  expect(placesOf(problems)).toEqual(places);
  expect(problems[0]).toMatch(/is unknown.*; (expected|did you mean) \w+/);
});

it.each([
  'timeouts: {request: 0s}',
  'limits: {for: 21d}',
  'limits: {body: 1GB}',
  'limits: {body: 10}',
  'report: {every: 0s}',
  'report: {every: always}',
])('bounds: %s', (line) => {
  expect(problemsOf(withRequired(line))).toEqual([
    expect.stringMatching(/^7:\d+: \w+\.\w+ is .*; expected (a|never)/),
  ]);
});

it.each(['0', '10001', '1.5', '-1', '.inf', '1e9', 'true', '[]', '{}', 'null', 'many'])(
  'no concurrency: %s',
  (value) => {
    expect(placesOf(problemsOf(withRequired(`concurrency: ${value}`)))).toEqual(['7:14']);
  },
);

it('numbers that JSON cannot express, or that would be changed silently', () => {
  const { text, places } = marked(
    withRequired('input: {scene: "{{ s }}", a: ▸.nan, b: ▸-.inf, c: ▸12345678901234567890, d: 0.1}'),
  );
  expect(placesOf(problemsOf(text))).toEqual(places);
});

it('input must hold something, and be keys and values', () => {
  for (const input of ['{}', '[]', '"{{ scene }}"', '5', '']) {
    expect(problemsOf(withRequired(`input: ${input}`))).toEqual([expect.stringMatching(/^7:\d+: input is /)]);
  }
});

it('says where a key belongs that stands in the wrong place', () => {
  const text = 'manifest: a\nendpoint: {baseUrl: local, id: x}\noutput: {dir: o}\nperSecond: 3\n';
  expect(problemsOf(text)).toEqual([
    expect.stringMatching(/^4:1: the key "perSecond" is unknown; .* \(perSecond belongs under pricing\)$/),
  ]);
});
