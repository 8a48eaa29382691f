/** Answers to cancellations and health requests are read correctly. */
import { describe, expect, it } from 'vitest';
import { answer, answerJson, scriptedServer } from '../../fakes/scripted-server.ts';
import { cancelAnswered, clientOf, failure, healthAnswered, jobId } from './client.ts';

const page = '<html><head><title>502 Bad Gateway</title></head></html>';
const words: unknown = expect.stringMatching(/./);

it('cancels with one POST that holds the key and nothing else', async () => {
  const server = await scriptedServer(answerJson({ id: jobId, status: 'CANCELLED' }));
  expect(await clientOf(server.url, { apiKey: 'the-key' }).cancel()).toEqual({ kind: 'cancelled' });
  expect(server.requests).toEqual([
    expect.objectContaining({ method: 'POST', path: `/v2/scene-renderer/cancel/${jobId}`, body: '' }),
  ]);
  const headers = server.requests[0]?.headers;
  expect(headers).toMatchObject({ authorization: 'Bearer the-key', 'content-length': '0' });
  expect(headers).not.toHaveProperty('content-type');
  expect(headers).not.toHaveProperty('transfer-encoding');
});

it('requests health with one GET that holds the key', async () => {
  const server = await scriptedServer(answerJson({ jobs: {}, workers: {} }));
  expect(await clientOf(server.url, { apiKey: 'the-key' }).health()).toEqual({ kind: 'answers' });
  expect(server.requests).toEqual([
    expect.objectContaining({ method: 'GET', path: '/v2/scene-renderer/health', body: '' }),
  ]);
  expect(server.requests[0]?.headers).toMatchObject({ authorization: 'Bearer the-key' });
});

describe('a cancellation', () => {
  it.each([200, 202, 204])('is taken for heard with %i, whatever is said', async (status) => {
    expect(await cancelAnswered(answer(status))).toEqual({ kind: 'cancelled' });
    if (status === 204) return;
    expect(await cancelAnswered(answer(status, page))).toEqual({ kind: 'cancelled' });
    const endless = { maxBodyBytes: 1_000 };
    expect(await cancelAnswered(answer(status, 'x'.repeat(2_000)), endless)).toEqual({ kind: 'cancelled' });
  });
});

describe('the health of an endpoint', () => {
  it('contains the numbers of workers and jobs that are counts', async () => {
    const workers = { running: 3, idle: '2', throttled: -1, unhealthy: 0.5, ready: 4, resting: 7 };
    const jobs = { inProgress: 3, inQueue: 0, completed: 1e300 };
    expect(await healthAnswered(answerJson({ workers, jobs }))).toEqual({
      kind: 'answers',
      health: { workers: { running: 3, ready: 4 }, jobs: { inProgress: 3, inQueue: 0 } },
    });
    expect(await healthAnswered(answerJson({ workers: [3], jobs: null }))).toEqual({ kind: 'answers' });
  });

  it.each(['', page, '[]', '"fine"', 'OK', '{"jobs":'])('is unknown after 200 with %s', async (body) => {
    expect(await healthAnswered(answer(200, body))).toEqual({ kind: 'unknown', text: words });
  });

  it('is unknown if the answer is larger than the limit', async () => {
    const script = answer(200, `{"jobs":"${'x'.repeat(2_000)}"}`);
    expect(await healthAnswered(script, { maxBodyBytes: 1_000 })).toEqual({ kind: 'unknown', text: words });
  });
});

describe.each([
  ['a cancellation', cancelAnswered],
  ['the question for health', healthAnswered],
])('%s', (_, asked) => {
  it('waits as long as it is asked to', async () => {
    const reply = await asked(answer(429, '', { 'Retry-After': '7' }));
    expect(reply).toMatchObject({ failure: { retryAfterMs: 7_000 } });
  });

  it('knows a refused key that comes with 200', async () => {
    expect(await asked(answerJson({ status: 401, message: 'bad key' }))).toEqual(failure('key-refused'));
  });
});
