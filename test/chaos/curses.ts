/** Scenes that can never be rendered: whatever is tried, the same goes wrong again. */
import { chance } from '../faults/chance.ts';

export type Curse = 'too large (400)' | 'malformed (400)' | 'the same damage each time';

/** The service's words where it refuses what a scene sends. */
export const refusals: Partial<Record<Curse, string>> = {
  'too large (400)': 'exceeded max body size of 10MiB',
  'malformed (400)': 'the input is malformed: scene has hills',
};

/** How a scene that has the curse is to be declared. */
export const declaredAs: Record<Curse, string> = {
  'too large (400)': 'input-refused',
  'malformed (400)': 'input-refused',
  'the same damage each time': 'bad-picture',
};

/** Undefined for most scenes. */
export function curseOf(seed: number, scene: string): Curse | undefined {
  const random = chance(seed, 'curse', scene);
  return random.hits(0.02) ? random.pick(Object.keys(declaredAs) as Curse[]) : undefined;
}
