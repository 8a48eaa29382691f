/**
 * Scenarios in which the service forgets jobs, refuses requests or loses answers, or the program is not
 * running for a while.
 */
import type { StatusReply } from '../../../../src/runner/pipeline/ports.ts';
import { manifestOf, defaultSettings, type World } from '../../../fakes/world.ts';
import type { Scenario, Step } from './scenario.ts';

const minutes = 60_000;

const three = manifestOf([
  ['a', 'sea'],
  ['b', 'hills'],
  ['c', 'slow'],
]);

const four = manifestOf([
  ['a', 'sea'],
  ['b', 'hills'],
  ['c', 'slow'],
  ['d', 'waits'],
]);

const leftInFlight: Step = {
  what: 'run',
  manifest: three,
  settings: { concurrency: 3 },
  until: 900,
  isSetup: true,
};

/** Answers the first status requests of each job with one of these failures after another. */
function troubledAtFirst(world: World): void {
  const troubles: StatusReply[] = [
    { kind: 'failure', failure: { kind: 'overloaded', text: '429', retryAfterMs: 3_000 } },
    { kind: 'missing', text: '404' },
    { kind: 'failure', failure: { kind: 'poll-failed', text: '502' } },
  ];
  const asked = new Map<string, number>();
  world.service.instead.status = (id) => {
    const nth = asked.get(id) ?? 0;
    asked.set(id, nth + 1);
    return troubles[nth];
  };
}

const holding = { retry: { ...defaultSettings.retry, unanswered: 'hold' } } as const;

export const outages: Scenario[] = [
  {
    name: 'a program that is down for twenty minutes',
    steps: [
      leftInFlight,
      {
        what: 'run',
        manifest: three,
        afterMs: 20 * minutes,
        wrong: ({ service }) => (service.jobs.length > 3 ? ['something was submitted again'] : []),
      },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 45, inResume: 15 },
  },
  {
    name: 'a program that is down for forty minutes: results have expired, one has not',
    behaviour: (scene) => (scene === 'slow' ? { queueMs: 35 * minutes } : {}),
    steps: [
      leftInFlight,
      {
        what: 'run',
        manifest: three,
        afterMs: 40 * minutes,
        wrong: ({ service }) =>
          service.submissionsOf('slow') > 1 ? ['what had not expired is paid twice'] : [],
      },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 100, inResume: 45 },
  },
  {
    name: 'a program that is down for forty minutes, at a service without health',
    steps: [
      leftInFlight,
      {
        what: 'run',
        manifest: three,
        afterMs: 40 * minutes,
        before: ({ service }) => (service.instead.health = () => ({ kind: 'unknown', text: '404' })),
      },
    ],
    everyNthInResume: 197,
    atLeast: { deaths: 215, inResume: 90 },
  },
  {
    name: 'an endpoint that answers 404 to everything for a while',
    steps: [
      { ...leftInFlight, manifest: four },
      {
        what: 'run',
        manifest: four,
        afterMs: 5 * minutes,
        before: ({ service }) => {
          service.instead = {
            status: () => ({ kind: 'missing', text: '404' }),
            health: () => ({ kind: 'unknown', text: '404' }),
            submit: () => ({ kind: 'failure', failure: { kind: 'endpoint-unknown', text: '404' } }),
          };
        },
        wrong: ({ service }) => (service.jobs.length > 3 ? ['something was submitted'] : []),
      },
      { what: 'run', manifest: four, before: ({ service }) => (service.instead = {}) },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 60, inResume: 20 },
  },
  {
    name: 'requests that are answered with 429, 404 and 502 at first',
    behaviour: (_, nth) =>
      nth === 1 ? { reply: { kind: 'overloaded', text: '429', retryAfterMs: 7_000 } } : {},
    steps: [{ what: 'run', manifest: three, before: troubledAtFirst }],
    everyNthInResume: 97,
    atLeast: { deaths: 120, inResume: 55 },
  },
  {
    name: 'submissions whose answer is lost',
    behaviour: (scene, nth) => ({ isAnswerLost: scene !== 'sea' && nth === 1 }),
    steps: [{ what: 'run', manifest: three }],
    everyNthInResume: 97,
    atLeast: { deaths: 135, inResume: 65 },
  },
  {
    name: 'submissions of one scene that never get an answer',
    behaviour: (scene) => ({ isAnswerLost: scene === 'hills' }),
    steps: [
      {
        what: 'run',
        manifest: three,
        settings: { retry: { ...defaultSettings.retry, submissions: 3 } },
        wrong: ({ service }) => (service.submissionsOf('hills') > 3 ? ['the bound is exceeded'] : []),
      },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 100, inResume: 40 },
  },
  {
    name: 'submissions whose answer is lost, held for a person and then put back',
    behaviour: (scene, nth) => ({ isAnswerLost: scene === 'hills' && nth === 1 }),
    steps: [
      {
        what: 'run',
        manifest: three,
        settings: holding,
        wrong: ({ service }) =>
          ['sea', 'hills', 'slow']
            .filter((scene) => service.submissionsOf(scene) > 1)
            .map((scene) => `"${scene}" was not held`),
      },
      { what: 'retry', choice: { kinds: ['unanswered'], ids: [], notAt: undefined } },
      { what: 'run', manifest: three },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 110, inResume: 40 },
  },
];
