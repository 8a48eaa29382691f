/** A scene that the program dies with, time after time, is handled alone and then set aside. */
import type { Failure } from './failure.ts';

/** After so many deaths a scene is taken in hand last, with no other beside it. */
export const suspectDeaths = 2;
const maxDeaths = 3;

/** Why a scene is set aside, or undefined where it is not. */
export function quarantine(deaths: number): Failure | undefined {
  if (deaths < maxDeaths) return undefined;
  const text = `the program died ${deaths} times while it sent this scene or handled its result; \`nightrender retry\` puts it back`;
  return { kind: 'quarantined', text };
}
