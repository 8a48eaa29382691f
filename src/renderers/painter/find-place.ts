/** Finds the place of one thing in a landscape: where its kind belongs, as far from the others as it can be. */
import { type Random } from '../random.ts';
import type { Mention } from './mentions.ts';
import { type Stage } from './stage.ts';
import {
  airSpot,
  bankThings,
  capeSpot,
  crossing,
  hillThings,
  isInRiver,
  plainSpot,
  waterSpot,
  type Spot,
  type Terrain,
} from './terrain.ts';
import { entryOf } from './things/catalogue.ts';
import type { Entry } from './things/look.ts';
import type { Noun } from '../language/nouns.ts';

export type Layer = 'far' | 'near' | 'air';

export interface Item {
  entry: Entry;
  mention: Mention;
  /** Its number among the things of its mention, from 0. */
  index: number;
}

/** One thing in its place. */
export interface Placed extends Spot, Item {
  layer: Layer;
}

/** The things of a mention; none where it is a part of the place. */
export function itemsOf(mention: Mention): Item[] {
  const entry = entryOf(mention.noun);
  return entry === undefined
    ? []
    : Array.from({ length: mention.count }, (_, index) => ({ entry, mention, index }));
}

/** Of some chances, the place with the most room. */
export function findPlace(
  stage: Stage,
  terrain: Terrain,
  random: Random,
  taken: readonly Placed[],
  thing: Item,
): Placed {
  const chances = Array.from({ length: thing.mention.count > 20 ? 3 : 14 }, () => {
    const place = chancePlace(stage, terrain, random, thing);
    return { place, room: roomFor(stage, terrain, place, taken) };
  });
  return chances.reduce((best, chance) => (chance.room > best.room ? chance : best)).place;
}

function chancePlace(stage: Stage, terrain: Terrain, random: Random, thing: Item): Placed {
  const { entry, mention } = thing;
  const { cape } = terrain;
  const place: Placed = { ...thing, ...spotFor(stage, terrain, random, mention, entry) };
  place.scale *= sizeOf(stage, mention, entry) * (mention.count > 2 ? random.between(0.8, 1.2) : 1);
  if (place.layer === 'far' && cape !== undefined) {
    place.scale = Math.min(place.scale, ((cape.right - cape.left) * 0.3) / entry.reach);
  }
  if (entry.home === 'air') place.y = Math.max(place.y, entry.rise * place.scale + 14);
  return place;
}

/** How far it is from what stands already, from the picture's edges, from a river's water. */
function roomFor(stage: Stage, terrain: Terrain, place: Placed, taken: readonly Placed[]): number {
  const reach = place.entry.reach * place.scale;
  const isFlying = place.layer === 'air';
  if (!isFlying && place.entry.home === 'land' && isInRiver(terrain, place, reach)) return -1000;
  let room = Math.min(40, (Math.min(place.x, stage.width - place.x) - reach) * 1.4);
  for (const other of taken) {
    if ((other.layer === 'air') !== isFlying) continue;
    const across = Math.abs(other.x - place.x) - (reach + other.entry.reach * other.scale) * 0.9;
    const along = Math.abs(other.y - place.y);
    const apart = isFlying
      ? Math.hypot(Math.max(0, across + reach), along * 1.1) - reach
      : across + along * 0.33;
    room = Math.min(room, apart);
  }
  return room;
}

/** Few are shown large, many small. */
function sizeOf(stage: Stage, mention: Mention, entry: Entry): number {
  const beside = stage.setting.description.mentions.filter(({ noun }) => entryOf(noun)?.home === entry.home);
  const crowd = beside.reduce((sum, { count, noun }) => sum + crowdOf(noun) * Math.min(count, 12), 0);
  const ease = Math.max(0.72, 1 / (1 + 0.085 * Math.max(0, crowd - 1)));
  const fellows = beside.filter(({ noun }) => bankThings.has(noun) && bankThings.has(mention.noun));
  const most = Math.max(mention.count, ...fellows.map(({ count, noun }) => count * crowdOf(noun)));
  const alone = 1 + (entry.alone - 1) * Math.max(0, 1 - (most - 1) * 0.13);
  return mention.size * alone * ease;
}

/** How much one of a kind crowds a picture. */
function crowdOf(noun: Noun): number {
  return noun === 'flower' || noun === 'bird' || noun === 'butterfly' ? 0.08 : 1;
}

function spotFor(
  stage: Stage,
  terrain: Terrain,
  random: Random,
  { noun }: Mention,
  entry: Entry,
): Spot & Pick<Placed, 'layer'> {
  const { water, cape, river } = terrain;
  if (entry.home === 'air') return { ...airSpot(stage, random), layer: 'air' };
  if (entry.home === 'water') return { ...waterSpot(stage, terrain, random), layer: 'near' };
  if (noun === 'bridge' && river !== undefined) return { ...crossing(stage, river), layer: 'near' };
  const isOnSand = noun === 'palm' && cape === undefined;
  if (water !== undefined && terrain.hasBank && (bankThings.has(noun) || isOnSand)) {
    return { ...bankSpot(stage, water.bottom, random, isOnSand), layer: 'near' };
  }
  if (cape !== undefined && (!cape.isKnoll || hillThings.has(noun))) {
    return { ...capeSpot(cape, random), layer: 'far' };
  }
  if (water !== undefined && stage.setting.ground === 'lake') {
    return { ...shoreSpot(stage, water.top, random), layer: 'far' };
  }
  if (water !== undefined) return { ...bankSpot(stage, stage.height * 0.9, random, false), layer: 'near' };
  return { ...clearing(stage, plainSpot(stage, random, ...entry.depths)), layer: 'near' };
}

/** In a forest, things stand in the middle, where the trees leave room. */
function clearing(stage: Stage, spot: Spot): Spot {
  if (!stage.says('forest')) return spot;
  return { ...spot, x: stage.width * (0.28 + (0.44 * spot.x) / stage.width) };
}

function bankSpot(stage: Stage, edge: number, random: Random, isAside: boolean): Spot {
  const aside = random.chance(0.5) ? random.between(0.03, 0.24) : random.between(0.76, 0.97);
  const along = random.between(0.35, 0.85);
  const x = (isAside ? aside : random.between(0.06, 0.94)) * stage.width;
  const y = edge + (stage.height - edge) * along;
  return { x, y, scale: isAside ? 1.3 : 1, depth: 0.88 + 0.12 * along };
}

/** On the far side of a lake. */
function shoreSpot({ width, horizon }: Stage, edge: number, random: Random): Spot {
  const along = random.between(0.35, 0.95);
  const x = random.between(0.04, 0.96) * width;
  return { x, y: horizon + (edge - horizon) * along, scale: 0.5 + 0.14 * along, depth: 0.42 + 0.12 * along };
}
