/** All things with a shape, by noun. */
import type { ThingNoun } from '../../language/nouns.ts';
import { animals } from './animals.ts';
import { appliances, furniture } from './furniture.ts';
import { buildings } from './buildings.ts';
import { figures, people } from './people.ts';
import { goods, sports } from './goods.ts';
import { inkOn, inscription, lengthOf, writable } from './letters.ts';
import { box } from './parts.ts';
import { plants } from './plants.ts';
import { tabletop } from './tabletop.ts';
import { land, mainOf, type Thing } from './thing.ts';
import { vehicles } from './vehicles.ts';

export function thingOf(noun: ThingNoun): Thing {
  return catalogue[noun];
}

const maxLetters = 14;
const margin = 0.16;
const usualLetter = 0.46;
const maxWide = 2.4;

/** A box with a name, which stands for a thing without a shape of its own. */
const label: Thing = {
  ...land,
  height: 0.8,
  build: (said, random) => {
    const main = mainOf(said, '#d9b483|#c9d3c0|#d8c3a5|#c3cfd9', random);
    const text = writable(said.text).slice(0, maxLetters).trim();
    const wide = Math.min(maxWide, Math.max(0.9, lengthOf(text) * usualLetter + 2 * margin));
    return [
      box([0, 0.4, 0], [wide, 0.8, 0.6], main, 0.05),
      ...inscription(text, [0, 0.4], 0.31, [wide - 2 * margin, usualLetter], inkOn(main)),
    ];
  },
};

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
