/** Every thing with a shape, by its noun. */
import type { Noun } from '../../language/nouns.ts';
import { animals } from './animals.ts';
import { buildings } from './buildings.ts';
import { figures } from './figures.ts';
import { furniture } from './furniture.ts';
import { goods } from './goods.ts';
import { plants } from './plants.ts';
import { tabletop } from './tabletop.ts';
import type { Thing } from './thing.ts';
import { vehicles } from './vehicles.ts';

const catalogue: Partial<Record<Noun, Thing>> = {
  ...buildings,
  ...plants,
  ...animals,
  ...figures,
  ...furniture,
  ...tabletop,
  ...vehicles,
  ...goods,
};

export function thingOf(noun: Noun): Thing {
  return catalogue[noun] ?? tabletop.form;
}
