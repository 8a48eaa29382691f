/**
 * Promise: clips are downloaded into files, resumed where a connection broke, and never assembled from two
 * different files.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FatalFailure } from '../../../src/runner/core/failure.ts';
import { HttpsDownloads } from '../../../src/runner/client/https-downloads.ts';
import { ReceivedFiles } from '../../../src/runner/client/received-files.ts';
import { digestOf, rangeHost, type RangeFile } from '../../fakes/range-host.ts';
import { answer, headOf, inTurn, scriptedServer, type Script } from '../../fakes/scripted-server.ts';
import { canMount, mountSmallDisk } from '../../e2e/small-disk.ts';

const never = new AbortController().signal;
const endpoint = { baseUrl: 'http://boxes.test', id: '', version: 'comfyui' };
const job = { endpoint, jobId: 'job-1' };
const key = { job, nth: 0 };
const megabyte = 1_000_000;
const size = 3 * megabyte;

interface Limits {
  maxBytes?: number;
  timeoutMs?: number;
  folder?: string;
}

function clientOf(origin: string, limits: Limits = {}) {
  const folder = limits.folder ?? mkdtempSync(join(tmpdir(), 'nightrender-clips-'));
  if (limits.folder === undefined) onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const received = new ReceivedFiles(folder, limits.maxBytes ?? 10 * megabyte);
  const downloads = new HttpsDownloads({
    hosts: [origin],
    maxBytes: 1_000,
    requestTimeoutMs: limits.timeoutMs ?? 30_000,
    received,
  });
  onTestFinished(() => downloads.close());
  return {
    received,
    folder,
    files: () => readdirSync(folder),
    remove: (of = job) => downloads.remove(of),
    receive: (url: string, signal = never, of = key) => downloads.receive(url, of, signal),
  };
}

/** Starts a host with this file, and a client that may download from it. */
async function linesTo(file: (nth: number) => RangeFile, limits: Limits = {}) {
  const host = await rangeHost(file);
  return { host, ...clientOf(host.url, limits) };
}

const rangesOf = (host: { requests: { headers: Record<string, string> }[] }) =>
  host.requests.map(({ headers }) => headers['range'] ?? 'all');

function whole(file: RangeFile): object {
  return { received: { path: expect.any(String) as string, length: file.bytes, sha256: digestOf(file) } };
}

function failure(kind: string, text = /./): object {
  return expect.objectContaining({ kind, text: expect.stringMatching(text) as string }) as object;
}

it('a clip comes into a file of its own, which is removed with its job', async () => {
  const file = { bytes: size };
  const { host, receive, remove, files } = await linesTo(() => file);
  const reply = await receive(`${host.clip}?X-Signature=CANARY`);
  expect(reply).toEqual(whole(file));
  expect(statSync('received' in reply ? reply.received.path : '').size).toBe(size);
  expect(Object.keys(host.requests[0]?.headers ?? {}).toSorted()).toEqual([
    'accept',
    'accept-encoding',
    'connection',
    'host',
    'user-agent',
  ]);
  await remove();
  expect(files()).toEqual([]);
});

it('a clip is not received again if another result of its job has to be', async () => {
  const file = { bytes: size };
  const { host, receive } = await linesTo(() => file);
  await receive(host.clip);
  expect(await receive(host.clip)).toEqual(whole(file));
  expect(await receive(host.clip, never, { ...key, nth: 1 })).toEqual(whole(file));
  expect(host.requests).toHaveLength(2);
});

it('a clip has a file of its own beside a job of the same id at another endpoint', async () => {
  const files = [{ bytes: size }, { bytes: size, mark: 'other' }];
  const { host, receive, remove } = await linesTo((nth) => files[nth - 1] ?? { bytes: 0 });
  const elsewhere = { ...job, endpoint: { ...endpoint, baseUrl: 'http://other.test' } };
  const [one, other] = [
    await receive(host.clip),
    await receive(host.clip, never, { ...key, job: elsewhere }),
  ];
  expect([one, other]).toEqual(files.map(whole));
  await remove(elsewhere);
  expect(existsSync('received' in one ? one.received.path : '')).toBe(true);
});

it('a clip leaves nothing once the run is over, complete or not', async () => {
  const { host, receive, received, files } = await linesTo((nth) => ({
    bytes: size,
    breaksAfter: () => (nth === 1 ? undefined : 1_000),
  }));
  await receive(host.clip);
  await receive(host.clip, never, { job: { endpoint, jobId: 'job-2' }, nth: 0 });
  expect(files()).toHaveLength(2);
  await received.removeAll();
  expect(files()).toEqual([]);
});

it('a clip of a killed run leaves nothing behind, and files of others stay', async () => {
  const { received, folder, files } = clientOf('http://cdn.test');
  writeFileSync(join(folder, '.nightrender-999999999-abc-1.tmp'), 'half a clip');
  writeFileSync(join(folder, 'mine.mp4'), '');
  await received.sweep(false);
  expect(files()).toEqual(['mine.mp4']);
});

describe('a connection that breaks', () => {
  it.each<[string, Record<string, string>, string]>([
    ['a strong ETag', { ETag: '"v1"' }, '"v1"'],
    [
      'the time of the last change',
      {
        ETag: 'W/"v1"',
        'Last-Modified': 'Sun, 29 Nov 2026 10:00:00 GMT',
        Date: 'Mon, 30 Nov 2026 10:00:00 GMT',
      },
      'Sun, 29 Nov 2026 10:00:00 GMT',
    ],
  ])('continues at once by %s', async (_, headers, validator) => {
    const file: RangeFile = {
      bytes: size,
      headers,
      breaksAfter: (nth) => (nth === 1 ? 2 * megabyte : undefined),
    };
    const { host, receive } = await linesTo(() => file);
    expect(await receive(host.clip)).toEqual(whole(file));
    expect(rangesOf(host)).toEqual(['all', `bytes=${2 * megabyte}-`]);
    expect(host.requests[1]?.headers['if-range']).toBe(validator);
    expect(host.sent()).toBe(size);
  });

  it('is a failed try if it brought little, and the next try goes on there, also with a new signature', async () => {
    const file: RangeFile = { bytes: size, breaksAfter: (nth) => (nth <= 2 ? 100_000 : undefined) };
    const { host, receive } = await linesTo(() => file);
    expect(await receive(`${host.clip}?sig=1`)).toEqual(
      failure('download-failed', /the clip at .*clip\.mp4/),
    );
    expect(await receive(`${host.clip}?sig=2`)).toEqual(failure('download-failed'));
    expect(await receive(`${host.clip}?sig=3`)).toEqual(whole(file));
    expect(rangesOf(host)).toEqual(['all', 'bytes=100000-', 'bytes=200000-']);
  });

  it.each<[string, Record<string, string>]>([
    ['no validator', { 'X-Any': '1' }],
    ['a weak ETag', { ETag: 'W/"v1"' }],
    [
      'a change in the second of the answer',
      { 'Last-Modified': 'Mon, 30 Nov 2026 10:00:00 GMT', Date: 'Mon, 30 Nov 2026 10:00:00 GMT' },
    ],
  ])('begins anew with %s', async (_, headers) => {
    const file: RangeFile = {
      bytes: size,
      headers,
      breaksAfter: (nth) => (nth === 1 ? 2 * megabyte : undefined),
    };
    const { host, receive } = await linesTo(() => file);
    expect(await receive(host.clip)).toEqual(failure('download-failed'));
    expect(await receive(host.clip)).toEqual(whole(file));
    expect(rangesOf(host)).toEqual(['all', 'all']);
  });

  it('restarts at a host without ranges, and no try lasts forever', async () => {
    const file: RangeFile = {
      bytes: size,
      takesRanges: false,
      breaksAfter: (nth) => (nth <= 2 ? 2 * megabyte : undefined),
    };
    const { host, receive } = await linesTo(() => file);
    expect(await receive(host.clip)).toEqual(failure('download-failed'));
    expect(host.requests).toHaveLength(2);
    expect(await receive(host.clip)).toEqual(whole(file));
  });

  it('restarts if the file has changed meanwhile', async () => {
    const now = (nth: number): RangeFile => ({
      bytes: size,
      mark: nth === 1 ? 'old' : 'new',
      breaksAfter: () => (nth === 1 ? 2 * megabyte : undefined),
    });
    const { host, receive } = await linesTo(now);
    expect(await receive(host.clip)).toEqual(whole(now(2)));
  });

  it('restarts at another URL', async () => {
    const file: RangeFile = { bytes: size, breaksAfter: (nth) => (nth === 1 ? 100_000 : undefined) };
    const { host, receive, files } = await linesTo(() => file);
    await receive(host.clip);
    expect(await receive(`${host.url}/b/clip.mp4`)).toEqual(whole(file));
    expect(rangesOf(host)).toEqual(['all', 'all']);
    expect(files()).toHaveLength(1);
  });

  it('restarts if the file on disk lost its content', async () => {
    const file: RangeFile = { bytes: size, breaksAfter: (nth) => (nth <= 2 ? 100_000 : undefined) };
    const { host, receive, folder, files } = await linesTo(() => file);
    await receive(host.clip);
    for (const name of files()) writeFileSync(join(folder, name), 'short');
    await receive(host.clip);
    for (const name of files()) rmSync(join(folder, name));
    expect(await receive(host.clip)).toEqual(whole(file));
    expect(rangesOf(host)).toEqual(['all', 'all', 'all']);
  });

  type Change = NonNullable<RangeFile['change']>;
  const wrongRests: [string, Change][] = [
    ['from elsewhere', ({ headers }) => (headers['Content-Range'] = `bytes 7-${size - 1}/${size}`)],
    ['without saying which', ({ headers }) => delete headers['Content-Range']],
    ['of another file', ({ headers }) => (headers['ETag'] = '"other"')],
    ['of a file that is not named', ({ headers }) => delete headers['ETag']],
    ['compressed', ({ headers }) => (headers['Content-Encoding'] = 'gzip')],
  ];
  it.each(wrongRests)('is not continued by a rest %s', async (_, change) => {
    const file: RangeFile = {
      bytes: size,
      breaksAfter: (nth) => (nth === 1 ? 2 * megabyte : undefined),
      change: (head, nth) => void (nth === 2 && change(head, nth)),
    };
    const { host, receive } = await linesTo(() => file);
    expect(await receive(host.clip)).toEqual(whole(file));
    expect(rangesOf(host)).toEqual(['all', `bytes=${2 * megabyte}-`, 'all']);
  });

  it('is given up at a host that always sends another part', async () => {
    const { host, receive } = await linesTo(() => ({
      bytes: size,
      change: (head) => Object.assign(head, { status: 206 }),
    }));
    expect(await receive(host.clip)).toEqual(failure('download-failed', /another part than was asked for/));
    expect(host.requests).toHaveLength(2);
  });

  it('restarts if the rest is refused (416)', async () => {
    const file: RangeFile = { bytes: size, breaksAfter: (nth) => (nth === 1 ? 2 * megabyte : undefined) };
    const { host, receive } = await linesTo((nth) => ({
      ...file,
      ...(nth === 2 && { bytes: 2 * megabyte, change: (head) => (head.status = 416) }),
    }));
    expect(await receive(host.clip)).toEqual(whole(file));
    expect(rangesOf(host)).toEqual(['all', `bytes=${2 * megabyte}-`, 'all']);
  });

  it('includes a connection that no longer brings anything', async () => {
    const host = await scriptedServer((socket) => {
      socket.write(`${headOf(200, { 'Content-Length': '99', ETag: '"1"' })}abc`);
    });
    const { receive } = clientOf(host.url, { timeoutMs: 100 });
    expect(await receive(`${host.url}/a`)).toEqual(failure('download-failed', /complete|arriving/));
    expect(await receive(`${host.url}/a`)).toEqual(failure('download-failed'));
    expect(rangesOf(host)).toEqual(['all', 'bytes=3-']);
  });

  it('includes the connection of a run that ends', async () => {
    const abandon = new AbortController();
    const host = await scriptedServer((socket) => {
      socket.write(`${headOf(200, { 'Content-Length': '99' })}abc`);
      abandon.abort();
    });
    expect(await clientOf(host.url).receive(`${host.url}/a`, abandon.signal)).toEqual(
      failure('download-failed', /run is ending/),
    );
  });
});

describe('a clip that does not arrive', () => {
  const cases: [string, Script, RegExp][] = [
    ['404', answer(404), /answered 404/],
    ['no byte', answer(200), /empty/],
    ['an unknown encoding', answer(200, 'x', { 'Content-Encoding': 'zstd' }), /encoded as "zstd"/],
    ['no gzip', answer(200, 'x'.repeat(99), { 'Content-Encoding': 'gzip' }), /cannot be unpacked/],
    [
      'no gzip in many pieces',
      answer(200, 'x'.repeat(400_000), { 'Content-Encoding': 'gzip' }),
      /cannot be unpacked/,
    ],
  ];
  it.each(cases)('fails because there is %s', async (_, script, text) => {
    const host = await scriptedServer(script);
    const reply = await clientOf(host.url).receive(`${host.url}/a?sig=CANARY`);
    expect(reply).toEqual(failure('download-failed', text));
    expect(JSON.stringify(reply)).not.toContain('CANARY');
  });

  it('is refused at a host that is not listed', async () => {
    const { receive } = clientOf('http://cdn.test');
    expect(await receive('https://else.test/a')).toEqual(failure('url-refused', /^the clip at/));
  });
});

it('a compressed clip is unpacked, and then never continued', async () => {
  const content = Buffer.alloc(2 * megabyte, 'clip');
  const packed = gzipSync(content, { level: 0 });
  const headers = { 'Content-Encoding': 'gzip', ETag: '"1"' };
  const cut: Script = (socket) => {
    socket.write(headOf(200, { ...headers, 'Content-Length': String(packed.length) }));
    socket.end(packed.subarray(0, 1.5 * megabyte));
  };
  const host = await scriptedServer(inTurn(cut, answer(200, packed, headers)));
  const { receive } = clientOf(host.url);
  expect(await receive(`${host.url}/a`)).toEqual(failure('download-failed'));
  expect(await receive(`${host.url}/a`)).toMatchObject({ received: { length: content.length } });
  expect(rangesOf(host)).toEqual(['all', 'all']);
});

describe('a clip that is too large waits for `limits.download`', () => {
  const tooLarge = failure('clip-too-large', /the clip at .* more than the .* that `limits\.download`/);

  it('if its size is stated, and is not read', async () => {
    const { host, receive } = await linesTo(() => ({ bytes: 2_500 }), { maxBytes: 1_000 });
    const said = failure(
      'clip-too-large',
      /the clip at .* has 2\.5 kB, and `limits\.download` allows 1\.0 kB$/,
    );
    expect(await receive(host.clip)).toEqual(said);
  });

  it('if its size is not stated', async () => {
    const chunk = `3e9\r\n${'x'.repeat(1_001)}\r\n`;
    const host = await scriptedServer((socket) => {
      socket.write(headOf(200, { 'Transfer-Encoding': 'chunked' }) + chunk);
    });
    expect(await clientOf(host.url, { maxBytes: 1_000 }).receive(`${host.url}/a`)).toEqual(tooLarge);
  });

  it('if it is too large once unpacked', async () => {
    const packed = gzipSync(Buffer.alloc(megabyte));
    const host = await scriptedServer(answer(200, packed, { 'Content-Encoding': 'gzip' }));
    expect(await clientOf(host.url, { maxBytes: 900_000 }).receive(`${host.url}/a`)).toEqual(tooLarge);
  });

  it('unless it has exactly that size', async () => {
    const { host, receive } = await linesTo(() => ({ bytes: 1_000 }), { maxBytes: 1_000 });
    expect(await receive(host.clip)).toEqual(whole({ bytes: 1_000 }));
  });
});

describe('a disk that fails', () => {
  it.skipIf(!canMount)('because it is full ends the run in order, and gets its space back', async () => {
    const folder = join(mkdtempSync(join(tmpdir(), 'nightrender-clips-')), 'disk');
    mountSmallDisk(folder, 1);
    const { host, receive, files } = await linesTo(() => ({ bytes: size }), { folder });
    const thrown: unknown = await receive(host.clip).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(FatalFailure);
    expect(thrown).toMatchObject({ failure: failure('output-unwritable', /the disk is full/) });
    expect(files()).toEqual([]);
  });

  it('because no folder can be made there ends the run in order', async () => {
    const parent = mkdtempSync(join(tmpdir(), 'nightrender-clips-'));
    mkdirSync(join(parent, 'a'));
    writeFileSync(join(parent, 'a/received'), '');
    const { host, receive } = await linesTo(() => ({ bytes: 9 }), { folder: join(parent, 'a/received') });
    await expect(receive(host.clip)).rejects.toThrow(FatalFailure);
    expect(host.requests).toEqual([]);
  });
});
