/** Scenarios in which the manifest is edited between the runs. */
import { manifestOf, type World } from '../../../fakes/world.ts';
import { pictureOf, type Behaviour } from '../../../fakes/fake-service.ts';
import type { Scenario } from './scenario.ts';

const listed = manifestOf([
  ['a', 'sea'],
  ['b', 'hills'],
  ['c', 'two pictures'],
]);

const edited = manifestOf([
  ['a', 'sea at night'],
  ['b', 'hills'],
  ['d', 'a new row'],
]);

const behaviour: Behaviour = (scene) =>
  scene.includes('two') ? { pictures: [pictureOf('first'), pictureOf('second')] } : {};

const loseCheckpoint = (world: World): Promise<void> => world.forget();

export const edits: Scenario[] = [
  {
    name: 'a checkpoint that is lost when all was saved, and the pictures are adopted',
    behaviour,
    steps: [
      { what: 'run', manifest: listed, isSetup: true },
      {
        what: 'run',
        manifest: listed,
        settings: { unknownPictures: 'adopt' },
        before: loseCheckpoint,
        wrong: ({ service }) =>
          service.jobs.length > 3 ? [`${service.jobs.length} jobs were paid for 3 scenes`] : [],
      },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 25, inResume: 5 },
  },
  {
    name: 'a manifest that was edited when all was saved, and then edited back',
    behaviour,
    steps: [
      { what: 'run', manifest: listed, isSetup: true },
      { what: 'run', manifest: edited },
      { what: 'run', manifest: listed },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 80, inResume: 30 },
  },
  {
    name: 'a manifest that is edited after the death',
    behaviour,
    steps: [
      { what: 'run', manifest: listed, afterDeath: 'on' },
      { what: 'run', manifest: edited },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 135, inResume: 25 },
  },
];
