/** Scenes that can never be rendered, because every attempt fails in the same way. */
import { chance } from '../faults/chance.ts';

export type Curse = 'too large (400)' | 'malformed (400)' | 'the same damage each time';

/** Errors with which the service refuses the input of a cursed scene. */
export const refusals: Partial<Record<Curse, string>> = {
  'too large (400)': 'exceeded max body size of 10MiB',
  'malformed (400)': 'the input is malformed: scene has hills',
};

/** Kind of failure that the program must record for a scene with each curse. */
export const declaredAs: Record<Curse, string> = {
  'too large (400)': 'input-refused',
  'malformed (400)': 'input-refused',
  'the same damage each time': 'bad-picture',
};

/** Returns the curse of a scene. Undefined for most scenes. */
export function curseOf(seed: number, scene: string): Curse | undefined {
  const random = chance(seed, 'curse', scene);
  return random.hits(0.02) ? random.pick(Object.keys(declaredAs) as Curse[]) : undefined;
}
