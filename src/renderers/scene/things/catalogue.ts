/** All things with a shape, by noun. */
import type { ThingNoun } from '../../language/nouns.ts';
import { animals } from './animals.ts';
import { appliances } from './appliances.ts';
import { buildings } from './buildings.ts';
import { figures } from './figures.ts';
import { furniture } from './furniture.ts';
import { goods } from './goods.ts';
import { label } from './label.ts';
import { people } from './people.ts';
import { plants } from './plants.ts';
import { tabletop } from './tabletop.ts';
import { sports } from './sports.ts';
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
  ...appliances,
  ...sports,
  label,
};

export function thingOf(noun: ThingNoun): Thing {
  return catalogue[noun];
}
