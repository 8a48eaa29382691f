/**
 * Promise: a large, compressed, malformed or hostile response body is limited in size and time, and never
 * crashes the run.
 */
import { once } from 'node:events';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { answer, answerJson, headOf, scriptedServer, type Script } from '../../fakes/scripted-server.ts';
import { isWhole } from '../../fakes/tier.ts';
import { clientOf, ended, failure, jobId, statusFrom, submitTo } from './client.ts';

const completed = (image: string): string =>
  JSON.stringify({ id: jobId, output: [{ rendered_image: image, seed: 1 }], status: 'COMPLETED' });

describe('a body beyond `limits.body`', () => {
  const body = completed('QUJD'.repeat(500));
  const limits = { maxBodyBytes: 1_500 };

  it.each<[string, Script]>([
    ['that says so', answer(200, body)],
    [
      'that says so and never comes',
      (socket) => socket.write(headOf(200, { 'Content-Length': '99999999999' })),
    ],
    ['in chunks', inChunks(200, body)],
    ['in chunks without end', inChunks(200, body, '')],
    ['that was packed', answer(200, gzipSync(body), { 'Content-Encoding': 'gzip' })],
    [
      'that was packed a thousandfold',
      answer(200, gzipSync(Buffer.alloc(1e6)), { 'Content-Encoding': 'gzip' }),
    ],
  ])('%s', async (_, script) => {
    expect(await statusFrom(script, limits)).toMatchObject(
      ended('result-too-large', /larger than 1500 bytes/),
    );
    expect(await submitTo(script, limits)).toEqual(failure('unanswered', /larger than 1500 bytes/));
  });

  it('is not fetched any further', async () => {
    const closed = new EventTarget();
    const script: Script = (socket, request) => {
      socket.once('close', () => closed.dispatchEvent(new Event('closed')));
      inChunks(200, body, '')(socket, request);
    };
    const { url } = await scriptedServer(script);
    const end = once(closed, 'closed');
    expect(await clientOf(url, limits).status()).toMatchObject({ failure: { kind: 'result-too-large' } });
    await end;
  });

  it('is read up to the very limit', async () => {
    const reply = await statusFrom(answer(200, body), { maxBodyBytes: Buffer.byteLength(body) });
    expect(reply).toMatchObject({ kind: 'completed' });
  });

  it('ends no job if the answer is a failure and not a result', async () => {
    const long = `<html><title>Down</title>${'x'.repeat(1e6)}`;
    for (const script of [answer(502, long), inChunks(502, long, '')]) {
      expect(await statusFrom(script, limits)).toEqual(failure('poll-failed', /502: an HTML page, "Down"/));
    }
    expect(await submitTo(answer(401, long), limits)).toEqual(failure('key-refused'));
  });
});

describe('a packed body, although none was requested', () => {
  const body = completed('QUJD'.repeat(100));
  const whole = [{ base64: 'QUJD'.repeat(100), seed: '1' }];

  it.each<[string, Buffer]>([
    ['gzip', gzipSync(body)],
    ['x-gzip', gzipSync(body)],
    ['GZIP', gzipSync(body)],
    ['deflate', deflateSync(body)],
    ['br', brotliCompressSync(body)],
    ['identity', Buffer.from(body)],
  ])('%s', async (encoding, bytes) => {
    const reply = await statusFrom(answer(200, bytes, { 'Content-Encoding': encoding }));
    expect(reply).toMatchObject({ kind: 'completed', pictures: whole });
  });

  it.each<[string, Buffer, RegExp]>([
    ['zstd', Buffer.from(body), /encoded as "zstd", which was not asked for/],
    ['gzip, br', gzipSync(body), /encoded as "gzip, br"/],
    ['gzip', Buffer.from(body), /says that it is gzip and cannot be unpacked/],
    ['gzip', gzipSync(body).subarray(0, 60), /cannot be unpacked/],
  ])('%s that cannot be read', async (encoding, bytes, text) => {
    const script = answer(200, bytes, { 'Content-Encoding': encoding });
    expect(await statusFrom(script)).toEqual(failure('poll-failed', text));
    expect(await submitTo(script)).toEqual(failure('unanswered', text));
  });

  it('of a refusal', async () => {
    const headers = { 'Content-Encoding': 'gzip' };
    expect(await submitTo(answer(400, gzipSync('{"error":"bad scene"}'), headers))).toEqual(
      failure('input-refused', 'bad scene'),
    );
    expect(await submitTo(answer(401, 'no gzip', headers))).toEqual(failure('key-refused'));
  });
});

describe('text', () => {
  it('is read as UTF-8 across chunks, also if it is cut short for the report', async () => {
    const error = `Ошибка: 画像 🎨 ${'🌙'.repeat(600)}`;
    const bytes = Buffer.from(JSON.stringify({ status: 'FAILED', error }));
    const script: Script = (socket) => {
      socket.write(headOf(200, { 'Content-Length': String(bytes.length) }));
      for (const byte of bytes) socket.write(Buffer.from([byte]));
    };
    const reply = await statusFrom(script);
    expect(reply).toMatchObject(ended('job-failed', /^FAILED: Ошибка: 画像 🎨 (?:🌙)+…$/u));
  });

  it('is read behind a byte-order mark', async () => {
    expect(await statusFrom(answer(200, `\uFEFF{"status":"IN_QUEUE"}`))).toMatchObject({ kind: 'running' });
  });

  it('that is no UTF-8 does no harm', async () => {
    const bytes = Buffer.concat([
      Buffer.from('{"status":"FAILED","error":"a'),
      Buffer.from([0xff, 0xc3]),
      Buffer.from('b"}'),
    ]);
    expect(await statusFrom(answer(200, bytes))).toMatchObject(ended('job-failed', /a\uFFFD+b/));
  });
});

describe('a hostile body', () => {
  /** The longer tier uses bodies of the largest allowed size. */
  const scale = isWhole ? 1 : 0.1;
  const bytes = 50_000_000 * scale;
  const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

  it.each<[string, string]>([
    ['opening brackets', '['.repeat(bytes)],
    ['100,000 levels', `{"status":"COMPLETED","output":${nested(100_000)}}`],
    [
      '100,000 levels of objects',
      `{"status":"FAILED","error":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_001)}`,
    ],
    ['100,000 levels and an integer of many digits', `{"a":9007199254740993,"output":${nested(100_000)}}`],
    [
      'countless keys',
      `{"status":"COMPLETED"${Array.from({ length: isWhole ? 3_000_000 : 1_100_000 }, (_, i) => `,"${i}":1`).join('')}}`,
    ],
    ['countless small lists', `{"status":"COMPLETED","output":[${'[1],'.repeat(1e7 * scale)}1]}`],
    ['a page of opening titles', `<html>${'<title'.repeat(8_000_000 * scale)}`],
    ['white space', ' '.repeat(bytes)],
    ['a text of escaped quotes', `{"a":"${String.raw`\"`.repeat(2e7 * scale)}"}`],
    ['a text without end', `{"a":"${'x'.repeat(bytes)}`],
  ])('%s', async (_, body) => {
    expect(await statusFrom(answer(200, body))).toEqual(failure('poll-failed'));
    expect(await submitTo(answer(200, body))).toEqual(failure('unanswered'));
  });

  it.each<[string, string, object]>([
    [
      '40 levels',
      `{"status":"COMPLETED","output":${nested(40)}}`,
      { failure: { kind: 'picture-not-found' } },
    ],
    ['much white space', `{"status":"IN_QUEUE"${' '.repeat(1_100_000)}}`, { status: 'IN_QUEUE' }],
    ['many small lists', `{"status":"IN_QUEUE","output":[${'[{}],'.repeat(200)}1]}`, { status: 'IN_QUEUE' }],
    [
      'a number of countless digits',
      `{"status":"COMPLETED","output":[{"image":${'1'.repeat(4e7 * scale)}}]}`,
      { failure: { kind: 'picture-not-found' } },
    ],
    [
      'the prototype of everything',
      '{"__proto__":{"status":"COMPLETED"},"status":"IN_QUEUE"}',
      { status: 'IN_QUEUE' },
    ],
    [
      'a failure in JSON in JSON in JSON',
      JSON.stringify({ status: 'FAILED', error: wrapped('deep', 30) }),
      { failure: { kind: 'job-failed' } },
    ],
    [
      'errors of every type',
      '{"status":"FAILED","error":{"message":[{"error":{"toString":1}}]}}',
      { failure: { text: 'FAILED: the service gave no reason' } },
    ],
  ])('%s', async (_, body, expected) => {
    expect(await statusFrom(answer(200, body))).toMatchObject(expected);
  });

  it('changes no prototype of JavaScript objects', async () => {
    await statusFrom(
      answer(
        200,
        '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"a":9007199254740993}',
      ),
    );
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('does not reach the next answer on the same connection', async () => {
    const { url } = await scriptedServer((socket, request) => {
      answerJson({ id: jobId, status: 'IN_QUEUE' })(socket, request);
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\n{"status":"COMPLETED"}');
    });
    const { status } = clientOf(url);
    expect(await status()).toMatchObject({ kind: 'running' });
    expect(await status()).toMatchObject({ kind: 'running' });
  });
});

function wrapped(text: string, times: number): string {
  let json = text;
  for (let i = 0; i < times && json.length < 1e6; i++) json = JSON.stringify({ message: json });
  return json;
}

function inChunks(status: number, body: string, end = '0\r\n\r\n'): Script {
  return (socket) => {
    socket.write(headOf(status, { 'Transfer-Encoding': 'chunked' }));
    socket.write(`${body.length.toString(16)}\r\n${body}\r\n${end}`);
  };
}
