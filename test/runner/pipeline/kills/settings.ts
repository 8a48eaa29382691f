/**
 * Scenarios in which outputs have their pictures at another place than the settings name, until a person
 * corrects the settings.
 */
import { manifestOf } from '../../../fakes/world.ts';
import type { Scenario, Step } from './scenario.ts';

const three = manifestOf([
  ['a', 'sea'],
  ['b', 'late'],
  ['c', 'waits'],
]);

const behaviour = (scene: string) => ({
  place: 'images[0].data',
  queueMs: 0,
  executionMs: 100,
  emptyAnswers: scene === 'late' ? 2 : 0,
});

const wrong: Step = { what: 'run', manifest: three, settings: { concurrency: 2 } };

/** The service has forgotten all waiting results by then. */
const corrected: Step = {
  ...wrong,
  settings: { concurrency: 2, outputDigest: 'corrected' },
  afterMs: 12 * 3_600_000,
  before: ({ service }) => (service.place = 'images[0].data'),
};

export const settings: Scenario[] = [
  {
    name: 'answers that are kept until a setting is corrected, and then read',
    behaviour,
    steps: [wrong, corrected],
    everyNthInResume: 97,
    atLeast: { deaths: 400, inResume: 185 },
  },
  {
    name: 'answers for which the disk has no room, then room, and then a setting that is corrected',
    behaviour,
    steps: [
      {
        ...wrong,
        before: ({ answers }) => (answers.isFull = true),
        wrong: ({ answers }) => (answers.kept.size > 0 ? ['an answer is kept'] : []),
      },
      { ...wrong, before: ({ answers }) => (answers.isFull = false) },
      { ...corrected, isSetup: true },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 260, inResume: 110 },
  },
];
