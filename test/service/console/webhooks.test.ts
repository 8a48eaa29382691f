/** Promise: the console lists failed webhooks and sends them again, including those given up. */
import { createServer } from 'node:http';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { FailedWebhooks } from '../../../src/protocol/console-data.ts';
import { listenOnLoopback } from '../../e2e/listen-on-loopback.ts';
import { endpointId, instantWorkload, post } from '../service-harness.ts';
import { enter, openWithConsole } from './visit.ts';

/** Starts a webhook receiver, and a service whose clock the test controls. */
async function openBoth() {
  const target = { status: 500, paths: [] as string[] };
  const server = createServer((request, response) => {
    target.paths.push(request.url ?? '');
    response.writeHead(target.status).end();
  });
  const hook = await listenOnLoopback(server);
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const clock = { now: 1_000_000 };
  const options = { now: () => clock.now, workload: instantWorkload(() => 1) };
  const service = await openWithConsole(options);
  const visit = await enter(service.url);
  const submit = async (path: string): Promise<string> => {
    const body = JSON.stringify({ input: { scene: 'x' }, webhook: `${hook}/${path}` });
    return ((await post(service.url, body)).json as { id: string }).id;
  };
  const once = async (isSo: (failed: FailedWebhooks) => boolean): Promise<FailedWebhooks> => {
    for (;;) {
      await vi.advanceTimersByTimeAsync(500);
      const failed = await visit.get<FailedWebhooks>('webhooks');
      if (isSo(failed)) return failed;
    }
  };
  return { target, clock, visit, submit, once, host: new URL(hook).host };
}

it('the console lists a failed webhook only by its host, with the next try, and sends it at once on request', async () => {
  const { target, clock, visit, submit, once, host } = await openBoth();
  expect(await visit.get('webhooks')).toEqual({ givenUp: 0, waiting: 0, webhooks: [] });
  const id = await submit('T0P/SECRET');
  const dueAt = clock.now + 10_000;
  expect(await once(({ waiting }) => waiting === 1)).toEqual({
    givenUp: 0,
    waiting: 1,
    webhooks: [{ job: id, endpointId, host, tries: 1, why: 'it answered 500', dueAt }],
  });
  target.status = 200;
  expect((await visit.ask('POST', `webhooks/${id}/send`)).status).toBe(204);
  await once(({ waiting }) => waiting === 0);
  expect(target.paths).toHaveLength(2);
  // The webhook was delivered, so it is no longer listed.
  expect((await visit.ask('POST', `webhooks/${id}/send`)).status).toBe(404);
  expect((await visit.ask('POST', 'webhooks/none/send')).status).toBe(404);
});

it('the console lists webhooks that were given up first, and sends one or all of them again', async () => {
  const { target, visit, submit, once } = await openBoth();
  target.status = 410;
  const ids = [await submit('a'), await submit('b'), await submit('c')];
  await once(({ givenUp }) => givenUp === 3);
  target.status = 500;
  await submit('d');
  const failed = await once(({ waiting }) => waiting === 1);
  expect(failed.webhooks.map(({ dueAt }) => dueAt === null)).toEqual([true, true, true, false]);
  target.status = 200;
  expect((await visit.ask('POST', `webhooks/${ids[1]}/send`)).status).toBe(204);
  await once(({ webhooks }) => webhooks.length === 3);
  expect((await visit.ask('POST', 'webhooks/send')).body).toEqual({ jobs: 2, isMore: false });
  await once(({ webhooks }) => webhooks.length === 1);
  expect(target.paths.toSorted()).toEqual(['/a', '/a', '/b', '/b', '/c', '/c', '/d']);
});
