/** A still life: objects on a table before a wall, in the light of a window. */
import { hex, mix, namedColours, rgb, shade, under, type Colour } from '../colour.ts';
import { box, ellipse, lines, path, placed, stroke } from './drawing.ts';
import { type Random } from '../random.ts';
import { newMention, mentionOf, type Mention } from './mentions.ts';
import { lookOf, type Stage } from './stage.ts';
import { entryOf, type Entry } from './things/catalogue.ts';
import { type Look } from './things/look.ts';

interface Item {
  entry: Entry;
  mention: Mention;
  index: number;
}

const walls = [
  '#7d8f8a #c9b79a',
  '#8a7f94 #d2b3a0',
  '#6f8598 #cbbfa4',
  '#a08672 #e0c9a6',
  '#5f7a78 #b9b391',
] as const;
const woods = ['#8a5a3c', '#a8774c', '#6f4a38', '#b98d62'] as const;

export function paintStillLife(stage: Stage): string {
  const random = stage.random.fork('still life');
  const edge = stage.height * 0.6;
  const items = itemsOf(stage);
  const rows = items.length <= 5 ? 1 : items.length <= 14 ? 2 : items.length <= 27 ? 3 : 4;
  const perRow = Math.ceil(items.length / rows);
  const drawn = Array.from({ length: rows }, (_, row) =>
    paintRow(stage, random, items.slice(row * perRow, (row + 1) * perRow), row, rows),
  );
  return paintRoom(stage, random, edge) + drawn.join('') + corners(stage);
}

function itemsOf(stage: Stage): Item[] {
  const items: Item[] = [];
  const standing = stage.setting.description.mentions.filter(({ noun }) => entryOf(noun)?.home === 'land');
  // Flowers stand in a vase, which is painted with some.
  const hasVase = standing.some(({ noun }) => noun === 'vase');
  const said = standing.flatMap((one) =>
    one.noun !== 'flower' ? one : hasVase ? [] : { ...one, noun: 'vase' as const, count: 1 },
  );
  const shown = said.length > 0 ? said : [newMention('vase'), newMention('apple'), newMention('cup')];
  for (const mention of shown) {
    const entry = entryOf(mention.noun);
    if (entry === undefined) continue;
    for (let index = 0; index < mention.count && items.length < 60; index += 1)
      items.push({ entry, mention, index });
  }
  return items;
}

function lightOf(stage: Stage): Colour {
  return mix(stage.palette.light, rgb('#ffd9a8'), stage.palette.isLamplit ? 0.45 : 0.3);
}

function paintRoom(stage: Stage, random: Random, edge: number): string {
  const { width, height, drawing, light } = stage;
  const tint = lightOf(stage);
  const [dim = '#7d8f8a', bright = '#c9b79a'] = random.pick(walls).split(' ');
  const named = mentionOf(stage.setting.description, 'table')?.colours[0];
  const wood = under(tint, named === undefined ? rgb(random.pick(woods)) : namedColours[named]);
  const [shadowed, lit] = [under(tint, rgb(dim)), under(tint, rgb(bright))];
  const wall = drawing.linearAlong(light.side === 1 ? [1, 0, 0, 1] : [0, 0, 1, 1], [0, lit], [1, shadowed]);
  const top = drawing.linear([0, shade(wood, 0.2)], [0.4, wood], [1, shade(wood, -0.36)]);
  const grain = Array.from({ length: 12 }, (_, index) => {
    const y = edge + 8 + (height - edge) * (index / 12) ** 1.3;
    return `M0 ${y.toFixed(1)}C${width * 0.3} ${(y + random.between(-5, 5)).toFixed(1)} ${width * 0.6} ${(y + random.between(-5, 5)).toFixed(1)} ${width} ${y.toFixed(1)}`;
  });
  return (
    box([0, 0], width, edge + 2, wall) +
    windowLight(stage, edge) +
    box([0, edge], width, height - edge, top) +
    stroke(grain.join(''), hex(shade(wood, -0.45)), 1, 'opacity="0.28"') +
    box([0, edge - 1.5], width, 3, hex(shade(wood, 0.45)), 'opacity="0.6"') +
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
      const [x, y] = [middle + (column - 1) * (wide + 9) + row * lean * 0.42, edge * 0.1 + row * (tall + 9)];
      return path(
        lines([
          [x, y],
          [x + wide, y],
          [x + wide + lean * 0.4, y + tall],
          [x + lean * 0.4, y + tall],
        ]),
        fill,
      );
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

function corners(stage: Stage): string {
  const fill = stage.drawing.radial([0, [0, 0, 0], 0], [0.6, [20, 10, 20], 0], [1, [20, 10, 20], 0.45]);
  const { width, height } = stage;
  return box([-width * 0.2, -height * 0.2], width * 1.4, height * 1.4, fill);
}
