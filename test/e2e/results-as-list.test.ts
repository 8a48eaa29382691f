/**
 * Promise: results.jsonl of a batch can be used as a list, with its columns and ids. A user's own file is
 * read unchanged.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { finishedNight, jobsOf, type Night } from './cli.ts';

const files = {
  'scenes.jsonl': `{"id":"cup","prompt":"A red cup","state":"calm","steps":30}
{"id":"dog","prompt":"A dog","state":"wild","steps":20}
`,
  'pipeline.yaml': `manifest: scenes.jsonl
endpoint: {baseUrl: local, id: painter}
input: {prompt: '{{ prompt }}, {{ state }}, {{ style }}', steps: '{{ steps }}', seed: '{{ seed }}', width: 64, height: 64}
scenes: {matrix: {style: [oil, ink]}, seeds: 2}
output: {dir: out}
`,
};
const large = `manifest: out/report/results.jsonl
endpoint: {baseUrl: local, id: painter}
input: {prompt: '{{ prompt }}, {{ state }}, {{ style }}', steps: '{{ steps }}', seed: '{{ seed }}', width: 96, height: 96}
output: {dir: large}
`;

it('renders the scenes of a batch again, larger: with their ids, columns, types and seeds', async () => {
  const night = await finishedNight(files);
  night.write('large.yaml', large);
  const small = await requestsOf(night, 'pipeline.yaml', 'again');
  expect(await requestsOf(night, 'large.yaml')).toEqual(
    small.map((input) => ({ ...input, width: 96, height: 96 })),
  );
  await night.start('run', 'large.yaml', '--quiet').exits(0).warnsOnly('');
  const before = await listOf(night, 'pipeline.yaml');
  const after = await listOf(night, 'large.yaml');
  expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
  expect(after.map(({ columns }) => ({ ...columns, id: null }))).toEqual(
    before.map(({ columns }) => ({ ...columns, id: null })),
  );
  expect(after.map(({ pictures }) => pictures)).toMatchObject(
    before.map(({ pictures: [picture] }) => [{ seed: picture?.seed, width: 96 }]),
  );
});

it('reads some of the lines, or an array of them, as the same scenes', async () => {
  const night = await finishedNight(files);
  const lines = night.read('out/report/results.jsonl').trim().split('\n').slice(2, 4);
  const given = large.replace('out/report/results.jsonl', 'best.json');
  // Earlier versions wrote no price.
  const earlier = lines.map((line, n) => (n === 0 ? line.replace('"statedCost":null,', '') : line));
  expect(earlier).not.toEqual(lines);
  night.write('best.json', `[${earlier.join(',\n')}]`);
  night.write('large.yaml', given);
  const all = await requestsOf(night, 'pipeline.yaml', 'again');
  expect(await requestsOf(night, 'large.yaml')).toMatchObject(
    all.slice(2, 4).map(({ prompt, seed }) => ({ prompt, seed })),
  );
});

it('reads lines with added or removed keys unchanged', async () => {
  const night = await finishedNight(files);
  const own = editLines(night, (line) => ({ ...line, prompt: 'A cat' }));
  const cut = editLines(night, (line) => ({ ...line, pictures: undefined }));
  night.write('own.jsonl', own + cut.replaceAll('"id":"', '"id":"cut-'));
  night.write(
    'own.yaml',
    large
      .replace('out/report/results.jsonl', 'own.jsonl')
      .replace(/input: .*/, "input: {prompt: '{{ id }}: {{ columns.prompt }}, {{ state }}'}"),
  );
  const inputs = await requestsOf(night, 'own.yaml');
  expect(inputs).toHaveLength(16);
  expect(inputs[0]).toEqual({ prompt: expect.stringMatching(/^cup-.*: A red cup, saved$/) });
});

it('a batch of a version that read results.jsonl as a plain list renders nothing again, and is told which line to change', async () => {
  const night = await finishedNight(files);
  const list = night.path('list.jsonl');
  const old = "input: {prompt: '{{ columns.prompt }}, {{ columns.style }}', width: 32, height: 32}";
  const pipeline = large
    .replace('out/report/results.jsonl', 'list.jsonl')
    .replace(/input: .*/, old)
    .replace('large', 'old');
  night.write('old.yaml', pipeline);
  // A line with an additional key is read as all lines were read before.
  writeFileSync(
    list,
    editLines(night, (line) => ({ ...line, note: '' })),
  );
  await night.start('run', 'old.yaml', '--limit', '3', '--quiet').exits(0);
  writeFileSync(list, readFileSync(night.path('out/report/results.jsonl')));
  await night.start('run', 'old.yaml', '--quiet').fails(2, 'there is no column "columns"');
  expect(jobsOf(night.path('old/local-service'))).toBe(3);

  night.write('old.yaml', pipeline.replaceAll('columns.', ''));
  const [plan] = await night.start('plan', 'old.yaml', '--json').lines();
  expect(plan).toMatchObject({ changes: { added: 0, changed: 0, unchanged: 8, withdrawn: 0 } });
  await night.start('run', 'old.yaml', '--quiet').exits(0);
  expect(jobsOf(night.path('old/local-service'))).toBe(8);
});

interface Result {
  id: string;
  columns: JsonObject;
  pictures: { seed: unknown; width: number }[];
}

async function listOf(night: Night, pipeline: string): Promise<Result[]> {
  return await night.start('list', pipeline, '--json').lines<Result>();
}

/** Returns the input of each scene. `output` names another folder for a batch that is complete. */
async function requestsOf(night: Night, pipeline: string, output?: string): Promise<JsonObject[]> {
  const other = output === undefined ? [] : ['--output', output];
  const args = ['plan', pipeline, '--requests', '100', '--json', ...other];
  const [plan] = await night.start(...args).lines<{ requests: { body: { input: JsonObject } }[] }>();
  return plan?.requests.map(({ body }) => body.input) ?? [];
}

function editLines(night: Night, edit: (line: JsonObject) => object): string {
  const lines = night.read('out/report/results.jsonl').trim().split('\n');
  return lines.map((line) => `${JSON.stringify(edit(JSON.parse(line) as JsonObject))}\n`).join('');
}
