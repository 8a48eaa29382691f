/**
 * `{{ picture | upload }}` and `comfyApiKey`: the checkpoint stores the checksum of an uploaded picture and
 * never the key. Wrong uses of both are rejected.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readConfig } from '../../../src/runner/config/read-config.ts';
import { ConfigError } from '../../../src/lib/yaml/problem.ts';
import { withFilesNamed, withoutPaths } from '../../../src/runner/core/file-text.ts';
import { fingerprintOf } from '../../../src/runner/core/scene.ts';
import type { JsonObject } from '../../../src/lib/text/json.ts';
import { enlarging } from '../../fakes/comfyui-workflows.ts';
import { problemsOf, tempFolder, withRequired } from './pipeline-file.ts';

interface Told {
  render(row: JsonObject): JsonObject;
  problems(): string[];
  warnings(needsKey?: boolean): string[];
  write(name: string, text: string): void;
}

function pipelineOf(set: string, endpoint = '', env: NodeJS.ProcessEnv = {}): Told {
  const folder = tempFolder();
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  mkdirSync(join(folder, 'photos'));
  write('photos/a.jpg', 'not much of a photo');
  write('flow.json', JSON.stringify(enlarging('x')));
  write(
    'pipeline.yaml',
    `manifest: list.csv
endpoint:
  speaks: comfyui
  workflow: flow.json
  ${endpoint.includes('baseUrl') ? '' : 'baseUrl: http://127.0.0.1:8188'}
  ${endpoint}
  set: { ${set} }
output: { dir: out }
limits: { body: 1kB }
`,
  );
  const read = (needsKey?: boolean) => readConfig(join(folder, 'pipeline.yaml'), [], env, needsKey);
  return {
    write,
    render: (row) => read().input?.render(row) ?? expect.fail('no input'),
    warnings: (needsKey) => read(needsKey).warnings,
    problems: () => {
      try {
        read();
        return [];
      } catch (error) {
        return error instanceof ConfigError
          ? error.problems.map(({ where, text }) => `${where}: ${text}`)
          : [];
      }
    },
  };
}

const whole = "'10.image': '{{ photo | upload }}'";
const row = { photo: 'photos/a.jpg' };

it('a scene contains the checksum of the file, which is part of its identity, but not the path', () => {
  const { render, write } = pipelineOf(whole);
  const { set } = render(row);
  const file = {
    path: 'photos/a.jpg',
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown,
    bytes: 19,
  };
  expect(set).toEqual({ '10.image': { $upload: [file] } });
  expect(withFilesNamed(set ?? null)).toEqual({ '10.image': '<photos/a.jpg, 19 bytes>' });
  const print = (photo: string): string => fingerprintOf(withoutPaths(render({ photo })));
  const before = print('photos/a.jpg');
  write('b.png', 'not much of a photo');
  expect(print('b.png')).toBe(before);
  write('b.png', 'not much of a phot0');
  expect(print('b.png')).not.toBe(before);
});

it('a known picture of the stage before is uploaded by the filter, however it was sent there', () => {
  const folder = tempFolder();
  writeFileSync(join(folder, 'flow.json'), JSON.stringify(enlarging('x')));
  const text = `scenes: { from: a.yaml }\nendpoint: { speaks: comfyui, baseUrl: 'http://127.0.0.1:1', workflow: flow.json, set: { ${whole.replace('photo', 'picture')} } }\noutput: { dir: out }\n`;
  writeFileSync(join(folder, 'pipeline.yaml'), text);
  const known = { path: 's3://bucket/a.png', sha256: 'ab', bytes: 5 };
  const { input } = readConfig(join(folder, 'pipeline.yaml'), [], {});
  expect(input?.render({ picture: known.path }, known)['set']).toEqual({ '10.image': { $upload: [known] } });
});

it.each<[string, JsonObject, string]>([
  ["'10.image': 'a {{ photo | upload }}'", row, 'the placeholder the whole value'],
  ["'10.image': '{{ photo | upload | upcase }}'", row, 'upload must be the last filter'],
  ["'10.image': '{{ photo | upload }}{{ photo | file_base64 }}'", row, 'the placeholder the whole value'],
  [whole, { photo: '' }, 'upload needs the path of a file'],
  [whole, { photo: 'photos/b.jpg' }, '"photos/b.jpg" is not there'],
  [whole, { photo: '../a.jpg' }, '{{ column | upload: "/its/folder" }}'],
  [whole, { photo: 'large' }, '"large" takes 1.0 kB; `limits.body` allows 1.0 kB'],
  ["'10.image': '{{ photo }}'", { photo: { $upload: [] } }, 'the key $upload is reserved'],
])('a row is bad: %s with %j', (set, given, problem) => {
  const { render, write } = pipelineOf(set);
  write('large', 'x'.repeat(1_001));
  expect(() => render(given)).toThrow(problem);
});

it('a file may be as large as the limit, because it is not sent as base64', () => {
  const { render, write } = pipelineOf(whole);
  write('large', 'x'.repeat(1_000));
  expect(render({ photo: 'large' })).toMatchObject({ set: { '10.image': { $upload: [{ bytes: 1_000 }] } } });
});

it('an input of another service may be named $upload, as before, and stays what it is', () => {
  const folder = tempFolder();
  writeFileSync(join(folder, 'a.jpg'), 'not much of a photo');
  const text = withRequired(
    'input: {prompt: "{{ prompt }}", $upload: [a], more: {$upload: "{{ prompt }}"}, of: "{{ of }}", photo: "{{ photo | file_base64 }}"}',
  );
  writeFileSync(join(folder, 'pipeline.yaml'), text);
  const of = { $upload: ['a.jpg'], to: 'box' };
  const { input } = readConfig(join(folder, 'pipeline.yaml'), [], { NIGHTRENDER_API_KEY: 'key-of-tests' });
  const { photo: _, ...rest } = withoutPaths(
    input?.render({ prompt: 'x', of, photo: 'a.jpg' }) ?? expect.fail('no input'),
  );
  expect(rest).toEqual({ prompt: 'x', $upload: ['a'], more: { $upload: 'x' }, of });
});

it('an upload is refused for other services, and if its folder comes from a column', () => {
  expect(problemsOf(withRequired('input: {image: "{{ photo | upload }}"}'))).toEqual([
    expect.stringMatching(/^\d+:\d+: .*upload works only in `endpoint.set` of ComfyUI/),
  ]);
  expect(problemsOf(withRequired('input: {prompt: "{{ prompt }} | upload"}'))).toEqual([]);
  expect(pipelineOf("'10.image': '{{ photo | upload: dir }}'").problems()).toEqual([
    expect.stringContaining('write the folder of upload in quotes: {{ photo | upload: "photos" }}'),
  ]);
});

const key = "comfyApiKey: '${COMFY_KEY}'";
const env = { COMFY_KEY: 'comfyui-0815-4711' };

it.each([
  ['http://127.0.0.1:8188', 0],
  ['http://localhost:8188', 0],
  ['http://[::1]:8188', 0],
  ['https://box.example', 0],
  ['http://box:8188', 1],
  ['http://192.168.1.5:8188', 1],
])('the key of partner nodes goes encrypted or stays on this machine: %s', (url, count) => {
  const problems = pipelineOf("'10.image': a", `${key}\n  baseUrl: '${url}'`, env).problems();
  expect(problems).toHaveLength(count);
  for (const problem of problems) expect(problem).toContain(`would travel unencrypted to ${url}`);
});

it('a plan needs no variable of the key, a run does, and no message has the key', () => {
  const unset = pipelineOf("'10.image': a", key);
  expect(unset.problems()).toEqual([expect.stringContaining('COMFY_KEY')]);
  expect(unset.warnings(false)).toEqual([expect.stringMatching(/COMFY_KEY.*a run needs it/)]);
  const wrong = pipelineOf("'10.image': a", key, { COMFY_KEY: 'comfyui 0815' }).problems();
  expect(wrong).toEqual([expect.stringContaining('the key contains a space')]);
  expect(wrong.join('')).not.toContain('0815');
  const [written] = pipelineOf("'10.image': a", 'comfyApiKey: comfyui-0815-4711').warnings();
  expect(written).toContain('write ${COMFY_KEY} and keep the key in the environment');
  expect(written).not.toContain('0815');
});
