/** A still life: objects on a table before a wall, in the light of a window. */
import { hex, mix, rgb, rgbs, shade, under, type Colour } from '../colour.ts';
import { box, ellipse, path, placed, stroke } from './drawing.ts';
import { type Random } from '../random.ts';
import { itemsOf, type Item } from './find-place.ts';
import { newMention } from './mentions.ts';
import { darkCorners, lookOf, type Stage } from './stage.ts';
import { entryOf } from './things/catalogue.ts';
import type { Look } from './things/look.ts';

const maxItems = 60;

/** Dim and bright. */
const walls = [
  '#7d8f8a #c9b79a',
  '#8a7f94 #d2b3a0',
  '#6f8598 #cbbfa4',
  '#a08672 #e0c9a6',
  '#5f7a78 #b9b391',
] as const;
const woods = rgbs('#8a5a3c #a8774c #6f4a38 #b98d62');

export function paintStillLife(stage: Stage): string {
  const random = stage.random.fork('still life');
  const edge = stage.height * 0.6;
  const items = shownItems(stage);
  const rows = items.length <= 5 ? 1 : items.length <= 14 ? 2 : items.length <= 27 ? 3 : 4;
  const perRow = Math.ceil(items.length / rows);
  const drawn = Array.from({ length: rows }, (_, row) =>
    paintRow(stage, random, items.slice(row * perRow, (row + 1) * perRow), row, rows),
  );
  return paintRoom(stage, random, edge) + drawn.join('') + darkCorners(stage, 0.6, 0.4);
}

function shownItems(stage: Stage): Item[] {
  const standing = stage.setting.description.mentions.filter(({ noun }) => entryOf(noun)?.home === 'land');
  // Flowers stand in a vase, which is painted with some.
  const hasVase = standing.some(({ noun }) => noun === 'vase');
  const said = standing.flatMap((one) =>
    one.noun !== 'flower' ? one : hasVase ? [] : { ...one, noun: 'vase' as const, count: 1 },
  );
  const shown = said.length > 0 ? said : [newMention('vase'), newMention('apple'), newMention('cup')];
  return shown.flatMap(itemsOf).slice(0, maxItems);
}

function lightOf(stage: Stage): Colour {
  return mix(stage.palette.light, rgb('#ffd9a8'), stage.palette.isLamplit ? 0.45 : 0.3);
}

function paintRoom(stage: Stage, random: Random, edge: number): string {
  const { width, height, drawing, light } = stage;
  const tint = lightOf(stage);
  const [dim, bright = dim] = rgbs(random.pick(walls));
  const wood = under(tint, stage.saidColour('table') ?? random.pick(woods));
  const [shadowed, lit] = [under(tint, dim), under(tint, bright)];
  const wall = drawing.linearAlong(light.side === 1 ? [1, 0, 0, 1] : [0, 0, 1, 1], [0, lit], [1, shadowed]);
  const top = drawing.linear([0, shade(wood, 0.2)], [0.4, wood], [1, shade(wood, -0.36)]);
  const grain = Array.from({ length: 12 }, (_, index) => {
    const y = edge + 8 + (height - edge) * (index / 12) ** 1.3;
    const [one, other] = [y + random.between(-5, 5), y + random.between(-5, 5)];
    return `M0 ${y}C${width * 0.3} ${one} ${width * 0.6} ${other} ${width} ${y}`;
  });
  return (
    box([0, 0], width, edge + 2, wall) +
    windowLight(stage, edge) +
    box([0, edge], width, height - edge, top) +
    stroke(grain.join(''), hex(shade(wood, -0.45)), 1, 0.28) +
    box([0, edge - 1.5], width, 3, hex(shade(wood, 0.45)), 0.6) +
    drawing.glow([width * (0.5 + light.side * 0.2), edge + 50], width * 0.5, 90, rgb('#fff2d4'), 0.3)
  );
}

/** The bright shape that a window throws on the wall. */
function windowLight(stage: Stage, edge: number): string {
  const { width, drawing, light } = stage;
  const middle = width * (0.5 - light.side * 0.16);
  const [lean, wide, tall] = [-light.side * 46, width * 0.085, edge * 0.3];
  const warm = rgb('#fff0cc');
  const fill = drawing.linear([0, warm, 0.5], [1, warm, 0.2]);
  const panes = [0, 1].flatMap((column) =>
    [0, 1].map((row) => {
      const x = middle + (column - 1) * (wide + 9) + row * lean * 0.42;
      const y = edge * 0.1 + row * (tall + 9);
      return path(`M${x} ${y}h${wide}l${lean * 0.4} ${tall}h${-wide}Z`, fill);
    }),
  );
  return panes.join('') + drawing.glow([middle, edge * 0.4], width * 0.4, edge * 0.6, warm, 0.3);
}

function paintRow(stage: Stage, random: Random, items: readonly Item[], row: number, rows: number): string {
  if (items.length === 0) return '';
  const { width, height } = stage;
  const wide = items.reduce((sum, { entry, mention }) => sum + entry.reach * 2.15 * mention.size, 0);
  const scale = Math.min(rows === 1 ? 1.55 : 1.15 - rows * 0.12, (width * 0.88) / wide);
  const foot = height * (rows === 1 ? 0.8 : 0.68 + (0.25 * row) / (rows - 1));
  const gap = Math.min(26, (width * 0.9 - wide * scale) / (items.length + 1));
  let x = width / 2 - (wide * scale + gap * (items.length - 1)) / 2;
  const parts = items.map((item) => {
    const reach = item.entry.reach * 1.075 * item.mention.size * scale;
    const at = [x + reach, foot + random.between(-8, 10)] as const;
    x += reach * 2 + gap;
    return paintItem(stage, item, at, scale * item.mention.size);
  });
  return parts.join('');
}

function paintItem(
  stage: Stage,
  { entry, mention, index }: Item,
  at: readonly [number, number],
  scale: number,
): string {
  const tint = lightOf(stage);
  const random = stage.random.fork(`item ${mention.noun} ${index} ${mention.colours.join()}`);
  const look: Look = {
    ...lookOf(stage, random, mention, index, 1),
    seen: (colour) => under(tint, colour),
    isLamplit: false,
  };
  const reach = entry.reach * scale;
  const dark = stage.drawing.radial([0, [24, 14, 20], 0.55], [0.6, [24, 14, 20], 0.28], [1, [24, 14, 20], 0]);
  const cast = ellipse([at[0] - stage.light.side * reach * 0.7, at[1] + 1], reach * 1.7, reach * 0.26, dark);
  const contact = ellipse(at, reach * 0.9, reach * 0.14, dark);
  return cast + contact + placed(entry.draw(look), at, scale);
}
