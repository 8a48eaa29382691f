/** Scenarios that stop at a limit, and continue once its cause is gone. */
import { defaultSettings, manifestOf, type World } from '../../../fakes/world.ts';
import type { Scenario } from './scenario.ts';

const list = (count: number) =>
  manifestOf(Array.from({ length: count }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]));

const pricing = { perSecond: 0.01, currency: 'USD' };

function bill({ service }: World): number {
  return service.jobs.reduce((sum, job) => sum + job.plan.executionMs / 1_000, 0) * pricing.perSecond;
}

function setAside(world: World): string[] {
  return world
    .rows<{ id: string }>("SELECT id FROM scenes WHERE state = 'failed'")
    .map(({ id }) => `${id} was set aside`);
}

const byAddress = (scene: string) => ({ pictures: [{ url: `https://cdn.example/${scene}.png` }] });

export const limits: Scenario[] = [
  {
    name: 'limits.cost',
    steps: [
      {
        what: 'run',
        manifest: list(4),
        settings: { pricing, limits: { cost: 0.1 } },
        wrong: (world) => (bill(world) > 0.1 + 0.04 ? [`${bill(world)} of 0.1 were spent`] : []),
      },
      { what: 'run', manifest: list(4) },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 155, inResume: 60 },
  },
  {
    name: 'limits.jobs',
    steps: [
      {
        what: 'run',
        manifest: list(4),
        settings: { limits: { jobs: 2 } },
        wrong: ({ service }) => (service.jobs.length > 2 ? ['more than 2 were submitted'] : []),
      },
      { what: 'run', manifest: list(4) },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 125, inResume: 45 },
  },
  {
    name: 'limits.for',
    steps: [
      { what: 'run', manifest: list(4), settings: { concurrency: 1, limits: { for: 3_000 } } },
      { what: 'run', manifest: list(4) },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 150, inResume: 60 },
  },
  {
    name: 'a halt by consecutive failures',
    behaviour: () => ({ failure: { kind: 'job-failed', text: 'out of memory' } }),
    steps: [
      {
        what: 'run',
        manifest: list(2),
        settings: {
          retry: { ...defaultSettings.retry, attempts: 20 },
          halt: { ...defaultSettings.halt, consecutive: 3 },
        },
        wrong: setAside,
      },
      { what: 'run', manifest: list(2), before: ({ service }) => (service.behaviour = () => ({})) },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 160, inResume: 70 },
    // Each run counts its own failures, and jobs in flight at the halt may fail as well.
    moreJobs: (deaths) => deaths * (3 + 1),
  },
  {
    name: 'a key that is refused in the middle',
    steps: [
      {
        what: 'run',
        manifest: list(3),
        before: ({ service }) => {
          service.instead.submit = () =>
            service.jobs.length < 2
              ? undefined
              : { kind: 'failure', failure: { kind: 'key-refused', text: '401' } };
        },
        wrong: setAside,
      },
      { what: 'run', manifest: list(3), before: ({ service }) => (service.instead = {}) },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 110, inResume: 40 },
  },
  {
    name: 'pictures by address while no host is allowed',
    behaviour: byAddress,
    steps: [
      {
        what: 'run',
        manifest: list(3),
        before: ({ downloads }) =>
          (downloads.answer = () => ({
            kind: 'urls-not-allowed',
            text: 'cdn.example is not in output.hosts',
          })),
        wrong: setAside,
      },
      { what: 'run', manifest: list(3), before: ({ downloads }) => (downloads.answer = () => undefined) },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 120, inResume: 45 },
  },
  {
    name: 'a disk that is full',
    steps: [
      {
        what: 'run',
        manifest: list(3),
        before: ({ images }) => (images.isDiskFull = true),
        wrong: setAside,
      },
      { what: 'run', manifest: list(3), before: ({ images }) => (images.isDiskFull = false) },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 110, inResume: 40 },
  },
];
