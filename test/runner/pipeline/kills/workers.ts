/** Scenarios in which jobs fail and pictures are damaged. */
import type { Failure } from '../../../../src/runner/core/failure.ts';
import { pictureOf } from '../../../fakes/fake-service.ts';
import { defaultSettings, manifestOf, type World } from '../../../fakes/world.ts';
import type { Scenario } from './scenario.ts';

const bad = { base64: Buffer.from('bad').toString('base64') };
const failed: Failure = { kind: 'job-failed', text: 'out of memory' };
const byAddress = (name: string) => ({ pictures: [{ url: `https://cdn.example/${name}` }] });

const overdue = {
  behaviour: (scene: string, nth: number) => (scene === 'slow' && nth === 1 ? { queueMs: 3_600_000 } : {}),
  settings: { timeouts: { ...defaultSettings.timeouts, queue: 40_000 } },
  manifest: manifestOf([
    ['a', 'slow'],
    ['b', 'hills'],
  ]),
};

function failedAttempts(world: World, scene: string): number {
  const rows = world.rows<{ scene: string }>(
    "SELECT json_extract(input, '$.scene') AS scene FROM attempts JOIN scenes USING (scene) WHERE attempts.state = 'failed'",
  );
  return rows.filter((row) => row.scene === scene).length;
}

export const workers: Scenario[] = [
  {
    name: 'a usual night',
    behaviour: (scene, nth) => {
      if (scene === 'fails once' && nth === 1) return { failure: failed };
      if (scene === 'two pictures') return { pictures: [pictureOf('first'), pictureOf('second')] };
      return scene === 'by address' ? byAddress('a.png') : {};
    },
    steps: [
      {
        what: 'run',
        manifest: manifestOf([
          ['a', 'sea'],
          ['b', 'fails once'],
          ['c', 'two pictures'],
          ['d', 'by address'],
        ]),
      },
    ],
    everyNthInResume: 197,
    atLeast: { deaths: 150, inResume: 50 },
  },
  {
    name: 'scenes that fail for good: three times, by the same bytes twice, without output twice, refused at once',
    behaviour: (scene) => {
      if (scene === 'fails') return { failure: failed };
      if (scene === 'the same bytes') return { pictures: [bad] };
      if (scene === 'no output') return { failure: { kind: 'no-output', text: 'COMPLETED without output' } };
      return scene === 'refused' ? { reply: { kind: 'input-refused', text: '400' } } : {};
    },
    steps: [
      {
        what: 'run',
        manifest: manifestOf([
          ['a', 'fails'],
          ['b', 'the same bytes'],
          ['c', 'no output'],
          ['d', 'refused'],
          ['e', 'sea'],
        ]),
        wrong: (world) =>
          Object.entries({ fails: 3, 'the same bytes': 2, 'no output': 2, refused: 0, sea: 0 }).flatMap(
            ([scene, most]) => {
              const count = failedAttempts(world, scene);
              return count > most ? [`"${scene}" has failed ${count} times`] : [];
            },
          ),
      },
    ],
    everyNthInResume: 197,
    atLeast: { deaths: 215, inResume: 85 },
  },
  {
    name: 'an overdue job that is cancelled at the service',
    behaviour: overdue.behaviour,
    steps: [{ what: 'run', manifest: overdue.manifest, settings: overdue.settings }],
    everyNthInResume: 97,
    atLeast: { deaths: 110, inResume: 50 },
  },
  {
    name: 'an overdue job at a service that cancels nothing (405)',
    behaviour: overdue.behaviour,
    steps: [
      {
        what: 'run',
        manifest: overdue.manifest,
        settings: overdue.settings,
        before: ({ service }) => (service.instead.cancel = () => ({ kind: 'unsupported', text: '405' })),
      },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 110, inResume: 50 },
  },
  {
    name: 'an overdue job that completes while it is cancelled',
    behaviour: overdue.behaviour,
    steps: [
      {
        what: 'run',
        manifest: overdue.manifest,
        settings: overdue.settings,
        before: (world) => {
          world.service.instead.cancel = (id) => {
            const job = world.service.jobs.find((one) => one.id === id);
            if (job !== undefined) job.completesAt = Math.min(job.completesAt, world.clock.now());
            return { kind: 'cancelled' };
          };
        },
      },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 70, inResume: 30 },
  },
  {
    name: 'pictures by address whose first five downloads fail',
    behaviour: (scene) => byAddress(`${scene}.png`),
    steps: [
      {
        what: 'run',
        manifest: manifestOf([
          ['a', 'sea'],
          ['b', 'hills'],
        ]),
        before: ({ downloads }) =>
          (downloads.answer = (_, nth) => (nth <= 5 ? { kind: 'download-failed', text: '503' } : undefined)),
      },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 70, inResume: 25 },
  },
  {
    name: 'a scene that the program has died with twice',
    steps: [
      ...[1, 2].map(() => ({
        what: 'run' as const,
        isSetup: true as const,
        manifest: manifestOf([
          ['a', 'sea'],
          ['b', 'a killer'],
        ]),
        settings: { concurrency: 1 },
        before: (world: World) => {
          world.service.instead.submit = (scene) => {
            if (scene === 'a killer') world.killer.isDead = true;
            return undefined;
          };
        },
      })),
      {
        what: 'run',
        manifest: manifestOf([
          ['a', 'sea'],
          ['b', 'a killer'],
          ['c', 'moon'],
        ]),
        before: ({ service }) => (service.instead = {}),
      },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 70, inResume: 25 },
  },
];
