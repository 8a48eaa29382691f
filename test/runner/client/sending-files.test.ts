/** Promise: a file is sent unchanged since the list was read, or nothing is sent. */
import { createHash, hash } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ByteSemaphore } from '../../../src/lib/limits.ts';
import { failure as failed } from '../../../src/runner/client/exchange.ts';
import { SendingFiles } from '../../../src/runner/client/sending-files.ts';
import { FatalFailure } from '../../../src/runner/core/failure.ts';
import { fileText } from '../../../src/runner/core/file-text.ts';
import type { ReadObject } from '../../../src/runner/files/sent-files.ts';
import type { JsonObject } from '../../../src/lib/text/json.ts';
import type { RenderService, SubmitReply } from '../../../src/runner/pipeline/ports.ts';
import { tempFolder } from '../config/pipeline-file.ts';

const endpoint = { baseUrl: 'https://service.example', id: 'x', version: 'v2' } as const;
const never = new AbortController().signal;

function describedIn(folder: string, name: string, content: string): JsonObject {
  writeFileSync(join(folder, name), content);
  const sha256 = createHash('sha256').update(content).digest('hex');
  return { scene: 'x', image: fileText(['data:,', { path: name, sha256, bytes: content.length }]) };
}

function sendingFiles(
  service: RenderService,
  folder: string,
  memory: ByteSemaphore,
  readObject: ReadObject,
): RenderService {
  return new SendingFiles(folder, memory, readObject).around(service);
}

/** Creates a service that records the inputs it was sent. */
function recording(submit?: () => Promise<SubmitReply>): { sent: JsonObject[]; service: RenderService } {
  const sent: JsonObject[] = [];
  const unused = (): never => {
    throw new Error('nobody asked for this');
  };
  const service: RenderService = {
    submit: async (_, input) => {
      sent.push(input);
      return submit?.() ?? { kind: 'accepted', jobId: 'j', status: 'IN_QUEUE' };
    },
    status: unused,
    copyResult: unused,
    cancel: unused,
    health: unused,
  };
  return { sent, service };
}

const noObject = (): never => {
  throw new Error('nobody asked for an object of a bucket');
};

it('the file is in its place, as base64', async () => {
  const folder = tempFolder();
  const { sent, service } = recording();
  const input = describedIn(folder, 'a.jpg', 'ten bytes.');
  expect(
    await sendingFiles(service, folder, new ByteSemaphore(1e6), noObject).submit(endpoint, input, never),
  ).toMatchObject({
    kind: 'accepted',
  });
  expect(sent).toEqual([{ scene: 'x', image: 'data:,dGVuIGJ5dGVzLg==' }]);
  const plain = { scene: 'y', list: [1, null, { a: 'b' }] };
  await sendingFiles(service, folder, new ByteSemaphore(1e6), noObject).submit(endpoint, plain, never);
  expect(sent[1]).toBe(plain);
});

it('a submission whose answer was lost is looked for, with its file and without one', async () => {
  const folder = tempFolder();
  const { service } = recording();
  const asked: unknown[] = [];
  const looking: RenderService = {
    ...service,
    submit: async (...args) => (asked.push(args.slice(3)), { kind: 'not-found', text: 'nothing there' }),
  };
  const sending = sendingFiles(looking, folder, new ByteSemaphore(1e6), noObject);
  const lost = { sentAt: 0, sentBy: 0, overWithinMs: 0, isTaken: async () => false };
  for (const input of [{ scene: 'x' }, describedIn(folder, 'a.jpg', 'ten bytes.')])
    expect(await sending.submit(endpoint, input, never, 'key', lost)).toMatchObject({ kind: 'not-found' });
  expect(asked).toEqual([
    ['key', lost],
    ['key', lost],
  ]);
});

it.each<[string, (file: string) => void, RegExp]>([
  [
    'edited',
    (file) => writeFileSync(file, 'ten bytes!'),
    /^the file "a.jpg" has changed since the list was read; nothing was sent/,
  ],
  [
    'longer',
    (file) => writeFileSync(file, 'ten bytes. And more'),
    /^the file "a.jpg" has changed since the list was read/,
  ],
  ['gone', (file) => rmSync(file), /^the file "a.jpg" can no longer be read \(ENOENT\)/],
])('nothing is sent if the file is %s', async (_, change, text) => {
  const folder = tempFolder();
  const { sent, service } = recording();
  const input = describedIn(folder, 'a.jpg', 'ten bytes.');
  change(join(folder, 'a.jpg'));
  expect(
    await sendingFiles(service, folder, new ByteSemaphore(1e6), noObject).submit(endpoint, input, never),
  ).toEqual({
    kind: 'failure',
    failure: { kind: 'file-changed', text: expect.stringMatching(text) as string },
  });
  expect(sent).toEqual([]);
});

it('nothing is sent if another runner may have taken over the batch while the file was read', async () => {
  const { sent, service } = recording();
  const content = Buffer.from('ten bytes.');
  const gone = failed('checkpoint-gone', 'no answer');
  let isFresh = true;
  const files = new SendingFiles(
    '/',
    new ByteSemaphore(1e6),
    async () => ((isFresh = false), content),
    undefined,
    () => (isFresh ? undefined : gone),
  );
  const file = { path: 's3://night/a.png', sha256: hash('sha256', content), bytes: content.length };
  const sending = files.around(service);
  expect(await sending.submit(endpoint, { image: fileText([file]) }, never)).toEqual(gone);
  expect(await sending.submit(endpoint, { scene: 'x' }, never)).toEqual(gone);
  expect(sent).toEqual([]);
});

it('no more files are read at a time than memory has room for, and all are sent', async () => {
  const folder = tempFolder();
  let onWay = 0;
  let most = 0;
  let hasSecond = (): void => undefined;
  const second = new Promise<void>((resolve) => (hasSecond = resolve));
  const room = 3 * 4000 * 2;
  const memory = new ByteSemaphore(room);
  const { sent, service } = recording(async () => {
    most = Math.max(most, ++onWay);
    // The first submission stays in progress until the second one arrives.
    if (onWay === 2) hasSecond();
    await second;
    await new Promise(setImmediate);
    expect(memory.tryTake(room), 'it holds its part until it is sent').toBe(false);
    onWay -= 1;
    return { kind: 'accepted', jobId: 'j', status: 'IN_QUEUE' };
  });
  const inputs = Array.from({ length: 12 }, (_, i) => describedIn(folder, `${i}`, 'x'.repeat(3000)));
  const sending = sendingFiles(service, folder, memory, noObject);
  await Promise.all(inputs.map((input) => sending.submit(endpoint, input, never)));
  expect(sent).toHaveLength(12);
  expect(most).toBe(2);
});

it('a picture in a bucket is sent if it is the one on record, and nothing if the bucket does not answer', async () => {
  const { sent, service } = recording();
  const content = Buffer.from('ten bytes.');
  const path = 's3://night/owls/images/a.png';
  const file = { path, sha256: hash('sha256', content), bytes: content.length };
  const send = (readObject: ReadObject) =>
    sendingFiles(service, '/', new ByteSemaphore(1e6), readObject).submit(
      endpoint,
      { image: fileText([file]) },
      never,
    );
  expect(await send(async (address) => (address === path ? content : undefined))).toMatchObject({
    kind: 'accepted',
  });
  expect(sent).toEqual([{ image: content.toString('base64') }]);
  const failure = { kind: 'output-unwritable' as const, text: 'the bucket does not answer' };
  const answers: [ReadObject, object][] = [
    [async () => Buffer.from('others'), { kind: 'file-changed' }],
    [async () => undefined, { kind: 'file-changed' }],
    [() => Promise.reject(new FatalFailure(failure)), failure],
  ];
  for (const [readObject, expected] of answers)
    expect(await send(readObject)).toMatchObject({ kind: 'failure', failure: expected });
  expect(sent).toHaveLength(1);
});
