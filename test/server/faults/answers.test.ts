/** What goes over the wire where a fault is met, down to the headers and the end of the connection. */
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { faultyService, first, scripted, type FaultyService } from './faulty-service.ts';

describe('an answer in the place of a submission', () => {
  it.each<[string, number, Record<string, RegExp | null>, string]>([
    ['rate-limited', 429, { 'retry-after': null }, ''],
    ['rate-limited-seconds', 429, { 'retry-after': /^1$/ }, ''],
    ['rate-limited-date', 429, { 'retry-after': /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/ }, ''],
    ['queue-full', 429, { 'content-type': /json/ }, 'queue is full'],
    ['unavailable', 503, { 'retry-after': /^1$/, 'content-type': /html/ }, '<html>'],
    ['html-522', 522, { 'content-type': /html/ }, '<h1>522</h1>'],
    ['html-502-taken', 502, { 'content-type': /html/ }, '<h1>502</h1>'],
    ['html-200', 200, { 'content-type': /html/ }, '<h1>200</h1>'],
    ['number-as-status', 200, { 'content-type': /json/ }, '"status":500'],
    ['in-progress-202', 202, { 'content-type': /json/ }, '"status":"IN_PROGRESS"'],
    ['key-refused', 401, { 'content-type': /plain/ }, ''],
    ['forbidden', 403, { 'content-type': /html/ }, '<h1>403</h1>'],
    ['out-of-credit', 402, { 'content-type': /json/ }, 'out of credit'],
    ['endpoint-gone', 404, { 'content-type': /json/ }, '{"detail":"endpoint not found"}'],
    ['redirect', 30, { location: /^https:\/\/elsewhere\.invalid\// }, ''],
    ['body-too-large', 400, { 'content-type': /plain/ }, 'exceeded max body size'],
  ])('%s', async (fault, status, headers, body) => {
    const service = await faultyService({ script: [scripted('submit', fault, first)] });
    const [head = '', told = ''] = (await submitRaw(service)).split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status}`));
    expect(headerOf(head, 'x-nightrender-fault')).toBe(fault);
    for (const [name, value] of Object.entries(headers)) {
      if (value === null) expect(headerOf(head, name)).toBeUndefined();
      else expect(headerOf(head, name)).toMatch(value);
    }
    if (body === '') expect(told).toBe('');
    else expect(told).toContain(body);
  });
});

describe('a reply that is hurt on its way', () => {
  const whole = '{"id":"00000000-0000-4000-8000-000000000001","status":"IN_QUEUE"}';

  it.each<[string, number, string]>([
    ['cut', whole.length, whole.slice(0, whole.length >> 1)],
    ['cut-behind-id', whole.length, whole.slice(0, whole.indexOf(',') + 1)],
    ['longer-than-told', whole.length - 9, whole],
    ['shorter-than-told', whole.length + 9, whole],
    ['dripping', whole.length, whole],
    ['late', whole.length, whole],
    ['empty', 0, ''],
  ])('%s', async (fault, length, body) => {
    const service = await faultyService({ script: [scripted('submit', fault, first)] });
    const [head = '', told] = (await submitRaw(service)).split('\r\n\r\n');
    expect(headerOf(head, 'content-length')).toBe(String(length));
    expect(told).toBe(body);
    expect(service.accepted()).toBe(1);
  });

  it('cut-chunks: no last chunk', async () => {
    const service = await faultyService({ script: [scripted('submit', 'cut-chunks', first)] });
    const told = await submitRaw(service);
    expect(told).toContain('Transfer-Encoding: chunked');
    expect(told).toContain(`\r\n${whole.slice(0, whole.length >> 1)}`);
    expect(told).not.toContain('\r\n0\r\n');
  });

  it.each(['reset', 'reset-taken'])('%s: not one byte', async (fault) => {
    const service = await faultyService({ script: [scripted('submit', fault, first)] });
    expect(await submitRaw(service)).toBe('reset');
  });
});

describe('a job', () => {
  const times = { delayTime: 1, executionTime: 2, id: expect.any(String) as string };
  const traceback: unknown = expect.stringContaining('CUDA out of memory in job 1');

  it.each<[string, object]>([
    ['failed', { status: 'FAILED', error: traceback }],
    ['failed-json', { status: 'FAILED', error: expect.stringMatching(/^\{"error_type":.*"error_message":/) }],
    ['failed-list', { status: 'FAILED', error: ['worker died', traceback] }],
    ['failed-object', { status: 'FAILED', error: { message: traceback } }],
    ['failed-silent', { status: 'FAILED' }],
    ['failed-with-output', { status: 'FAILED', error: traceback, output: [{ seed: 1 }] }],
    ['platform-time-out', { status: 'FAILED', error: 'job timed out after 1 retries' }],
    ['timed-out', { status: 'TIMED_OUT' }],
    ['cancelled', { status: 'CANCELLED' }],
    ['no-output', { status: 'COMPLETED' }],
    ['null-output', { status: 'COMPLETED', output: null }],
    ['empty-output', { status: 'COMPLETED', output: [] }],
    ['error-inside', { status: 'COMPLETED', output: { status: 'error', message: traceback } }],
    ['no-images-inside', { status: 'COMPLETED', output: { status: 'success_no_images', images: [] } }],
    ['code-inside', { status: 'COMPLETED', output: [{ code: 400, message: 'bad sampler' }] }],
    [
      'picture-path',
      { status: 'COMPLETED', output: [{ rendered_image: 'simulated_uploaded/1.png', seed: 4 }] },
    ],
    ['picture-empty', { status: 'COMPLETED', output: [{ rendered_image: '', seed: 4 }] }],
  ])('%s', async (fault, fields) => {
    const service = await faultyService({ script: [scripted('job', fault)] });
    expect(await firstJob(service)).toEqual({ ...times, ...fields });
  });

  it('slow: done after `times.slow`', async () => {
    const service = await faultyService({ script: [scripted('job', 'slow')] });
    expect(await firstJob(service)).toMatchObject({ status: 'IN_PROGRESS' });
    service.clock.nowMs += 60_000;
    expect(await lookAtFirst(service)).toMatchObject({ status: 'COMPLETED' });
  });

  it('unknown-at-first: known after `times.fresh`', async () => {
    const service = await faultyService({ script: [scripted('job', 'unknown-at-first')] });
    expect(await firstJob(service)).toEqual({ error: 'job not found' });
    service.clock.nowMs += 10_000;
    expect(await lookAtFirst(service)).toMatchObject({ status: 'COMPLETED' });
  });

  it.each(['never-ends', 'never-begins'])('%s: until it is cancelled', async (fault) => {
    const service = await faultyService({ script: [scripted('job', fault)] });
    const job = (await firstJob(service)) as { id: string };
    service.clock.nowMs += 86_400_000;
    expect(await lookAtFirst(service)).toEqual(job);
    const cancelled = { id: job.id, status: 'CANCELLED' };
    expect(await askFor(service, `cancel/${job.id}`, 'POST')).toEqual(cancelled);
    expect(await lookAtFirst(service)).toEqual(cancelled);
  });
});

/** All that comes back over a connection of its own, or `reset`. */
async function submitRaw({ url }: FaultyService): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const body = '{"input":{"scene":"a hill"}}';
  socket.write(
    `POST /v2/e/run HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  let isReset = false;
  socket.on('error', () => (isReset = true));
  await new Promise((resolve) => socket.once('close', resolve));
  return isReset && chunks.length === 0 ? 'reset' : Buffer.concat(chunks).toString();
}

function headerOf(head: string, name: string): string | undefined {
  return new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1]?.trim();
}

async function firstJob(service: FaultyService): Promise<unknown> {
  await submitRaw(service);
  return lookAtFirst(service);
}

function lookAtFirst(service: FaultyService): Promise<unknown> {
  return askFor(service, 'status/00000000-0000-4000-8000-000000000001');
}

async function askFor({ url }: FaultyService, what: string, method = 'GET'): Promise<unknown> {
  return (await fetch(`${url}/v2/e/${what}`, { method })).json();
}
