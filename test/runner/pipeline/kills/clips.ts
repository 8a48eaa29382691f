/** Scenarios of jobs that return clips, which are downloaded into files before they are saved. */
import { fileOf, type Behaviour } from '../../../fakes/fake-service.ts';
import { manifestOf, outputWith } from '../../../fakes/world.ts';
import type { Scenario } from './scenario.ts';

const manifest = manifestOf([
  ['a', 'sea'],
  ['b', 'hills'],
  ['c', 'moon'],
]);
const settings = outputWith({ media: 'video', files: [{ label: 'sound', kind: 'wav' }] });

/** Each job returns a clip by URL, another clip in its answer, and a sound file. */
const clipsWith =
  (cut: string | undefined): Behaviour =>
  (scene, nth) => {
    const sent = Buffer.from(`clip of ${scene} ${nth}`).toString('base64');
    return {
      pictures: [
        { url: `https://cdn.example/${scene === cut ? 'bad' : scene}-${nth}.mp4`, isClip: true },
        { base64: sent, isClip: true },
        fileOf('sound', 'wav', `sound of ${scene} ${nth}`),
      ],
    };
  };

export const clips: Scenario[] = [
  {
    name: 'clips with a sound beside them; those of one job are cut, and come whole after retry',
    behaviour: clipsWith('hills'),
    steps: [
      { what: 'run', manifest, settings },
      { what: 'retry', choice: { kinds: ['bad-clip'], ids: [], notAt: undefined } },
      {
        what: 'run',
        manifest,
        settings,
        before: ({ service }) => (service.behaviour = clipsWith(undefined)),
      },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 100, inResume: 50 },
  },
];
