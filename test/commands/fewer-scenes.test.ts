/** Promise: a truncated list is asked about before anything changes, whatever its source. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { openCheckpointForReading } from '../../src/runner/checkpoint/open-checkpoint.ts';
import { readCounts } from '../../src/runner/checkpoint/read-totals.ts';
import { plan } from '../../src/commands/plan.ts';
import { run } from '../../src/commands/run.ts';
import { tempFolder } from '../runner/config/pipeline-file.ts';
import { heard } from './heard.ts';

/** Accepts no job, so a run that begins ends at once with 12. */
const service = createServer((_, response) => response.writeHead(401).end('{}'));

beforeAll(() => new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve)));
afterAll(() => void service.close());
beforeEach(() => void vi.stubEnv('NIGHTRENDER_API_KEY', 'k'));
afterEach(() => void vi.unstubAllEnvs());

const many = Array.from({ length: 60 }, (_, i) => `A photo of ${i} trees and a harbour`);

interface Batch {
  file: string;
  write(name: string, lines: string[], end?: string): void;
  counts(): { waiting: number; withdrawn: number } | undefined;
}

/** Creates a batch of 60 scenes that a run has begun. */
async function begun(lists = ['a.txt'], more = ''): Promise<Batch> {
  const dir = tempFolder();
  const write = (name: string, lines: string[], end = '\n'): void =>
    writeFileSync(join(dir, name), `${lines.join('\n')}${end}`);
  const file = join(dir, 'pipeline.yaml');
  const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  const text = `endpoint: {baseUrl: "${url}", id: e}\noutput: {dir: out}\nmanifest: [${lists.join(', ')}]`;
  write('pipeline.yaml', [text, more]);
  lists.forEach((name, i) => write(name, many.slice(i * 30, lists.length === 1 ? 60 : i * 30 + 30)));
  expect((await heard(() => run(file, { quiet: true }))).code).toBe(12);
  const counts = (): ReturnType<Batch['counts']> => {
    const db = openCheckpointForReading(join(dir, 'out'));
    const found = db && readCounts(db);
    db?.close();
    return found;
  };
  expect(counts()).toMatchObject({ waiting: 60, withdrawn: 0 });
  return { file, write, counts };
}

it.each([{}, { limit: '2' }])(
  'a truncated list is rejected by run and plan with the same message: %j',
  async (part) => {
    const { file, write, counts } = await begun();
    write('a.txt', many.slice(0, 3));
    const planned = await heard(() => plan(file, part));
    const ran = await heard(() => run(file, { quiet: true, ...part }));
    expect(planned.code).toBe(2);
    expect(ran).toEqual(planned);
    expect(ran.said).toContain('57 of 60 scenes are no longer in the list');
    expect(ran.said).toMatch(/the first is \w{12}, which was at \S*a\.txt:4\)/);
    expect(ran.said).toContain('--allow-fewer, or allowFewer: true');
    expect(counts()).toMatchObject({ waiting: 60, withdrawn: 0 });
    write('a.txt', many);
    expect((await heard(() => run(file, { quiet: true }))).code).toBe(12);
    expect(counts()).toMatchObject({ waiting: 60, withdrawn: 0 });
  },
);

it.each([
  { argv: { 'allow-fewer': true }, more: '' },
  { argv: {}, more: 'allowFewer: true' },
])('a truncated list is accepted if the user says that it is meant: %j', async ({ argv, more }) => {
  const { file, write, counts } = await begun(undefined, more);
  write('a.txt', many.slice(0, 3));
  expect((await heard(() => plan(file, { requests: '0', ...argv }))).code).toBe(0);
  expect((await heard(() => run(file, { quiet: true, ...argv }))).code).toBe(12);
  expect(counts()).toMatchObject({ waiting: 3, withdrawn: 0 });
});

it('a truncated list is rejected even if its last line is cut off, too', async () => {
  const { file, write, counts } = await begun();
  write('a.txt', [...many.slice(0, 3), 'A photo of 3 tr'], '');
  expect((await heard(() => run(file, { quiet: true }))).code).toBe(2);
  expect(counts()).toMatchObject({ waiting: 60, withdrawn: 0 });
});

it('a truncated list is rejected even if a row that stays was edited, too', async () => {
  const { file, write, counts } = await begun();
  write('a.txt', [...many.slice(0, 3), 'A photo of a single tree', ...many.slice(4, 9)]);
  expect((await heard(() => run(file, { quiet: true }))).code).toBe(2);
  expect(counts()).toMatchObject({ waiting: 60, withdrawn: 0 });
});

it('a truncated list is refused if one of several lists lacks most of its rows', async () => {
  const { file, write } = await begun(['a.txt', 'b.txt']);
  write('b.txt', many.slice(30, 31));
  const { code, said } = await heard(() => run(file, { quiet: true }));
  expect(code).toBe(2);
  expect(said).toMatch(/29 of 60 scenes .*b\.txt:2\)/);
});

it('a truncated list is refused from standard input', async () => {
  const { file, counts } = await begun();
  const piped = Readable.from([`${many.slice(0, 3).join('\n')}\n`]) as never;
  const stdin = vi.spyOn(process, 'stdin', 'get').mockReturnValue(piped);
  const { code } = await heard(() => run(file, { quiet: true, manifest: '-' }));
  stdin.mockRestore();
  expect(code).toBe(2);
  expect(counts()).toMatchObject({ waiting: 60, withdrawn: 0 });
});

it('a truncated list is not asked about if every night has its own list', async () => {
  const { file, write, counts } = await begun();
  write('a.txt', ['a', 'b', 'c']);
  expect((await heard(() => run(file, { quiet: true }))).code).toBe(12);
  expect(counts()).toMatchObject({ waiting: 3 });
  // A scene that was never sent is forgotten.
  expect(counts()?.withdrawn).toBeLessThan(60);
});
