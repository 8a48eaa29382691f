/** Promise: a proxy of a bucket that fails for a while is retried, and one that refuses is named. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { proxyRules } from '../../../src/lib/net/addresses.ts';
import { bucketAddress } from '../../../src/lib/s3/bucket-address.ts';
import { Bucket, type BucketOptions } from '../../../src/lib/s3/bucket.ts';
import { loopbackProxy } from '../../fakes/loopback-proxy.ts';
import { answer, inTurn, scriptedServer } from '../../fakes/scripted-server.ts';

async function bucketThrough(scheme: string, proxy: string, options: BucketOptions = {}): Promise<Bucket> {
  const env = {
    AWS_ACCESS_KEY_ID: 'a',
    AWS_SECRET_ACCESS_KEY: 'b',
    AWS_ENDPOINT_URL: `${scheme}://s3.corp.example`,
  };
  const proxies = proxyRules({ HTTPS_PROXY: proxy, HTTP_PROXY: proxy });
  const given = { firstWaitMs: 1, patienceMs: 0, proxies, ...options };
  const bucket = await Bucket.open(bucketAddress('s3://bucket/night/', env), given);
  onTestFinished(() => bucket.close());
  return bucket;
}

it.each([
  ['https', 502],
  ['https', 503],
  ['https', 429],
  ['http', 503],
])('a temporary error of the proxy for %s (%d) is retried', async (scheme, status) => {
  const proxy = await loopbackProxy(0, status);
  const stop = new AbortController();
  const onTrouble = (text: string): void => {
    expect(text).toMatch(new RegExp(`${status}`));
    stop.abort();
  };
  const options = { patienceMs: 60_000, signal: stop.signal, onTrouble };
  const bucket = await bucketThrough(scheme, proxy.url, options);
  await expect(bucket.get('a')).rejects.toMatchObject({ isPassing: true });
  expect(proxy.asked.length).toBeGreaterThanOrEqual(3);
});

it.each([
  ['https', 403, 'the connection was refused (403)'],
  ['https', 407, 'it asks for a user name and a password (407)'],
  ['http', 407, 'it asks for a user name and a password (407)'],
])(
  'the message about a lasting refusal of the proxy for %s (%d) names the proxy',
  async (scheme, status, words) => {
    const proxy = await loopbackProxy(0, status);
    const bucket = await bucketThrough(scheme, proxy.url, { patienceMs: 60_000 });
    await expect(bucket.get('a')).rejects.toMatchObject({
      message: `s3://bucket/night/: ${words}, through the proxy ${proxy.url}`,
      isPassing: false,
    });
    expect(proxy.asked).toHaveLength(1);
  },
);

it('a proxy that closes the connection for a tunnel is asked again', async () => {
  const proxy = await scriptedServer(inTurn((socket) => socket.end(), answer(403)));
  const bucket = await bucketThrough('https', proxy.url, { patienceMs: 60_000 });
  await expect(bucket.get('a')).rejects.toThrow('403');
  expect(proxy.requests).toHaveLength(2);
});

it('a proxy that says nothing is given up long before a bucket that says nothing', async () => {
  const silent = await scriptedServer(() => undefined);
  const bucket = await bucketThrough('https', silent.url);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const given = expect(bucket.get('a')).rejects.toThrow('no connection (UND_ERR_HEADERS_TIMEOUT)');
  await silent.received(1);
  for (let seconds = 0; seconds < 15; seconds++) await vi.advanceTimersByTimeAsync(1_000);
  await given;
});
