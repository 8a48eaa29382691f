/** Promise: large answers are received one after another as memory allows, and waiting loses nothing. */
import { once, setMaxListeners } from 'node:events';
import { gzipSync } from 'node:zlib';
import { expect, it, onTestFinished, vi } from 'vitest';
import { HttpsDownloads } from '../../../src/runner/client/https-downloads.ts';
import { Reservation } from '../../../src/runner/client/receiver.ts';
import { ByteSemaphore } from '../../../src/lib/limits.ts';
import type { StatusReply } from '../../../src/runner/pipeline/ports.ts';
import { answer, headOf, inTurn, scriptedServer, type Script } from '../../fakes/scripted-server.ts';
import { selfSigned } from '../../fakes/self-signed.ts';
import { isWhole } from '../../fakes/tier.ts';
import { clientOf, failure, jobId } from './client.ts';

const never = new AbortController().signal;
setMaxListeners(0, never);
const lasting = { Connection: 'keep-alive' };

/** Returns an answer with a picture of these bytes. */
function completed(bytes: Buffer): string {
  return JSON.stringify({ id: jobId, status: 'COMPLETED', output: [bytes.toString('base64')] });
}

const picture = Buffer.alloc(150_000, 'picture');
const body = completed(picture);

/** Creates a memory budget that another reservation uses completely. */
function takenMemory(bytes = 1_000_000): { memory: ByteSemaphore; other: Reservation } {
  const memory = new ByteSemaphore(bytes);
  const other = new Reservation(memory);
  other.tryGrow(bytes);
  return { memory, other };
}

it('large answers are never more at a time than have room, and all come', async () => {
  const bytes = isWhole ? 3_000_000 : 300_000;
  const pictures = Array.from({ length: 40 }, (_, i) => Buffer.alloc(bytes, `picture ${i}`));
  const { url } = await scriptedServer((socket, request) => {
    const number = Number(/\d+$/.exec(request.path)?.[0]);
    const text = completed(pictures[number] ?? Buffer.alloc(0)).replace(jobId, `job-${number}`);
    answer(200, text, lasting)(socket, request);
  });
  const { service } = clientOf(url, { memory: new ByteSemaphore((16 * bytes) / 3) });
  const endpoint = { baseUrl: url, id: 'scene-renderer', version: 'v2' } as const;
  const held = new Set<number>();
  let most = 0;
  const collect = async (number: number): Promise<void> => {
    const reply = (await service.status({ endpoint, jobId: `job-${number}` }, never)) as StatusReply & {
      kind: 'completed';
    };
    held.add(number);
    most = Math.max(most, held.size);
    // Gives other answers time to arrive.
    for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
    const [found] = reply.pictures;
    expect(
      Buffer.compare(
        found && 'bytes' in found ? found.bytes : Buffer.alloc(0),
        pictures[number] ?? Buffer.alloc(1),
      ),
    ).toBe(0);
    held.delete(number);
    reply.share?.release();
  };
  await Promise.all(pictures.map((_, number) => collect(number)));
  // Base64 takes a third more memory than the picture.
  expect(most).toBeLessThanOrEqual(4);
}, 60_000);

it.each<[string, Script]>([
  ['with its length', answer(200, body, lasting)],
  ['in chunks', inChunks(body)],
  ['that is packed', answer(200, gzipSync(body), { ...lasting, 'Content-Encoding': 'gzip' })],
  ['with escapes in its base64', answer(200, body.replaceAll('G', String.raw`\u0047`), lasting)],
])('one %s that is larger than all of the memory is received, alone', async (_, script) => {
  const { memory, other } = takenMemory(1_000);
  const { url } = await scriptedServer(script);
  const { status } = clientOf(url, { memory });
  const replies = Promise.all([status(), status(), status()]);
  other.release();
  for (const reply of await replies) expect(isPicture(reply)).toBe(true);
  expect(memory.tryTake(1_000)).toBe(true);
});

it('large answers in chunks are requested twice at most, once one of them has stated its size', async () => {
  const large = completed(Buffer.alloc(isWhole ? 1_500_000 : 150_000, 'picture'));
  const { memory, other } = takenMemory(2 * large.length);
  const { url, requests, received } = await scriptedServer(inChunks(large));
  const { status } = clientOf(url, { memory });
  other.release();
  expect(await status()).toMatchObject({ kind: 'completed' });
  const before = requests.length;
  other.tryGrow(2 * large.length);
  const replies = Promise.all(Array.from({ length: 24 }, () => status()));
  await received(before + 24);
  other.release();
  for (const reply of await replies) expect(reply).toMatchObject({ kind: 'completed' });
  expect(requests.length).toBe(before + 48);
});

it('large answers leave small answers alone, and hold up no other request', async () => {
  const small = answer(200, `{"id":"${jobId}","status":"IN_QUEUE"}`, lasting);
  const { memory, other } = takenMemory();
  const { url, received } = await scriptedServer(
    inTurn(answer(200, body, lasting), small, small, answer(200, body, lasting)),
  );
  const { status, health } = clientOf(url, { memory });
  const large = status();
  await received(1);
  expect(await status()).toMatchObject({ kind: 'running' });
  expect(await health()).toEqual({ kind: 'answers' });
  other.release();
  expect(await large).toMatchObject({ kind: 'completed' });
});

it('large answers keep no connection from others meanwhile, and time out no sooner', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { memory, other } = takenMemory();
  let dropped = 0;
  const { url } = await scriptedServer((socket, request) => {
    const isHealth = request.path.endsWith('/health');
    if (!isHealth) socket.once('close', () => (dropped += 1));
    answer(200, isHealth ? '{}' : body, lasting)(socket, request);
  });
  const requestTimeoutMs = 10_000;
  const { status, health } = clientOf(url, { memory, requestTimeoutMs, wholeAnswerMs: 20_000 });
  const large = Array.from({ length: 64 }, () => status());
  await expect.poll(() => dropped).toBe(64);
  expect(await health()).toEqual({ kind: 'answers' });
  // Meanwhile a request to a silent service times out.
  const silent = await scriptedServer(() => undefined);
  const unanswered = clientOf(silent.url, { requestTimeoutMs }).status();
  await silent.received(1);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await unanswered).toEqual(failure('poll-failed', 'no answer came in time'));
  other.release();
  for (const reply of await Promise.all(large)) expect(reply).toMatchObject({ kind: 'completed' });
});

it('large answers stop waiting when the run is left', async () => {
  const { memory } = takenMemory();
  const leaving = new AbortController();
  const { url, received } = await scriptedServer(answer(200, body, lasting));
  const { status } = clientOf(url, { memory });
  const replies = [status(leaving.signal), status(leaving.signal)];
  await received(2);
  leaving.abort();
  for (const reply of await Promise.all(replies))
    expect(reply).toEqual(failure('poll-failed', 'was aborted'));
});

it.each<[string, string, Record<string, string>]>([
  ['a service that keeps connections', '1.1', lasting],
  ['an old service', '1.0', {}],
  ['a service that closes each connection', '1.1', { Connection: 'close' }],
  ['a service that does not tell', '1.1', {}],
])('large answers of %s wait without a connection', async (_, version, headers) => {
  const { memory, other } = takenMemory();
  const ended = new EventTarget();
  const first: Script = (socket) => {
    socket.once('close', () => ended.dispatchEvent(new Event('ended')));
    socket.write(headOf(200, { ...headers, 'Content-Length': String(body.length) }).replace('1.1', version));
  };
  const { url, requests } = await scriptedServer(inTurn(first, answer(200, body, headers)));
  const gone = once(ended, 'ended');
  const asked = clientOf(url, { memory }).status();
  await gone;
  expect(requests.length).toBe(1);
  other.release();
  expect(isPicture(await asked)).toBe(true);
});

it('pictures by address are large answers as well: there is room for all of a job before its first is downloaded', async () => {
  const { memory, other } = takenMemory(4 * picture.length);
  const tls = selfSigned('cdn.test');
  const { port, requests } = await scriptedServer(answer(200, picture, lasting), { tls });
  const downloads = new HttpsDownloads(
    { hosts: [`cdn.test:${port}`], maxBytes: 1_000_000, requestTimeoutMs: 30_000 },
    { lookup: async () => [{ address: '127.0.0.1', family: 4 }], isPublic: () => true, ca: tls.cert },
  );
  onTestFinished(() => downloads.close());
  const url = `https://cdn.test:${port}/a.png`;
  const memoryWait = whenCalled();
  const share = new Reservation(memory, memoryWait.call);
  const first = downloads.fetch(url, never, { share, pictures: 3 });
  await memoryWait.called;
  expect(requests.length).toBe(1);
  other.release();
  for (const fetched of [await first, await downloads.fetch(url, never)])
    expect('bytes' in fetched && picture.equals(fetched.bytes)).toBe(true);
  expect(share.bytes).toBe(3 * picture.length);
  expect(memory.tryTake(picture.length + 1)).toBe(false);
  share.release();
  expect(memory.tryTake(4 * picture.length)).toBe(true);
});

it('large answers give back their memory if they break off: others do not wait until they are requested again', async () => {
  const memory = new ByteSemaphore(1_000_000);
  const tls = selfSigned('cdn.test');
  const half: Script = (socket) =>
    void socket.end(headOf(200, { ...lasting, 'Content-Length': '150000' }) + 'picture');
  const { port } = await scriptedServer(half, { tls });
  const downloads = new HttpsDownloads(
    { hosts: [`cdn.test:${port}`], maxBytes: 1_000_000, requestTimeoutMs: 30_000 },
    { lookup: async () => [{ address: '127.0.0.1', family: 4 }], isPublic: () => true, ca: tls.cert },
  );
  onTestFinished(() => downloads.close());
  const room = { share: new Reservation(memory), pictures: 1 };
  const fetched = await downloads.fetch(`https://cdn.test:${port}/a.png`, never, room);
  expect(fetched).toMatchObject({ kind: 'download-failed' });
  expect(memory.tryTake(1_000_000)).toBe(true);
});

/** Compares bytes directly, because the comparison of `expect` takes seconds. */
function isPicture(reply: StatusReply): boolean {
  const [found] = reply.kind === 'completed' ? reply.pictures : [];
  if (found === undefined || 'url' in found || 'received' in found) return false;
  return picture.equals('bytes' in found ? found.bytes : Buffer.from(found.base64, 'base64'));
}

function inChunks(text: string): Script {
  return (socket) => {
    socket.write(headOf(200, { ...lasting, 'Transfer-Encoding': 'chunked' }));
    socket.write(`${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`);
  };
}

it('reports the answer that waits, and no other', async () => {
  const { memory, other } = takenMemory();
  const { url } = await scriptedServer(answer(200, body, lasting));
  const { service } = clientOf(url, { memory });
  const endpoint = { baseUrl: url, id: 'scene-renderer', version: 'v2' } as const;
  const memoryWait = whenCalled();
  const waiting = service.status({ endpoint, jobId }, never, memoryWait.call);
  await memoryWait.called;
  other.release();
  const first = await waiting;
  expect(first).toMatchObject({ kind: 'completed' });
  if (first.kind === 'completed') first.share?.release();
  const second = await service.status({ endpoint, jobId }, never, () =>
    expect.unreachable('it did not wait'),
  );
  expect(second).toMatchObject({ kind: 'completed' });
});

function whenCalled(): { call: () => void; called: Promise<void> } {
  let call = (): void => undefined;
  const called = new Promise<void>((resolve) => (call = resolve));
  return { call: () => call(), called };
}
