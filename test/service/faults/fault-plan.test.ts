/** Promise: which request meets which fault is a matter of the seed, the script and the order, and of nothing else. */
import { describe, expect, it } from 'vitest';
import { FaultPlan, type MetFault } from '../../../src/service/faults/fault-plan.ts';
import type { FaultSettings } from '../../../src/service/faults/fault-settings.ts';
import { noFaults, scripted } from './faulty-service.ts';

const submit = { url: '/v2/e/run' };
const look = { url: '/v1/e/status/j-1?wait=3' };
const health = { url: '/v2/e/health' };

const rates = {
  submit: new Map([
    ['reset', 0.01],
    ['rate-limited', 0.2],
  ]),
  status: new Map([['html-502', 0.05]]),
  job: new Map([
    ['failed', 0.1],
    ['no-output', 0.02],
  ]),
  everything: new Map([['key-refused', 0.03]]),
};

describe('by chance', () => {
  it('meets each fault in its share of the requests', () => {
    const met = metBy({ rates }, ({ answer, accepted }) => {
      for (let i = 0; i < 10_000; i++) {
        answer(submit);
        answer(look);
        accepted(`j-${i}`);
      }
    });
    const share = (at: string, fault: string, of: number) =>
      met.filter((each) => each.at === at && each.fault === fault).length / of;
    expect(share('submit', 'reset', 10_000)).toBeCloseTo(0.01, 2);
    expect(share('submit', 'rate-limited', 10_000)).toBeCloseTo(0.2, 1.5);
    expect(share('status', 'html-502', 10_000)).toBeCloseTo(0.05, 1.5);
    expect(share('job', 'failed', 10_000)).toBeCloseTo(0.1, 1.5);
    expect(share('job', 'no-output', 10_000)).toBeCloseTo(0.02, 2);
    // The faults of a place come before those of everything.
    expect(share('everything', 'key-refused', 20_000)).toBeCloseTo(0.03 * (1 - (0.21 + 0.05) / 2), 2);
  });

  it('meets the same again with the same seed, and others with another', () => {
    const walk = ({ answer, accepted }: Walked) => {
      for (let i = 0; i < 500; i++) {
        answer(submit);
        accepted(`j-${i}`);
        answer(health);
      }
    };
    const met = metBy({ rates, seed: 7 }, walk);
    expect(met.length).toBeGreaterThan(50);
    expect(metBy({ rates, seed: 7 }, walk)).toEqual(met);
    expect(metBy({ rates, seed: 8 }, walk)).not.toEqual(met);
  });

  it('leaves a place alone whatever happens at another', () => {
    const ofJobs = (met: MetFault[]) => met.filter(({ at }) => at === 'job');
    const accept = ({ accepted }: Walked) => {
      for (let i = 0; i < 200; i++) accepted(`j-${i}`);
    };
    const busy = metBy({ rates }, (walked) => {
      for (let i = 0; i < 77; i++) walked.answer(look);
      accept(walked);
    });
    expect(ofJobs(busy)).toEqual(metBy({ rates }, accept));
  });
});

describe('by script', () => {
  it('meets a fault at the request that is named, and at no other', () => {
    const script = [scripted('submit', 'reset', { nth: { first: 3, last: 4 } })];
    expect(faultsOf({ script }, ({ answer }) => [1, 2, 3, 4, 5].map(() => answer(submit)))).toEqual([
      undefined,
      undefined,
      'reset',
      'reset',
      undefined,
    ]);
  });

  it('takes the first entry that fits, and no rate then', () => {
    const script = [
      scripted('submit', 'reset', { nth: { first: 1, last: 1 } }),
      scripted('submit', 'html-500'),
    ];
    const always = { ...rates, submit: new Map([['rate-limited', 1]]) };
    expect(faultsOf({ script, rates: always }, ({ answer }) => [answer(submit), answer(submit)])).toEqual([
      'reset',
      'html-500',
    ]);
  });

  it('lasts from then, for so long', () => {
    const script = [scripted('everything', 'key-refused', { fromMs: 10_000, untilMs: 70_000 })];
    const told = faultsOf({ script }, ({ answer, clock }) =>
      [0, 9_999, 10_000, 69_999, 70_000].map((nowMs) => {
        clock.nowMs = nowMs;
        return answer(health);
      }),
    );
    expect(told).toEqual([undefined, undefined, 'key-refused', 'key-refused', undefined]);
  });

  it('knows a job by a text in its input, wherever it stands', () => {
    const script = [scripted('job', 'failed', { match: 'a "red" barn' })];
    const met = metBy({ script }, ({ accepted }) => {
      accepted('j-1', { scene: 'a blue barn' });
      accepted('j-2', { nested: [{ prompt: 'before a "red" barn' }] });
      accepted('j-3', { 'a "red" barn': 1 });
    });
    expect(met).toEqual([{ at: 'job', number: 2, fault: 'failed' }]);
  });

  it('knows the requests about a job by its number', () => {
    const script = [scripted('status', 'endpoint-gone', { job: 2 })];
    const told = faultsOf({ script }, ({ answer, accepted }) => {
      accepted('j-first');
      accepted('j-1');
      return [answer({ url: '/v2/e/status/j-first' }), answer(look), answer(submit)];
    });
    expect(told).toEqual([undefined, 'endpoint-gone', undefined]);
  });

  it('refuses a fault that there is not', () => {
    expect(() => metBy({ script: [scripted('submit', 'failed')] }, () => undefined)).toThrow(
      'no fault failed',
    );
  });
});

it.each([
  '/',
  '/console',
  '/v2/e/job-take/worker?gpu=x',
  '/v2/e/job-done/worker/job',
  '/v2/e/ping/worker',
  '/v2/e/job-stop/worker',
  '/v2/e/job-stream/worker/job',
  '/openapi.json',
])('leaves %s alone: it is none of clients', (url) => {
  const script = [scripted('everything', 'reset')];
  expect(faultsOf({ script }, ({ answer }) => [answer({ url }), answer(health)])).toEqual([
    undefined,
    'reset',
  ]);
});

it('hands outcomes and answers on as they are where nothing is to happen', () => {
  const plan = planOf({}).plan;
  plan.accepted('j-1', '{}');
  const outcome = { state: 'COMPLETED', output: '[]' };
  const answer = { status: 200, body: Buffer.from('{"id":"j-1"}'), isBodyUnread: true };
  expect(plan.outcome('j-1', outcome)).toBe(outcome);
  expect(plan.told(look, answer)).toBe(answer);
});

it("leaves a worker's own failure alone", () => {
  const { plan } = planOf({ script: [scripted('job', 'picture-cut')] });
  plan.accepted('j-1', '{}');
  const outcome = { state: 'FAILED', error: 'out of paint' };
  expect(plan.outcome('j-1', outcome)).toBe(outcome);
});

interface Walked {
  /** The name of the fault that is met. */
  answer: (request: { url: string }) => string | undefined;
  accepted: (id: string, input?: object) => void;
  clock: { nowMs: number };
}

function metBy(settings: Partial<FaultSettings>, walk: (walked: Walked) => unknown): MetFault[] {
  const { met, walked } = planOf(settings);
  walk(walked);
  return met;
}

function faultsOf<Told>(settings: Partial<FaultSettings>, walk: (walked: Walked) => Told): Told {
  return walk(planOf(settings).walked);
}

function planOf(settings: Partial<FaultSettings>): { plan: FaultPlan; met: MetFault[]; walked: Walked } {
  const met: MetFault[] = [];
  const clock = { nowMs: 0 };
  const plan = new FaultPlan({
    ...noFaults,
    ...settings,
    now: () => clock.nowMs,
    onMet: (each) => met.push(each),
  });
  const walked: Walked = {
    answer: (request) => plan.answer(request)?.fault,
    accepted: (id, input = {}) => plan.accepted(id, JSON.stringify(input)),
    clock,
  };
  return { plan, met, walked };
}
