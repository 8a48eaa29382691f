/** A landscape, painted from the sky forward to the grass at one's feet. */
import { placed, ellipse } from './drawing.ts';
import { paintForest } from './forest.ts';
import { paintFarHills, paintForeground, paintPath, paintPlain } from './land.ts';
import { hazeBand, paintMountains } from './mountains.ts';
import type { Mention } from './mentions.ts';
import { paintBank, paintCape, paintKnoll } from './shore.ts';
import { paintSky } from './sky.ts';
import { paintSkyline } from './skyline.ts';
import { darkCorners, lookOf, seen, type Stage } from './stage.ts';
import { terrainOf, type Terrain } from './terrain.ts';
import { type Look } from './things/look.ts';
import { drawHangingBridge } from './things/buildings.ts';
import { paintRiver, paintWater } from './water.ts';
import { paintClouds, paintWeather } from './weather.ts';
import { under } from '../colour.ts';
import { findPlace, itemsOf, type Layer, type Placed } from './find-place.ts';

export function paintLandscape(stage: Stage): string {
  const terrain = terrainOf(stage);
  const things = placeThings(stage, terrain);
  const forest = paintForest(stage, terrain);
  const heights =
    paintMountains(stage) +
    hazeBand(stage, stage.horizon + 26, 80, 0.5) +
    paintFarHills(stage) +
    paintSkyline(stage);
  const land = terrain.water === undefined ? dryLand : shore;
  return (
    paintSky(stage) +
    paintClouds(stage) +
    land(stage, terrain, heights, forest.far + things.far) +
    hangingBridge(stage, terrain) +
    `${things.near}${forest.near}${things.air}` +
    paintForeground(stage) +
    paintWeather(stage) +
    darkCorners(stage, 0.76, 0.24)
  );
}

function dryLand(stage: Stage, terrain: Terrain, heights: string, forest: string): string {
  const river = terrain.river === undefined ? '' : paintRiver(stage, terrain.river);
  const knoll = terrain.cape === undefined ? '' : paintKnoll(stage, terrain.cape);
  return heights + paintPlain(stage) + knoll + river + paintPath(stage, stage.horizon + 8) + forest;
}

/** Water, with all that stands on its far side mirrored in it. */
function shore(stage: Stage, terrain: Terrain, heights: string, standing: string): string {
  const { water, cape } = terrain;
  if (water === undefined) return '';
  const isLake = stage.setting.ground === 'lake';
  const land = isLake ? paintPlain(stage) : '';
  const bank = terrain.hasBank ? paintBank(stage, water.bottom) + paintPath(stage, water.bottom) : '';
  if (cape !== undefined) {
    const headland = `<g id="cape">${paintCape(stage, cape)}${standing}</g>`;
    const mirror = `<g ${stage.drawing.clip(`M0 ${cape.foot}H${stage.width}V${stage.height}H0Z`)}><use href="#cape" transform="translate(0 ${2 * cape.foot}) scale(1 -1)" opacity="0.3"/></g>`;
    return heights + paintWater(stage, water, undefined) + mirror + headland + bank;
  }
  if (heights.length + standing.length + land.length === 0) return paintWater(stage, water, undefined) + bank;
  return `<g id="far">${heights}${land}${standing}</g>${paintWater(stage, water, 'far')}${bank}`;
}

/** A hanging bridge over open water; a stone one over a river is a thing among things. */
function hangingBridge(stage: Stage, { water }: Terrain): string {
  const mention = stage.mention('bridge');
  if (mention === undefined || water === undefined) return '';
  const look = lookOf(stage, stage.random.fork('bridge'), mention, 0, 0.85);
  const y = water.top + (water.bottom - water.top) * 0.22;
  return placed(drawHangingBridge(look), [stage.width * 0.5, y], (stage.width / 768) * 1.02);
}

/** What a lake mirrors, what is on land or water before it, and what flies. */
type PlacedThings = Record<Layer, string>;

const maxThings = 150;

function placeThings(stage: Stage, terrain: Terrain): PlacedThings {
  const taken: Placed[] = [];
  for (const [order, mention] of bridgeFirst(stage.setting.description.mentions).entries()) {
    if (mention.noun === 'bridge' && terrain.river === undefined) continue;
    const random = stage.random.fork(`place ${order} ${mention.noun}`);
    for (const item of itemsOf(mention).slice(0, maxThings - taken.length)) {
      taken.push(findPlace(stage, terrain, random, taken, item));
    }
  }
  const layers: PlacedThings = { far: '', near: '', air: '' };
  for (const thing of taken.toSorted((one, other) => one.depth - other.depth || one.y - other.y)) {
    layers[thing.layer] += drawPlaced(stage, thing);
  }
  return layers;
}

/** A bridge has its place; the others keep away from it. */
function bridgeFirst(mentions: readonly Mention[]): Mention[] {
  return mentions.toSorted((one, other) => Number(other.noun === 'bridge') - Number(one.noun === 'bridge'));
}

function drawPlaced(stage: Stage, thing: Placed): string {
  const { entry, mention, index, x, y, scale, depth } = thing;
  const random = stage.random.fork(`draw ${mention.noun} ${index} ${mention.colours.join()}`);
  const isFlipped = random.chance(0.5) && mention.noun !== 'kite';
  const upright = lookOf(stage, random, mention, index, 0.4 + 0.6 * depth);
  const look: Look = isFlipped ? { ...upright, side: upright.side === 1 ? -1 : 1 } : upright;
  const drawn = placed(entry.draw(look), [x, y], scale, isFlipped);
  if (entry.home === 'air') return drawn;
  return entry.home === 'water'
    ? mirrored(entry.draw(look), thing, isFlipped) + drawn
    : shadow(stage, thing) + drawn;
}

function mirrored(shapes: string, { x, y, scale }: Placed, isFlipped: boolean): string {
  return `<g transform="translate(0 ${y + 5 * scale}) scale(1 -0.7)" opacity="0.26">${placed(shapes, [x, 0], scale, isFlipped)}</g>`;
}

/** Lies on the ground, away from the light. */
function shadow(stage: Stage, { entry, x, y, scale, depth }: Placed): string {
  const dark = under([70, 70, 110], seen(stage, [70, 80, 90], depth));
  const reach = entry.reach * scale;
  const fill = stage.drawing.radial([0, dark, 0.5], [0.6, dark, 0.3], [1, dark, 0]);
  return ellipse([x - stage.light.side * reach * 0.22, y], reach * 1.15, Math.max(2, reach * 0.16), fill);
}
