/** Scenarios in which a person intervenes: Ctrl-C, `cancel`, `verify --repair`, `retry`. */
import { pictureOf } from '../../../fakes/fake-service.ts';
import { endpoint, manifestOf, type World } from '../../../fakes/world.ts';
import type { Scenario, Step } from './scenario.ts';

const three = manifestOf([
  ['a', 'sea'],
  ['b', 'hills'],
  ['c', 'quick'],
]);

const five = manifestOf([
  ['a', 'sea'],
  ['b', 'hills'],
  ['c', 'moon'],
  ['d', 'fox'],
  ['e', 'rain'],
]);

const leftAtOnce: Step = { what: 'run', manifest: three, settings: { concurrency: 3 }, until: 900 };

const leftInFlight: Step = { ...leftAtOnce, isSetup: true };

const quick = (scene: string) => (scene === 'quick' ? { queueMs: 1_500, executionMs: 100 } : {});

const cancel: Step = { what: 'cancel', afterMs: 700 };

const elsewhere = { ...endpoint, baseUrl: 'https://other.example' };

function damage({ images }: World): void {
  images.files.delete('a.png');
  images.files.set('b.png', 'cut');
  images.files.delete('c-2.png');
}

export const people: Scenario[] = [
  {
    name: 'a run that is told to leave at each picture',
    steps: [
      {
        what: 'run',
        manifest: five,
        settings: { concurrency: 1 },
        onEvent: (event, stop) => {
          if (event.type === 'scene-saved') stop.request('leave', { kind: 'interrupted', text: 'Ctrl-C' });
        },
      },
      { what: 'run', manifest: five },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 190, inResume: 85 },
  },
  {
    name: 'cancel, and cancel again after a crash',
    behaviour: quick,
    steps: [leftInFlight, cancel, { what: 'run', manifest: three }],
    everyNthInResume: 97,
    atLeast: { deaths: 90, inResume: 30 },
  },
  {
    name: 'cancel, and a run after a crash',
    behaviour: quick,
    steps: [leftInFlight, { ...cancel, afterDeath: 'on' }, { what: 'run', manifest: three }],
    everyNthInResume: 97,
    atLeast: { deaths: 80, inResume: 25 },
  },
  {
    name: 'cancel at a service that cancels nothing (405)',
    behaviour: quick,
    steps: [
      leftInFlight,
      {
        ...cancel,
        before: ({ service }) => (service.instead.cancel = () => ({ kind: 'unsupported', text: '405' })),
      },
      { what: 'run', manifest: three },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 70, inResume: 25 },
  },
  {
    name: 'verify --repair of missing and damaged pictures',
    behaviour: (scene) => (scene === 'quick' ? { pictures: [pictureOf('first'), pictureOf('second')] } : {}),
    steps: [
      { what: 'run', manifest: three, isSetup: true },
      { what: 'verify', before: damage },
      { what: 'run', manifest: three },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 125, inResume: 55 },
  },
  {
    name: 'retry of a failed scene, while others are in flight',
    behaviour: (scene, nth) =>
      scene === 'sea' && nth === 1 ? { reply: { kind: 'input-refused', text: '400' } } : {},
    steps: [leftInFlight, { what: 'retry' }, { what: 'run', manifest: three }],
    everyNthInResume: 97,
    atLeast: { deaths: 65, inResume: 25 },
  },
  {
    name: 'retry --again of a scene that was saved with two pictures, and then with one',
    behaviour: (scene, nth) =>
      scene === 'quick' && nth === 1 ? { pictures: [pictureOf('first'), pictureOf('second')] } : {},
    steps: [
      { what: 'run', manifest: three, isSetup: true },
      { what: 'retry', choice: { kinds: [], ids: ['a', 'c'], notAt: undefined, isAgain: true } },
      {
        what: 'run',
        manifest: three,
        wrong: ({ images }) =>
          ['a.png.former', 'c.png.former', 'c-2.png.former']
            .filter((file) => !images.files.has(file))
            .map((file) => `${file} is not kept`),
      },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 60, inResume: 25 },
  },
  {
    name: 'retry --elsewhere of jobs at another address, whenever the run there crashed',
    steps: [
      { ...leftAtOnce, afterDeath: 'on' },
      { what: 'retry', choice: { kinds: [], ids: [], notAt: elsewhere.baseUrl } },
      { what: 'run', manifest: three, settings: { endpoint: elsewhere } },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 100, inResume: 45 },
  },
];
