/** Scenarios of jobs that return files besides pictures. */
import { fileOf, pictureOf } from '../../../fakes/fake-service.ts';
import { manifestOf, outputWith } from '../../../fakes/world.ts';
import { noPicture } from '../../../../src/runner/core/picture.ts';
import type { Scenario } from './scenario.ts';

const asked = [
  { label: 'mask', kind: 'png' },
  { label: 'camera', kind: 'json' },
] as const;
const settings = outputWith({ files: asked });

export const files: Scenario[] = [
  {
    name: 'pictures with files, one of which is cut once; one row is edited and back, one is rendered again',
    behaviour: (scene, nth) => ({
      pictures: [
        pictureOf(scene),
        fileOf('mask', 'png', `mask of ${scene} ${nth}`),
        fileOf('camera', 'json', scene === 'cut once' && nth === 1 ? 'bad' : `camera of ${scene} ${nth}`),
      ],
    }),
    steps: [
      {
        what: 'run',
        // The mask of the first scene and the sidecar of the last one collide with names of other scenes.
        manifest: manifestOf([
          ['a', 'sea'],
          ['a-mask', 'cut once'],
          ['a-camera', 'hills'],
          ['b', 'moon'],
        ]),
        settings,
      },
      {
        what: 'run',
        manifest: manifestOf([
          ['a', 'sea at noon'],
          ['a-mask', 'cut once'],
          ['a-camera', 'hills'],
          ['b', 'moon'],
        ]),
        settings,
      },
      {
        what: 'run',
        manifest: manifestOf([
          ['a', 'sea'],
          ['a-mask', 'cut once'],
          ['a-camera', 'hills'],
          ['b', 'moon'],
        ]),
        settings,
      },
      { what: 'retry', choice: { kinds: [], ids: ['b'], notAt: undefined, isAgain: true } },
      {
        what: 'run',
        manifest: manifestOf([
          ['a', 'sea'],
          ['a-mask', 'cut once'],
          ['a-camera', 'hills'],
          ['b', 'moon'],
        ]),
        settings,
      },
    ],
    everyNthInResume: 197,
    atLeast: { deaths: 900, inResume: 350 },
  },
  {
    name: 'files without any picture',
    behaviour: (scene) => ({ pictures: [fileOf('mask', 'png', scene), fileOf('camera', 'json')] }),
    steps: [
      {
        what: 'run',
        manifest: manifestOf([
          ['a', 'sea'],
          ['b', 'hills'],
        ]),
        settings: outputWith({ files: asked, image: noPicture }),
      },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 250, inResume: 120 },
  },
];
