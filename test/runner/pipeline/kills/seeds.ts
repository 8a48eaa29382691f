/**
 * Scenarios in which a seed is sent only if the one before it did not meet `until`, and the condition
 * changes.
 */
import type { FoundPicture } from '../../../../src/runner/core/picture.ts';
import { manifestOf, type World } from '../../../fakes/world.ts';
import type { Scenario } from './scenario.ts';

/** Scores of the seeds of each row. Null if the job always fails. */
const scores: Record<string, (number | null)[]> = {
  a: [0.7, 0.9, 0.9, 0.9, 0.9],
  b: [0.2, 0.65, 0.9, 0.9, 0.9],
  c: [null, 0.1, 0.8, 0.9, 0.9],
  d: [0.1, 0.2, 0.3, 0.4, 0.9],
};

/** Returns four rows with `count` seeds each. */
export const seedList = (count: number) =>
  manifestOf(
    Object.keys(scores).flatMap((row) =>
      Array.from({ length: count }, (_, i): [string, string] => [`${row}-s${i + 1}`, `${row} ${i + 1}`]),
    ),
  );

/** Returns a picture with the score of this seed, or a failure, as `scores` says. */
export function scored(
  scene: string,
): { failure: { kind: 'job-failed'; text: string } } | { pictures: FoundPicture[] } {
  const [row = '', number = ''] = scene.split(' ');
  const score = scores[row]?.[Number(number) - 1];
  if (score === null || score === undefined) return { failure: { kind: 'job-failed', text: 'no memory' } };
  const base64 = Buffer.from(`picture of ${scene}`).toString('base64');
  return { pictures: [{ base64, seed: number, output: { rest: { score } } }] };
}

const values = [{ name: 'score', at: ['score'] }];
export const sendUntil = (until?: string) => (world: World) => {
  world.batch = { values, ...(until !== undefined && { until }) };
};

/**
 * Compares the seeds that were sent with the expected ones. `a1 b2` means: row a up to seed 1 and row b up to
 * seed 2.
 */
const sentUpTo =
  (text: string) =>
  ({ service }: World): string[] => {
    const expected = text.split(' ').flatMap((each) => {
      const row = each.slice(0, 1);
      return Array.from({ length: Number(each.slice(1)) }, (_, i) => `${row} ${i + 1}`);
    });
    const sent = new Set(service.jobs.map(({ scene }) => scene));
    return [
      ...[...sent].filter((scene) => !expected.includes(scene)).map((scene) => `${scene} was sent`),
      ...expected.filter((scene) => !sent.has(scene)).map((scene) => `${scene} was not sent`),
    ];
  };

export const retry = {
  attempts: 1,
  submissions: 10,
  firstWait: 2_000,
  longestWait: 120_000,
  unanswered: 'resubmit' as const,
};

export const seeds: Scenario[] = [
  {
    name: 'seeds until one is good',
    behaviour: scored,
    steps: [
      {
        what: 'run',
        before: sendUntil('score >= 0.6'),
        manifest: seedList(4),
        settings: { retry },
        wrong: sentUpTo('a1 b2 c3 d4'),
      },
    ],
    everyNthInResume: 197,
    atLeast: { deaths: 600, inResume: 300 },
  },
  {
    name: 'seeds until one is good, left, then until another condition, more of them, a retry, and all',
    behaviour: scored,
    steps: [
      {
        what: 'run',
        before: sendUntil('score >= 0.6'),
        manifest: seedList(4),
        settings: { retry, concurrency: 4 },
        until: 7_000,
        isSetup: true,
      },
      {
        what: 'run',
        before: sendUntil('score >= 0.1'),
        manifest: seedList(4),
        settings: { retry },
        wrong: sentUpTo('a1 b2 c2 d2'),
      },
      {
        what: 'run',
        before: sendUntil('score >= 0.7'),
        manifest: seedList(5),
        settings: { retry },
        wrong: sentUpTo('a1 b3 c3 d5'),
      },
      { what: 'retry', choice: { kinds: [], ids: ['a-s1', 'c-s1'], notAt: undefined, isAgain: true } },
      { what: 'run', manifest: seedList(5), settings: { retry }, wrong: sentUpTo('a1 b3 c3 d5') },
      { what: 'run', before: sendUntil(), manifest: seedList(5), settings: { retry } },
    ],
    everyNthInResume: 997,
    atLeast: { deaths: 740, inResume: 120 },
  },
];
