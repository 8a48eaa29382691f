/**
 * Scenarios that begin with a preview of a part, and continue with the whole list, another part, or an edited
 * list.
 */
import { manifestOf, type World } from '../../../fakes/world.ts';
import type { Scenario } from './scenario.ts';

const list = manifestOf(Array.from({ length: 5 }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]));
const shorter = manifestOf(Array.from({ length: 4 }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]));

const submittedAtMost =
  (most: number) =>
  (world: World): string[] => {
    const scenes = new Set(world.service.jobs.map(({ scene }) => scene)).size;
    return scenes > most ? [`${scenes} scenes were submitted, and ${most} are the preview`] : [];
  };

export const previews: Scenario[] = [
  {
    name: 'a preview, and then the whole list',
    steps: [
      { what: 'run', manifest: list, settings: { part: { limit: 2 } }, wrong: submittedAtMost(2) },
      { what: 'run', manifest: list },
    ],
    everyNthInResume: 97,
    atLeast: { deaths: 180, inResume: 75 },
  },
  {
    name: 'the whole list, left for a preview of an edited one, and then all of it',
    behaviour: (_, nth) => (nth === 1 ? { failure: { kind: 'job-failed', text: 'no memory' } } : {}),
    steps: [
      { what: 'run', manifest: list, until: 3_000, isSetup: true },
      { what: 'run', manifest: shorter, settings: { part: { share: 0.5 } } },
      { what: 'run', manifest: list },
    ],
    everyNthInResume: 197,
    atLeast: { deaths: 400, inResume: 100 },
  },
];
