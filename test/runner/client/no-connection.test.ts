/** Promise: a submission that surely never left this machine is `not-reached`, so it can be sent again. */
import dns from 'node:dns';
import { setMaxListeners } from 'node:events';
import type { LookupFunction } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { SubmitReply } from '../../../src/runner/pipeline/ports.ts';
import { unusedPort } from '../../e2e/listen-on-loopback.ts';
import { answer, answerJson, scriptedServer } from '../../fakes/scripted-server.ts';
import { selfSigned } from '../../fakes/self-signed.ts';
import { clientOf, failure, jobId, type TestClient } from './client.ts';

afterEach(() => vi.restoreAllMocks());

async function neitherArrives({ submit, status }: TestClient, text: RegExp): Promise<void> {
  expect(await submit()).toEqual(failure('not-reached', text));
  expect(await status()).toEqual(failure('poll-failed', text));
}

it('a submission is `not-reached` if nothing listens', async () => {
  const url = `http://127.0.0.1:${await unusedPort()}`;
  await neitherArrives(
    clientOf(url),
    /connection refused: .*\(ECONNREFUSED\) \(http:\/\/127\.0\.0\.1:\d+\/v2/,
  );
});

it('a submission is `not-reached` if nothing listens on any address of the host', async () => {
  const port = await unusedPort();
  answerLookups(null, ['::1', '127.0.0.1']);
  await neitherArrives(clientOf(`http://service.test:${port}`), /connection refused/);
});

it.each([
  ['ENOTFOUND', /unknown host name/],
  ['EAI_AGAIN', /could not be resolved/],
])('a submission is `not-reached` if the host name cannot be looked up: %s', async (code, text) => {
  answerLookups(Object.assign(new Error('the look-up failed'), { code }));
  await neitherArrives(clientOf('http://service.test:80'), text);
});

it('a submission is `not-reached`, also one of 200 at once', async () => {
  const { submit } = clientOf(`http://127.0.0.1:${await unusedPort()}`);
  const replies = await Promise.all(Array.from({ length: 200 }, () => submit()));
  expect(countByKind(replies)).toEqual({ 'not-reached': 200 });
});

describe('over TLS', () => {
  it('is `not-reached` if the certificate is not accepted', async () => {
    const server = await scriptedServer(answer(200), { tls: selfSigned() });
    await neitherArrives(clientOf(server.url), /certificate is not accepted \(DEPTH_ZERO_SELF_SIGNED_CERT\)/);
    expect(server.requests).toEqual([]);
  });

  it.each<[string, 'destroy' | 'resetAndDestroy']>([
    ['closed', 'destroy'],
    ['reset', 'resetAndDestroy'],
  ])('is `not-reached` if the connection is %s while it is being secured', async (_, end) => {
    const { url } = await scriptedServer(answer(200), {
      onConnection: (socket) => socket.once('data', () => socket[end]()),
    });
    await neitherArrives(clientOf(url.replace('http:', 'https:')), /reset|closed/);
  });

  it('is `not-reached` if the other side speaks no TLS', async () => {
    const { url } = await scriptedServer(answer(200), {
      onConnection: (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
    });
    await neitherArrives(clientOf(url.replace('http:', 'https:')), /TLS failed/);
  });

  it('is `not-reached` if the connection is never secured', async () => {
    const { url } = await scriptedServer(answer(200));
    const client = clientOf(url.replace('http:', 'https:'), { requestTimeoutMs: 200 });
    expect(await client.submit()).toEqual(failure('not-reached', /no connection was made in time/));
  });
});

describe('if the run ends first', () => {
  it('is `not-reached` for requests that were never begun', async () => {
    const server = await scriptedServer(answerJson({ id: jobId, status: 'IN_QUEUE' }));
    const { submit, status } = clientOf(server.url);
    for (const reason of [undefined, null, 'words', new Error('the grace is over')]) {
      const signal = AbortSignal.abort(reason);
      expect(await submit(signal)).toEqual(failure('not-reached', /was aborted/));
      expect(await status(signal)).toEqual(failure('poll-failed', /was aborted/));
    }
    expect(server.requests).toEqual([]);
  });

  it('is `not-reached` for those that wait for a free connection, and not for those that were sent', async () => {
    const server = await scriptedServer((socket, request) => {
      if (request.method === 'GET') answerJson({ id: jobId, status: 'IN_QUEUE' })(socket, request);
    });
    const { submit, status } = clientOf(server.url);
    const abandon = new AbortController();
    setMaxListeners(0, abandon.signal);
    const replies = Array.from({ length: 100 }, () => submit(abandon.signal));
    await server.received(64);
    abandon.abort();
    expect(countByKind(await Promise.all(replies))).toEqual({ unanswered: 64, 'not-reached': 36 });
    // These requests queue behind the abandoned ones, which must not be sent when connections become free.
    await Promise.all(Array.from({ length: 200 }, () => status()));
    expect(server.requests.filter(({ method }) => method === 'POST')).toHaveLength(64);
  });

  it('is `not-reached` for those that the closing of the client finds waiting', async () => {
    const server = await scriptedServer(() => undefined);
    const { service, submit } = clientOf(server.url);
    const replies = Array.from({ length: 100 }, () => submit());
    await server.received(64);
    await service.close();
    expect(countByKind(await Promise.all(replies))).toEqual({ unanswered: 64, 'not-reached': 36 });
    expect(await submit()).toEqual(failure('not-reached'));
  });
});

function countByKind(replies: SubmitReply[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const reply of replies) {
    const kind = reply.kind === 'failure' ? reply.failure.kind : reply.kind;
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

function answerLookups(error: NodeJS.ErrnoException | null, addresses: string[] = []): void {
  const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  const lookup: LookupFunction = (_host, _options, callback) => callback(error, found);
  vi.spyOn(dns, 'lookup').mockImplementation(lookup as typeof dns.lookup);
}
