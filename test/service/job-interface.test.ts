/** Submission and status have exactly the documented fields, in both versions of the interface. */
import { describe, expect, it } from 'vitest';
import { jobIdPattern, runPath, versions } from '../../src/protocol/paths.ts';
import { ask, askStatus, endpointId, openService, post, statusOnce, submit } from './service-harness.ts';

describe.each(versions)('under %s', (version) => {
  it('answers a submission with exactly id and status', async () => {
    const { url } = await openService();
    const reply = await post(
      url,
      JSON.stringify({ input: { scene: 'a hill' } }),
      runPath(version, endpointId),
    );
    expect(reply.status).toBe(200);
    expect(reply.headers.get('content-type')).toBe('application/json');
    expect(reply.json).toEqual({ id: expect.stringMatching(jobIdPattern) as string, status: 'IN_QUEUE' });
  });

  it('reports for a job in the queue exactly id and status', async () => {
    const { url } = await openService({ workers: 0 });
    const id = await submit(url, { scene: 'a hill' }, version);
    expect((await askStatus(url, id, version)).json).toEqual({ id, status: 'IN_QUEUE' });
  });

  it('reports for a job in progress its delay and its input', async () => {
    let now = 1_000_000;
    const { url, held } = await openService({ workers: 1, now: () => now });
    await submit(url, { scene: 'the first' }, version);
    const first = await held.next();
    const id = await submit(url, { scene: 'a "hill" ⛰', seed: 7, nested: [null, { a: 1.5 }] }, version);
    now += 2_345;
    first.complete([1]);
    await held.next();
    expect((await askStatus(url, id, version)).json).toEqual({
      workerId: expect.any(String) as string,
      delayTime: 2_345,
      id,
      input: { scene: 'a "hill" ⛰', seed: 7, nested: [null, { a: 1.5 }] },
      status: 'IN_PROGRESS',
    });
  });

  it('reports for a completed job its times and its output, and no longer its input', async () => {
    let now = 1_000_000;
    const { url, held } = await openService({ now: () => now });
    const id = await submit(url, { scene: 'a hill' }, version);
    const run = await held.next();
    now += 1_234.4;
    run.complete([{ rendered_image: 'aGk=', seed: 7, text: '"\u2028\u{1F319}' }]);
    await statusOnce(url, id, 'COMPLETED');
    expect((await askStatus(url, id, version)).json).toEqual({
      workerId: expect.any(String) as string,
      delayTime: 0,
      executionTime: 1_234,
      id,
      output: [{ rendered_image: 'aGk=', seed: 7, text: '"\u2028\u{1F319}' }],
      status: 'COMPLETED',
    });
  });

  it('reports for a failed job its times and its error', async () => {
    let now = 1_000_000;
    const { url, held } = await openService({ now: () => now });
    const id = await submit(url, { scene: 'a hill' }, version);
    const run = await held.next();
    now += 50;
    run.fail(new Error('the scene says "nothing"\n'));
    await statusOnce(url, id, 'FAILED');
    expect((await askStatus(url, id, version)).json).toEqual({
      workerId: expect.any(String) as string,
      delayTime: 0,
      error: 'the scene says "nothing"\n',
      executionTime: 50,
      id,
      status: 'FAILED',
    });
  });
});

it('shows one job under both versions', async () => {
  const { url } = await openService({ workers: 0 });
  const id = await submit(url, { scene: 'a hill' }, 'v1');
  expect((await askStatus(url, id, 'v2')).json).toEqual({ id, status: 'IN_QUEUE' });
});

it('accepts any content type of a submission', async () => {
  const { url } = await openService();
  const reply = await ask(url, runPath('v2', endpointId), {
    method: 'POST',
    body: '{"input":{"scene":"a hill"}}',
    headers: { 'Content-Type': 'text/plain' },
  });
  expect(reply.status).toBe(200);
});

it('hands a workload the id and the input, and takes an output of megabytes', async () => {
  const { url, held } = await openService();
  const id = await submit(url, { scene: 'a hill', webhook: 1 });
  const run = await held.next();
  expect(run.job).toMatchObject({ id, input: { scene: 'a hill', webhook: 1 } });
  const image = 'QUJD'.repeat(2_000_000);
  run.complete([{ rendered_image: image }]);
  expect((await statusOnce(url, id, 'COMPLETED')).output).toEqual([{ rendered_image: image }]);
});
