/**
 * Promise: the leading process answers only once it is sure that it leads, and a client waits for that as
 * long as the manual says.
 */
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { TrustedProxies } from '../../../src/lib/net/addresses.ts';
import { Connections } from '../../../src/service/http/connections.ts';
import { Relay } from '../../../src/service/instance/relay.ts';
import { type AnsweringService, SharedAnswers } from '../../../src/service/instance/start-service.ts';

/** Creates a service that answers with this status. `then` is called after each answer. */
function service(status: number, then: () => void = () => undefined): AnsweringService {
  return {
    answer: async () => {
      then();
      return { status, body: '{}' };
    },
    databases: [],
    settled: async () => undefined,
    close: async () => undefined,
  };
}

/** State of leadership. `service` is undefined if the process is not sure that it leads. */
interface Leading {
  leads: boolean;
  service: AnsweringService | undefined;
  /** Called while a request waits. Fake time passes then. */
  news: () => void;
}

async function answered(method: string, leading: Leading) {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const relay = new Relay(Buffer.from('secret'), new TrustedProxies([]));
  onTestFinished(() => relay.close());
  const leadership = {
    get leads() {
      return leading.leads;
    },
    leaderUrl: undefined,
    serviceFor: () => leading.service,
    news: async () => {
      vi.advanceTimersByTime(900);
      leading.news();
    },
  };
  const request = new IncomingMessage(new Socket());
  Object.assign(request, { method, url: '/v2/e/status/j1' });
  const answers = new SharedAnswers(leadership, relay, new Connections(10), () => undefined);
  const begunAt = performance.now();
  const answer = await answers.answer(request, () => undefined, new AbortController().signal);
  return { status: answer?.status, seconds: Math.floor((performance.now() - begunAt) / 1_000) };
}

it('the leading process waits for 20 seconds in all to be sure that it leads, before it answers and after', async () => {
  const inTime = expect.toSatisfy((seconds: number) => seconds >= 20 && seconds < 22) as number;
  for (const newsBefore of [0, 10]) {
    let left = newsBefore;
    const lost = service(200, () => (leading.service = undefined));
    const leading: Leading = {
      leads: true,
      service: newsBefore === 0 ? lost : undefined,
      news: () => (leading.service = --left === 0 ? lost : leading.service),
    };
    expect(await answered('GET', leading)).toEqual({ status: 503, seconds: inTime });
  }
});

it.each([
  ['GET', 0],
  ['POST', 0],
  ['GET', 60_000],
])(
  'asks the next process that leads if a status was requested by %s, and waited for %i ms',
  async (method, lastsMs) => {
    const next = service(201);
    const leading: Leading = {
      leads: true,
      service: service(200, () => {
        vi.advanceTimersByTime(lastsMs);
        Object.assign(leading, { leads: false, service: undefined });
      }),
      news: () => Object.assign(leading, { leads: true, service: next }),
    };
    expect((await answered(method, leading)).status).toBe(201);
  },
);
