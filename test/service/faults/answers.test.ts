/** What goes over the wire where a fault is met, down to the headers and the end of the connection. */
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { cancelPath, runPath } from '../../../src/protocol/paths.ts';
import { ask, askStatus, endpointId, key, submit } from '../service-harness.ts';
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
  const whole = `{"id":"${'x'.repeat(36)}","status":"IN_QUEUE"}`;

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
    expect(told?.replace(idAtStart, masked)).toBe(body);
    expect(await service.accepted()).toBe(1);
  });

  it('cut-chunks: no last chunk', async () => {
    const service = await faultyService({ script: [scripted('submit', 'cut-chunks', first)] });
    const told = await submitRaw(service);
    expect(told).toContain('Transfer-Encoding: chunked');
    expect(told.replace(idAtStart, masked)).toContain(`\r\n${whole.slice(0, whole.length >> 1)}`);
    expect(told).not.toContain('\r\n0\r\n');
  });

  it.each(['reset', 'reset-taken'])('%s: not one byte', async (fault) => {
    const service = await faultyService({ script: [scripted('submit', fault, first)] });
    expect(await submitRaw(service)).toBe('reset');
  });
});

describe('a job', () => {
  const number = expect.any(Number) as number;
  const times = { delayTime: number, executionTime: number, id: expect.any(String) as string };
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
    expect(await lookAt(service, await firstId(service))).toEqual({ ...times, ...fields });
  });

  it('slow: done after `times.slow`', async () => {
    const service = await faultyService({ script: [scripted('job', 'slow')] });
    const id = await firstId(service);
    expect(await lookAt(service, id)).toMatchObject({ status: 'IN_PROGRESS' });
    service.clock.nowMs += 60_000;
    expect(await lookAt(service, id)).toMatchObject({ status: 'COMPLETED' });
  });

  it('unknown-at-first: known after `times.fresh`', async () => {
    const service = await faultyService({ script: [scripted('job', 'unknown-at-first')] });
    const id = await firstId(service);
    expect(await lookAt(service, id)).toEqual({ error: 'job not found' });
    service.clock.nowMs += 10_000;
    expect(await lookAt(service, id)).toMatchObject({ status: 'COMPLETED' });
  });

  it.each(['never-ends', 'never-begins'])('%s: until it is cancelled', async (fault) => {
    const service = await faultyService({ script: [scripted('job', fault)] });
    const id = await firstId(service);
    const job = await lookAt(service, id);
    service.clock.nowMs += 86_400_000;
    expect(await lookAt(service, id)).toEqual(job);
    const cancelled = { id, status: 'CANCELLED' };
    const reply = await ask(service.url, cancelPath('v2', endpointId, id), { method: 'POST' });
    expect(reply.json).toEqual(cancelled);
    expect(await lookAt(service, id)).toEqual(cancelled);
  });
});

const idAtStart = /(?<=\{"id":")[0-9a-f-]{1,36}/;

function masked(id: string): string {
  return 'x'.repeat(id.length);
}

/** All that comes back over a connection of its own, or `reset`. */
async function submitRaw({ url }: FaultyService): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const body = '{"input":{"scene":"a hill"}}';
  socket.write(
    `POST ${runPath('v2', endpointId)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body}`,
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

/** Of a job that is over as far as the book knows. */
async function firstId(service: FaultyService): Promise<string> {
  const id = await submit(service.url, { scene: 'a hill' });
  await service.idle();
  return id;
}

async function lookAt({ url }: FaultyService, id: string): Promise<unknown> {
  return (await askStatus(url, id)).json;
}
