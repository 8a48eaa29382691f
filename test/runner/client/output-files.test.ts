/**
 * Promise: files besides pictures are found where `output.files` says, byte for byte, and a missing one is
 * named.
 */
import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import type { FilePlace, FoundPicture } from '../../../src/runner/core/picture.ts';
import type { NamedValue } from '../../../src/runner/core/seeds-until.ts';
import { StatusReader } from '../../../src/runner/client/status-reader.ts';
import { jobsDescription } from '../../../src/runner/config/read-description.ts';
import { readLarge } from '../../../src/runner/client/parse-body.ts';
import type { HttpResponse } from '../../../src/runner/client/exchange.ts';
import type { StatusReply } from '../../../src/runner/pipeline/ports.ts';
import { answer } from '../../fakes/scripted-server.ts';
import { jobId, statusFrom } from './client.ts';

const depth: FilePlace = { label: 'depth', kind: 'exr', at: ['files', 'depth'] };
const camera: FilePlace = { label: 'camera', kind: 'json', at: ['camera'] };
const objects: FilePlace = { label: 'objects', kind: 'json', at: ['objects'] };
const picture = randomBytes(90).toString('base64');

async function found(output: string, files: FilePlace[], image?: string): Promise<FoundPicture[]> {
  const reply = await statusFrom(answer(200, `{"id":"${jobId}","status":"COMPLETED","output":${output}}`), {
    image,
    files,
  });
  return reply.kind === 'completed' ? reply.pictures : expect.fail(JSON.stringify(reply));
}

const textOf = (file: FoundPicture | undefined): string =>
  file !== undefined && 'bytes' in file ? Buffer.from(file.bytes).toString() : expect.fail('no bytes');

it.each([
  ['an object', (output: string) => output],
  ['a list of one object', (output: string) => `[ ${output} ]`],
])('files are found in %s, after the pictures, with numbers as they were written', async (_, within) => {
  const output = `{"rendered_image":"${picture}","seed":7,"files":{"depth":"AAAA"},
    "camera": {"id": 12345678901234567890, "matrix": [1.0, -2.50e-7]}, "objects": [{"index": 1}]}`;
  const [first, ...files] = await found(within(output), [depth, camera, objects]);
  expect(first).toEqual({ base64: picture, seed: '7' });
  expect(files.map(({ named }) => named?.label)).toEqual(['depth', 'camera', 'objects']);
  expect(files[0]).toEqual({ base64: 'AAAA', named: { label: 'depth', kind: 'exr' } });
  expect(textOf(files[1])).toBe('{"id": 12345678901234567890, "matrix": [1.0, -2.50e-7]}\n');
  // A list is kept as a list if JSON was requested.
  expect(textOf(files[2])).toBe('[{"index": 1}]\n');
});

it('files are found as a text that is JSON, as base64 of it, as an address, and as an empty list', async () => {
  const url = 'https://cdn.example/a.exr';
  const output = `{"image":"${picture}","camera":"{\\"fov\\": 50}","objects":[],"files":{"depth":"${url}"}}`;
  const [, ...files] = await found(output, [depth, camera, objects]);
  expect(files[0]).toMatchObject({ url });
  expect([textOf(files[1]), textOf(files[2])]).toEqual(['{"fov": 50}', '[]\n']);
  const base64 = await found(`{"image":"${picture}","camera":"e30="}`, [camera]);
  expect(base64[1]).toMatchObject({ base64: 'e30=' });
});

it.each([
  ['is not there', '{"rendered_image":"PICTURE","files":{"mask":"AAAA"}}'],
  ['is empty', '{"rendered_image":"PICTURE","files":{"depth":""}}'],
  ['is null', '{"rendered_image":"PICTURE","files":{"depth":null}}'],
  ['is no text', '{"rendered_image":"PICTURE","files":{"depth":{"a":1}}}'],
  [
    'is in the second of two',
    '[{"rendered_image":"PICTURE"},{"rendered_image":"PICTURE","files":{"depth":"AAAA"}}]',
  ],
  ['would be inherited', '{"rendered_image":"PICTURE","files":"text"}'],
])('a job fails if one of its files %s', async (_, output) => {
  const text = output.replaceAll('PICTURE', picture);
  const reply = await statusFrom(answer(200, `{"status":"COMPLETED","output":${text}}`), { files: [depth] });
  expect(reply).toMatchObject({
    kind: 'ended',
    failure: {
      kind: 'picture-not-found',
      text: expect.stringContaining('the file depth is not at files.depth of the output'),
    },
  });
});

it('a file counts as missing at the name of a property that any object or text has', async () => {
  for (const at of [['constructor'], ['files', 'length']])
    expect(
      await statusFrom(answer(200, `{"status":"COMPLETED","output":{"files":"x","image":"${picture}"}}`), {
        files: [{ label: 'odd', kind: 'json', at }],
      }),
    ).toMatchObject({ failure: { kind: 'picture-not-found' } });
});

it.each([
  ['an object', (output: string) => output],
  ['a list of one object', (output: string) => `[${output}]`],
])('of %s without pictures, the first file keeps the requested values of the rest', async (_, within) => {
  const output = within('{"files":{"depth":"AAAA"},"camera":{"fov":50},"score":0.5,"many":[1,2]}');
  const values = (...names: string[]) => names.map((name) => ({ name, at: [name] }));
  const keptOf = async (of: string, asked: NamedValue[]): Promise<unknown[]> => {
    const body = `{"status":"COMPLETED","output":${of}}`;
    const places = { image: 'none', files: [depth, camera], values: asked };
    const reply = await statusFrom(answer(200, body), places);
    return reply.kind === 'completed' ? reply.pictures.map((file) => file.output) : [reply];
  };
  expect(await keptOf(output, values('score', 'many'))).toMatchObject([
    { rest: { score: 0.5 }, odd: ['many'] },
    undefined as never,
  ]);
  expect(await keptOf(output, values('score'))).not.toMatchObject([{ odd: [] }]);
  expect(await keptOf(output, [])).toEqual([undefined, undefined]);
});

it('reports a failure in the words of the worker, and requires a picture unless none is expected', async () => {
  const failed = await statusFrom(answer(200, '{"status":"COMPLETED","output":{"error":"out of memory"}}'), {
    files: [depth],
  });
  expect(failed).toMatchObject({ failure: { kind: 'failed-inside' } });
  const bare = '{"files":{"depth":"AAAA"}}';
  const lost = await statusFrom(answer(200, `{"status":"COMPLETED","output":${bare}}`), { files: [depth] });
  expect(lost).toMatchObject({ failure: { kind: 'picture-not-found' } });
  expect(await found(bare, [depth], 'none')).toEqual([
    { base64: 'AAAA', named: { label: 'depth', kind: 'exr' } },
  ]);
  const none = await statusFrom(answer(200, '{"status":"COMPLETED","output":{"files":{}}}'), {
    image: 'none',
    files: [depth],
  });
  expect(none).toMatchObject({ failure: { kind: 'picture-not-found' } });
});

it('reads large answers in the same way, also with long texts within JSON', () => {
  const large = (bytes: number): string => randomBytes(bytes).toString('base64');
  const places = { image: undefined, files: [depth, camera] };
  const body = (cameraJson: string): Buffer =>
    Buffer.from(
      `{"id":"job-1","output":[{"rendered_image":"${large(90_000)}","files":{"depth":"${large(60_000)}"},"camera":${cameraJson}}],"status":"COMPLETED"}`,
    );
  const head = { status: 200, headers: {} };
  const plain = body('{"id":12345678901234567890}');
  const reader = new StatusReader(jobsDescription('v2'), places);
  const read = (text: HttpResponse): StatusReply => reader.status(text, 'job-1') as StatusReply;
  const usual = read({ ...head, body: plain.toString('latin1') });
  const lifted = readLarge({ ...head, bytes: Buffer.from(plain) }, read);
  expect(decoded(lifted)).toEqual(decoded(usual));
  expect(decoded(lifted)).toHaveLength(3);
  // Large answers have placeholders in place of long texts. A placeholder must not end up in the file, so
  // this answer is read the usual way.
  const nested = body(`{"texture":"${large(30_000)}"}`);
  expect(readLarge({ ...head, bytes: nested }, read)).toBeUndefined();
});

function decoded(reply: StatusReply | undefined): [string | undefined, string][] {
  if (reply?.kind !== 'completed') return expect.fail('not completed');
  return reply.pictures.map((file) => {
    const bytes = 'bytes' in file ? file.bytes : Buffer.from('base64' in file ? file.base64 : '', 'base64');
    return [file.named?.label, Buffer.from(bytes).toString('base64')];
  });
}
