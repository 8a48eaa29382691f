/** Everything that can be set into a picture, by its noun. */
import type { Noun } from '../../language/nouns.ts';
import { buildings } from './buildings.ts';
import { craft } from './craft.ts';
import { figures } from './figures.ts';
import type { Entry } from './look.ts';
import { objects } from './objects.ts';
import { plants } from './plants.ts';

const catalogue: Partial<Record<Noun, Entry>> = {
  ...buildings,
  ...plants,
  ...figures,
  ...craft,
  ...objects,
};

/** Absent for what is not a thing but a part of the place, such as the sea or the rain. */
export function entryOf(noun: Noun): Entry | undefined {
  return catalogue[noun];
}
