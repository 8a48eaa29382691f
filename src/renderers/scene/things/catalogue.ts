/** Every thing with a shape, by its noun. */
import type { ThingNoun } from '../../language/nouns.ts';
import { animals } from './animals.ts';
import { buildings } from './buildings.ts';
import { figures } from './figures.ts';
import { furniture } from './furniture.ts';
import { goods } from './goods.ts';
import { people } from './people.ts';
import { plants } from './plants.ts';
import { tabletop } from './tabletop.ts';
import type { Thing } from './thing.ts';
import { vehicles } from './vehicles.ts';

const catalogue: Record<ThingNoun, Thing> = {
  ...buildings,
  ...plants,
  ...animals,
  ...people,
  ...figures,
  ...furniture,
  ...tabletop,
  ...vehicles,
  ...goods,
};

export function thingOf(noun: ThingNoun): Thing {
  return catalogue[noun];
}
