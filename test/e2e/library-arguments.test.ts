/** Promise: the library names wrong arguments, and its rows and events name files in the same way. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  cancelBatch,
  exportBatch,
  planBatch,
  readBatch,
  retryScenes,
  runBatch,
  verifyBatch,
} from '../../src/index.ts';
import { folderWith, nightOf, pipeline, scenes, testKey } from './cli.ts';
import { startStandIn } from './stand-ins.ts';

const folder = 'a folder';
const files = { 'pipeline.yaml': pipeline('http://127.0.0.1:9'), 'scenes.csv': scenes(1) };

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

it.each([
  [undefined, {}, 'file', 'is undefined; expected the path of a pipeline.yaml'],
  [new URL('file:///pipeline.yaml'), {}, 'file', /^is URL \{.*; expected the path/],
  ['', {}, 'file', "is ''; expected the path"],
  [folder, null, 'options', 'is null; expected an object'],
  [folder, 'quiet', 'options', "is 'quiet'; expected an object"],
  [folder, { concurency: 4 }, 'concurency', 'is no option of runBatch; did you mean concurrency?'],
  [folder, { fresh: true }, 'fresh', 'is no option of runBatch; expected output, env, signal'],
  [folder, { signal: new AbortController() }, 'signal', /; expected an AbortSignal$/],
  [folder, { signal: null }, 'signal', 'is null; expected an AbortSignal'],
  [folder, { env: null }, 'env', 'is null; expected an object of texts'],
  [folder, { env: { N: 5 } }, 'env', 'has other values; expected an object of texts'],
  [folder, { concurrency: '4' }, 'concurrency', "is '4'; expected a number"],
  [folder, { limit: 3n }, 'limit', 'is 3n; expected a number'],
  [folder, { sample: '1%' }, 'sample', "is '1%'; expected a number"],
  [folder, { output: () => 'out' }, 'output', /^is \[Function.*expected the path of a folder/],
  [folder, { manifest: [] }, 'manifest', 'is []; expected the path of a list'],
  [folder, { skipBadRows: 'yes' }, 'skipBadRows', "is 'yes'; expected true or false"],
  [folder, { allowFewer: 1 }, 'allowFewer', 'is 1; expected true or false'],
])('runBatch(%j, %o) is refused by the name of the argument', async (file, options, where, text) => {
  const cwd = folderWith(files);
  const { events, result } = runBatch((file === folder ? cwd : file) as string, options as object);
  expect(await all(events)).toEqual([]);
  const said = typeof text === 'string' ? expect.stringContaining(text) : expect.stringMatching(text);
  expect(await result).toEqual({
    kind: 'wrong-use',
    isResumable: false,
    text: expect.stringContaining(`runBatch: ${where} is`.replace('env is', 'env ')) as unknown,
    problems: [{ where, text: said as unknown }],
  });
  expect(existsSync(join(cwd, 'out'))).toBe(false);
});

const others = { cancelBatch, exportBatch, planBatch, retryScenes, verifyBatch };
const dataset = { to: 'captions', dir: 'dataset' };

it.each<[keyof typeof others, unknown, string, string]>([
  ['planBatch', { requests: 1.5 }, 'requests', 'is 1.5; expected a whole number from 0 to 1000'],
  ['planBatch', { check: true }, 'check', 'is no option of planBatch; expected output, env, signal'],
  ['planBatch', { limit: '2' }, 'limit', "is '2'; expected a number"],
  ['retryScenes', { ids: [] }, 'ids', 'is []; expected a list of one or more ids of scenes'],
  ['retryScenes', { kinds: ['job-faild'] }, 'kinds', "is [ 'job-faild' ]; expected a list of one or more of"],
  ['retryScenes', { again: true }, 'again', 'requires ids or where'],
  ['retryScenes', { giveUp: true, confirm: 'paid again' }, 'giveUp', 'requires ids or where'],
  ['retryScenes', { ids: ['s0'], newSeed: true }, 'newSeed', 'requires again'],
  ['retryScenes', { ids: ['s0'], where: 'a = 1' }, 'where', 'must be alone, but ids is given as well'],
  ['retryScenes', { confirm: 'yes' }, 'confirm', "is 'yes'; expected 'paid again'"],
  ['retryScenes', { signal: AbortSignal.abort() }, 'signal', 'is no option of retryScenes; expected output'],
  ['verifyBatch', { repair: 'yes' }, 'repair', "is 'yes'; expected true or false"],
  ['verifyBatch', { repair: true }, 'confirm', 'is missing; repair puts scenes with missing or damaged'],
  ['verifyBatch', { repair: true, confirm: true }, 'confirm', "is true; expected 'paid again'"],
  ['verifyBatch', { move: true }, 'move', 'is no option of verifyBatch; expected output, env, signal'],
  ['exportBatch', { dir: 'dataset' }, 'to', 'is undefined; expected one of imagefolder, webdataset'],
  ['exportBatch', { to: 'captions' }, 'dir', 'is undefined; expected the path of a folder'],
  ['exportBatch', undefined, 'options', 'is undefined; expected an object'],
  ['exportBatch', { ...dataset, to: 'csv' }, 'to', "is 'csv'; expected one of imagefolder"],
  ['exportBatch', { ...dataset, shard: 0 }, 'shard', 'is 0; expected a whole number from 1 to 100000'],
  ['exportBatch', { ...dataset, where: '' }, 'where', "is ''; expected a condition"],
  ['cancelBatch', { acceptLoss: true }, 'acceptLoss', 'is no option of cancelBatch; expected output, env'],
])('%s(%o) is refused by the name of the argument', async (name, options, where, text) => {
  const cwd = folderWith(files);
  const call: (file: string, options: never) => Promise<{ kind: string; text?: string }> = others[name];
  const refused = await call(cwd, options as never);
  expect(refused).toMatchObject({
    kind: 'wrong-use',
    text: expect.stringContaining(`${name}: ${where} `) as unknown,
    problems: [{ where, text: expect.stringContaining(text) as unknown }],
  });
  expect(existsSync(join(cwd, 'out'))).toBe(false);
});

it('names all wrong arguments at once, and takes options that are undefined for left out', async () => {
  const options = { limit: '1', output: undefined, signal: undefined, stats: true, manifest: 5 };
  const { problems } = await runBatch(folderWith(files), options as object).result;
  expect(problems.map(({ where }) => where)).toEqual(['limit', 'manifest', 'stats']);
});

it('reads a batch by right arguments alone', async () => {
  const service = await startStandIn();
  const night = nightOf(service.url, 3);
  await runBatch(night.cwd, { env: { ...process.env, NIGHTRENDER_API_KEY: testKey } }).result;
  expect(await readBatch(5 as unknown as string)).toMatchObject({
    kind: 'wrong-use',
    problems: [{ where: 'file', text: expect.stringContaining('is 5; expected the path') as unknown }],
  });
  expect(await readBatch(night.cwd, { outptu: 'x' } as object)).toMatchObject({
    kind: 'wrong-use',
    text: 'readBatch: outptu is no option of readBatch; did you mean output?',
    problems: [{ where: 'outptu' }],
  });
  const reading = await readBatch(night.cwd);
  if (reading.kind !== 'batch') throw new Error(reading.text);
  expect(await reading.wait({ signal: 5 } as object)).toMatchObject({
    kind: 'wrong-use',
    problems: [{ where: 'signal' }],
  });
  const ids = async (...chosen: Parameters<typeof reading.rows>) =>
    (await all(reading.rows(...chosen))).map(({ id }) => id);
  for (const [chosen, where] of [
    [{ states: 'saved' }, 'states'],
    [{ states: ['savd'] }, 'states'],
    [{ state: ['saved'] }, 'state'],
    [{ where: 5 }, 'where'],
    [{ where: 'stile = 1' }, 'where'],
    [null, 'options'],
  ] as const)
    await expect(ids(chosen as object)).rejects.toMatchObject({ kind: 'wrong-use', problems: [{ where }] });
  expect(await ids({ where: "id <> 's1'" })).toEqual(['s0', 's2']);
  expect(await ids({ states: ['saved'], where: "scene contains '1 trees'" })).toEqual(['s1']);
  expect(await ids({ states: ['failed'], where: "id <> 's1'" })).toEqual([]);
});

it('names the files of events as rows name them', async () => {
  const service = await startStandIn();
  const night = nightOf(service.url, 2);
  const { events, result } = runBatch(night.cwd, { env: { ...process.env, NIGHTRENDER_API_KEY: testKey } });
  const told = (await all(events)).flatMap((event) => (event.type === 'scene-saved' ? event.files : []));
  expect((await result).kind).toBe('complete');
  const reading = await readBatch(night.cwd);
  if (reading.kind !== 'batch') throw new Error(reading.text);
  const named = (await all(reading.rows())).flatMap(({ pictures }) => pictures.map(({ file }) => file));
  expect(told.toSorted()).toEqual(named);
  expect(named).toEqual(['images/s0.png', 'images/s1.png']);
});
