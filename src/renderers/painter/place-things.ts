/** Puts the things of a description into a landscape: each where it belongs, apart from the others, far ones first. */
import { under } from './colour.ts';
import { ellipse, placed } from './drawing.ts';
import { findPlace, type Layer, type Placed } from './find-place.ts';
import { speaksOf, type Mention } from './read-scene.ts';
import { seen, type Stage } from './stage.ts';
import { type Terrain } from './terrain.ts';
import { entryOf } from './things/catalogue.ts';
import { coloursOf, type Look } from './things/look.ts';

/** What a lake mirrors, what is on land or water before it, and what flies. */
export type PlacedThings = Record<Layer, string>;

const mostThings = 150;

export function placeThings(stage: Stage, terrain: Terrain): PlacedThings {
  const taken: Placed[] = [];
  for (const [order, mention] of bridgeFirst(stage.setting.description.mentions).entries()) {
    const entry = entryOf(mention.kind);
    if (entry === undefined || (mention.kind === 'bridge' && terrain.river === undefined)) continue;
    const random = stage.random.fork(`place ${order} ${mention.kind}`);
    for (let index = 0; index < mention.count && taken.length < mostThings; index += 1) {
      taken.push(findPlace(stage, terrain, random, taken, { entry, mention, index }));
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
  return mentions.toSorted((one, other) => Number(other.kind === 'bridge') - Number(one.kind === 'bridge'));
}

function drawPlaced(stage: Stage, thing: Placed): string {
  const { entry, mention, index, x, y, scale, depth } = thing;
  const random = stage.random.fork(`draw ${mention.kind} ${index} ${mention.colours.join()}`);
  const isFlipped = random.chance(0.5) && mention.kind !== 'kite';
  const look: Look = {
    drawing: stage.drawing,
    random,
    seen: (colour) => seen(stage, colour, 0.4 + 0.6 * depth),
    ...coloursOf(mention, index),
    side: (isFlipped ? -stage.light.side : stage.light.side) === 1 ? 1 : -1,
    isLamplit: stage.palette.isLamplit,
    season: speaksOf(stage.setting.description, 'snow', 'snowfall')
      ? 'winter'
      : stage.setting.description.season,
  };
  const drawn = placed(entry.draw(look), [x, y], scale, isFlipped);
  if (entry.home === 'air') return drawn;
  return entry.home === 'water'
    ? mirrored(entry.draw(look), thing, isFlipped) + drawn
    : shadow(stage, thing) + drawn;
}

function mirrored(shapes: string, { x, y, scale }: Placed, isFlipped: boolean): string {
  const across = isFlipped ? -scale : scale;
  return `<g transform="translate(${x.toFixed(1)} ${(y + 5 * scale).toFixed(1)}) scale(${across.toFixed(3)} ${(-0.7 * scale).toFixed(3)})" opacity="0.26">${shapes}</g>`;
}

/** Lies on the ground, away from the light. */
function shadow(stage: Stage, { entry, x, y, scale, depth }: Placed): string {
  const dark = under([70, 70, 110], seen(stage, [70, 80, 90], depth));
  const reach = entry.reach * scale;
  const fill = stage.drawing.radial([
    [0, dark, 0.5],
    [0.6, dark, 0.3],
    [1, dark, 0],
  ]);
  return ellipse([x - stage.light.side * reach * 0.22, y], reach * 1.15, Math.max(2, reach * 0.16), fill);
}
