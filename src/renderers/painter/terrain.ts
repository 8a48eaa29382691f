/** Where things can stand, swim and fly in a landscape, and how large they look there. */
import { clamp } from '../colour.ts';
import { type Random } from '../random.ts';
import { mentionOf } from './mentions.ts';
import { type Stage } from './stage.ts';
import { nounSet, type Noun } from '../language/nouns.ts';

/** A place for one thing: its foot, its scale, and its depth from 0 (horizon) to 1 (right here). */
export interface Spot {
  x: number;
  y: number;
  scale: number;
  depth: number;
}

export interface Terrain {
  /** From the far to the near water's edge; absent where there is no still water. */
  water: { top: number; bottom: number } | undefined;
  /** Land that rises out of the sea. */
  cape: Cape | undefined;
  /** The near edge of the water, where it shows; the land before it ends at the picture's foot. */
  hasBank: boolean;
  river: River | undefined;
}

export interface Cape {
  left: number;
  right: number;
  /** Where it meets the water. */
  foot: number;
  /** A hill on dry land. */
  isKnoll: boolean;
  /** The height of the ground at x, as a y. */
  topAt(x: number): number;
}

export interface River {
  middleAt(y: number): number;
  halfWidthAt(y: number): number;
}

/** Low things: they stand on the near bank where there is one. */
export const bankThings = nounSet(
  'cat dog horse cow sheep rabbit owl person car fence flower path snowman mushroom tent ball cube rock pumpkin',
);
/** Tall things: they make a cape rise out of the sea, or stand on a hill. */
export const hillThings = nounSet('house castle tower lighthouse barn windmill church tree oak bush');
const capeThings: readonly Noun[] = [...hillThings, 'pine', 'forest', 'pyramid', 'island'];

export function terrainOf(stage: Stage): Terrain {
  const { horizon, height, setting } = stage;
  const random = stage.random.fork('terrain');
  const deep = height - horizon;
  const { ground } = setting;
  const none = { water: undefined, cape: undefined, hasBank: false, river: undefined };
  if (ground === 'sea' || ground === 'beach') {
    const isBeach = ground === 'beach';
    const hasBank = isBeach || stage.says(...bankThings);
    const bank = isBeach ? random.between(0.6, 0.7) : 0.74;
    const saysCape = stage.says(...capeThings);
    const hasCape = saysCape || (!isBeach && (stage.says('palm', 'hill') || random.chance(0.35)));
    const water = { top: horizon, bottom: hasBank ? horizon + deep * bank : height };
    return { ...none, water, cape: hasCape ? capeOf(stage, random) : undefined, hasBank };
  }
  if (ground === 'lake') {
    const water = { top: horizon + deep * 0.17, bottom: horizon + deep * random.between(0.72, 0.8) };
    return { ...none, water, hasBank: true };
  }
  const cape = hasKnoll(setting) ? knollOf(stage, random) : undefined;
  return { ...none, cape, river: ground === 'river' ? riverOf(stage, random) : undefined };
}

/** A spot on the open plane; far things are small. */
export function plainSpot(stage: Stage, random: Random, from: number, to: number): Spot {
  const depth = clamp(random.between(from, to), 0, 1);
  const y = stage.horizon + 10 + (stage.height - stage.horizon - 14) * depth ** 1.12;
  return { x: random.between(0.04, 0.96) * stage.width, y, scale: 0.5 + 0.72 * depth, depth };
}

/** A place inland from a river's edge stays out of the water. */
export function isInRiver(terrain: Terrain, spot: Spot, reach: number): boolean {
  const { river } = terrain;
  if (river === undefined) return false;
  return Math.abs(spot.x - river.middleAt(spot.y)) < river.halfWidthAt(spot.y) + reach;
}

export function capeSpot(cape: Cape, random: Random): Spot {
  const isOpenLeft = cape.left > 0;
  const isOpenRight = cape.topAt(cape.right) > cape.foot - 8;
  const margin = cape.isKnoll ? 0.44 : 0.2;
  const share = random.between(isOpenLeft ? margin : 0.06, isOpenRight ? 1 - margin : 0.94);
  const x = cape.left + (cape.right - cape.left) * share;
  return { x, y: cape.topAt(x) + 5, scale: cape.isKnoll ? 0.7 : 0.84, depth: 0.6 };
}

/** On the water, before a cape and not behind it. */
export function waterSpot(stage: Stage, { water, cape, hasBank }: Terrain, random: Random): Spot {
  const { top, bottom } = water ?? { top: stage.horizon + 30, bottom: stage.height };
  const x = random.between(0.06, 0.94) * stage.width;
  const isBeforeCape = cape !== undefined && x > cape.left - 70 && x < cape.right + 70;
  const least = isBeforeCape ? ((cape.foot + 26 - top) / (bottom - top)) ** (1 / 1.15) : 0.12;
  const depth = random.between(least, hasBank ? 0.66 : 0.8);
  return { x, y: top + (bottom - top) * depth ** 1.15, scale: 0.38 + 0.9 * depth, depth: 0.2 + 0.8 * depth };
}

/** Where a stone bridge crosses the river. */
export function crossing({ horizon, height }: Stage, river: River): Spot {
  const y = horizon + (height - horizon) * 0.4;
  return { x: river.middleAt(y), y, scale: 1, depth: 0.5 };
}

export function airSpot({ width, horizon }: Stage, random: Random): Spot {
  const depth = random.next();
  const y = horizon * random.between(0.12, 0.78);
  const x = random.between(0.06, 0.94) * width;
  return { x, y, scale: 0.45 + 0.75 * depth, depth: 0.35 + 0.65 * depth };
}

function capeOf(stage: Stage, random: Random): Cape {
  const { width, horizon, height, light } = stage;
  const isIsland = stage.says('island');
  const long = width * random.between(0.4, 0.5);
  const middle = width * (0.5 - light.side * 0.2);
  const left = isIsland ? middle - long / 2 : light.side === 1 ? -20 : width - long;
  const right = isIsland ? middle + long / 2 : light.side === 1 ? long : width + 20;
  const foot = horizon + (height - horizon) * random.between(0.2, 0.27);
  const tall = (foot - horizon) * 0.6 + random.between(30, 52);
  const [turn, wave] = [random.between(0, 6), random.between(3, 6)];
  const topAt = (x: number): number => {
    const along = clamp((x - left) / (right - left), 0, 1);
    const tip = isIsland ? Math.sin(along * Math.PI) : light.side === 1 ? 1 - along : along;
    const rise = Math.min(1, tip * 2.6) ** 0.55 * (0.8 + 0.2 * tip);
    return foot - tall * rise + Math.sin(x / 34 + turn) * wave * rise;
  };
  return { left, right, foot, isKnoll: false, topAt };
}

/** "a castle on a hill": one hill, and something to stand on it. */
function hasKnoll({ description }: Stage['setting']): boolean {
  const hill = mentionOf(description, 'hill');
  const buildings = description.mentions.filter(({ noun }) => hillThings.has(noun));
  return hill?.count === 1 && buildings.length > 0 && buildings.every(({ count }) => count < 4);
}

function knollOf(stage: Stage, random: Random): Cape {
  const { width, horizon, height, light } = stage;
  const middle = width * (0.5 - light.side * random.between(0.06, 0.16));
  const [half, tall] = [width * 0.36, horizon * random.between(0.2, 0.28)];
  const foot = horizon + (height - horizon) * 0.34;
  const topAt = (x: number): number => {
    const along = clamp((Math.abs(x - middle) / half - 0.18) / 0.82, 0, 1);
    return foot - (tall + foot - horizon) * (0.5 + 0.5 * Math.cos(along ** 1.15 * Math.PI));
  };
  return { left: middle - half, right: middle + half, foot, isKnoll: true, topAt };
}

function riverOf(stage: Stage, random: Random): River {
  const { width, height, horizon } = stage;
  const side = random.chance(0.5) ? 1 : -1;
  const start = width * (0.5 + side * random.between(0.02, 0.14));
  const swing = width * random.between(0.1, 0.16) * side;
  const shareAt = (y: number): number => clamp((y - horizon) / (height - horizon), 0, 1);
  return {
    middleAt: (y) => start + swing * Math.sin(shareAt(y) ** 0.62 * 6.6) * 1.15 * shareAt(y),
    halfWidthAt: (y) => 3 + width * 0.135 * shareAt(y) ** 1.35,
  };
}
