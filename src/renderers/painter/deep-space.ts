/** Space: clouds of stars, planets, and what flies between them. */
import { namedColours, rgbs } from '../colour.ts';
import { box, placed, type Point } from './drawing.ts';
import type { Mention } from './mentions.ts';
import { planet, stars } from './sky.ts';
import { lookOf, type Stage } from './stage.ts';
import { itemsOf } from './find-place.ts';
import { coloursOf, type Look } from './things/look.ts';

const clouds = rgbs('#5a3fb0 #b03f8a #2f6fc0 #1f9a9a #d0654a');

export function paintDeepSpace(stage: Stage): string {
  const { width, height, drawing } = stage;
  const [top, middle = top, low = top] = rgbs('#050818 #0c1030 #140c2a');
  const dark = drawing.linearAlong([0, 0, 1, 1], [0, top], [0.5, middle], [1, low]);
  const starlit: Stage = { ...stage, palette: { ...stage.palette, stars: 1 } };
  const flying = stage.setting.description.mentions.map((mention) => flyers(stage, mention)).join('');
  return box([0, 0], width, height, dark) + nebula(stage) + stars(starlit, height) + planets(stage) + flying;
}

function nebula(stage: Stage): string {
  const random = stage.random.fork('nebula');
  const { width, height, drawing } = stage;
  const said = ['space', 'star', 'sky'] as const;
  const named = said.flatMap((noun) => stage.mention(noun)?.colours ?? []);
  const [first = random.pick(clouds), second = random.pick(clouds)] = named.map((name) => namedColours[name]);
  return Array.from({ length: 20 }, (_, index) => {
    const along = index / 19;
    const x = width * along + random.between(-60, 60);
    const y = height * (0.85 - 0.7 * along) + random.between(-90, 90);
    const colour = index % 2 === 0 ? first : second;
    return drawing.glow([x, y], random.between(120, 230), random.between(70, 150), colour, 0.22);
  }).join('');
}

function planets(stage: Stage): string {
  const random = stage.random.fork('planets');
  const { width, height, light } = stage;
  const mention = stage.mention('planet');
  const count = Math.min(mention?.count ?? 1, 9);
  return Array.from({ length: count }, (_, index) => {
    const { main, trim } = mention === undefined ? {} : coloursOf(mention, index);
    const colour = main ?? random.pick(rgbs('#d99a6c #6a9ad0 #c86a7a #8fc0a0'));
    const radius = (count === 1 ? 96 : random.between(26, 64)) * (mention?.size ?? 1);
    const x = count === 1 ? width * (0.5 + light.side * 0.18) : (width * (index + 0.5)) / count;
    const y = height * (count === 1 ? 0.46 : random.between(0.22, 0.78));
    return planet(stage, [x, y], radius, colour, index === 0 ? (trim ?? colour) : undefined);
  }).join('');
}

function flyers(stage: Stage, mention: Mention): string {
  const random = stage.random.fork(`fly ${mention.noun}`);
  const flying = itemsOf(mention).map(({ entry, index }) => {
    const usual = lookOf(stage, random.fork(`${index}`), mention, index, 1);
    const look: Look = { ...usual, seen: (colour) => colour, isLamplit: true };
    const isAlone = mention.count === 1;
    const { width, height, light } = stage;
    const x = width * (isAlone ? 0.5 - light.side * 0.2 : random.between(0.08, 0.92));
    const at: Point = [x, height * random.between(0.5, 0.85)];
    const turn = Math.round(
      entry.home === 'air' ? light.side * random.between(18, 42) : random.between(-16, 16),
    );
    const scale = mention.size * (isAlone ? 1.5 : Math.max(0.4, 1.2 - mention.count * 0.05));
    return `<g transform="rotate(${turn} ${at[0]} ${at[1]})">${placed(entry.draw(look), at, scale)}</g>`;
  });
  return flying.join('');
}
