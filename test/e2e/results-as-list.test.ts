/** Promise: results.jsonl of a batch is a list of its scenes, by their columns and ids; a file of somebody's own is read as it stands. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { finishedBatch, inProcess, jobsOf, linesOf } from './cli.ts';

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
  const cwd = await finishedBatch(files);
  writeFileSync(join(cwd, 'large.yaml'), large);
  const small = await requestsOf(cwd, 'pipeline.yaml', 'again');
  expect(await requestsOf(cwd, 'large.yaml')).toEqual(
    small.map((input) => ({ ...input, width: 96, height: 96 })),
  );
  const run = await inProcess(['run', 'large.yaml', '--quiet'], { cwd });
  expect([run.code, run.stderr]).toEqual([0, '']);
  const before = await listOf(cwd, 'pipeline.yaml');
  const after = await listOf(cwd, 'large.yaml');
  expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
  expect(after.map(({ columns }) => ({ ...columns, id: null }))).toEqual(
    before.map(({ columns }) => ({ ...columns, id: null })),
  );
  expect(after.map(({ pictures }) => pictures)).toMatchObject(
    before.map(({ pictures: [picture] }) => [{ seed: picture?.seed, width: 96 }]),
  );
});

it('takes some of its lines, and an array of them, for the same', async () => {
  const cwd = await finishedBatch(files);
  const lines = readFileSync(join(cwd, 'out/report/results.jsonl'), 'utf8').trim().split('\n').slice(2, 4);
  const given = large.replace('out/report/results.jsonl', 'best.json');
  writeFileSync(join(cwd, 'best.json'), `[${lines.join(',\n')}]`);
  writeFileSync(join(cwd, 'large.yaml'), given);
  const all = await requestsOf(cwd, 'pipeline.yaml', 'again');
  expect(await requestsOf(cwd, 'large.yaml')).toMatchObject(
    all.slice(2, 4).map(({ prompt, seed }) => ({ prompt, seed })),
  );
});

it('reads lines that somebody has added to, or taken from, as they stand', async () => {
  const cwd = await finishedBatch(files);
  const own = editLines(cwd, (line) => ({ ...line, prompt: 'A cat' }));
  const cut = editLines(cwd, (line) => ({ ...line, pictures: undefined }));
  writeFileSync(join(cwd, 'own.jsonl'), own + cut.replaceAll('"id":"', '"id":"cut-'));
  writeFileSync(
    join(cwd, 'own.yaml'),
    large
      .replace('out/report/results.jsonl', 'own.jsonl')
      .replace(/input: .*/, "input: {prompt: '{{ id }}: {{ columns.prompt }}, {{ state }}'}"),
  );
  const inputs = await requestsOf(cwd, 'own.yaml');
  expect(inputs).toHaveLength(16);
  expect(inputs[0]).toEqual({ prompt: expect.stringMatching(/^cup-.*: A red cup, saved$/) });
});

it('renders nothing again for a batch that read such lines as they stood, and says what to change', async () => {
  const cwd = await finishedBatch(files);
  const list = join(cwd, 'list.jsonl');
  const old = "input: {prompt: '{{ columns.prompt }}, {{ columns.style }}', width: 32, height: 32}";
  const pipeline = large
    .replace('out/report/results.jsonl', 'list.jsonl')
    .replace(/input: .*/, old)
    .replace('large', 'old');
  writeFileSync(join(cwd, 'old.yaml'), pipeline);
  // With a key more, lines are read as all were before.
  writeFileSync(
    list,
    editLines(cwd, (line) => ({ ...line, note: '' })),
  );
  expect((await inProcess(['run', 'old.yaml', '--limit', '3', '--quiet'], { cwd })).code).toBe(0);
  writeFileSync(list, readFileSync(join(cwd, 'out/report/results.jsonl')));
  const refused = await inProcess(['run', 'old.yaml', '--quiet'], { cwd });
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringContaining('there is no column "columns"'),
  ]);
  expect(jobsOf(join(cwd, 'old/local-service'))).toBe(3);

  writeFileSync(join(cwd, 'old.yaml'), pipeline.replaceAll('columns.', ''));
  const [plan] = linesOf(await inProcess(['plan', 'old.yaml', '--json'], { cwd }));
  expect(plan).toMatchObject({ changes: { added: 0, changed: 0, unchanged: 8, withdrawn: 0 } });
  expect((await inProcess(['run', 'old.yaml', '--quiet'], { cwd })).code).toBe(0);
  expect(jobsOf(join(cwd, 'old/local-service'))).toBe(8);
});

interface Result {
  id: string;
  columns: JsonObject;
  pictures: { seed: unknown; width: number }[];
}

async function listOf(cwd: string, pipeline: string): Promise<Result[]> {
  return linesOf<Result>(await inProcess(['list', pipeline, '--json'], { cwd }));
}

/** What each scene is sent; of a batch that is done, in another folder. */
async function requestsOf(cwd: string, pipeline: string, output?: string): Promise<JsonObject[]> {
  const other = output === undefined ? [] : ['--output', output];
  const args = ['plan', pipeline, '--requests', '100', '--json', ...other];
  const [plan] = linesOf<{ requests: { body: { input: JsonObject } }[] }>(await inProcess(args, { cwd }));
  return plan?.requests.map(({ body }) => body.input) ?? [];
}

function editLines(cwd: string, edit: (line: JsonObject) => object): string {
  const lines = readFileSync(join(cwd, 'out/report/results.jsonl'), 'utf8').trim().split('\n');
  return lines.map((line) => `${JSON.stringify(edit(JSON.parse(line) as JsonObject))}\n`).join('');
}
