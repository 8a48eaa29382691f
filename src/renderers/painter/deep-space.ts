/** Space: clouds of stars, planets, and what flies between them. */
import { hex, namedColours, rgb, rgbs, shade, type Colour } from '../colour.ts';
import { box, circle, placed, stroke, type Point } from './drawing.ts';
import { mentionOf, type Mention } from './mentions.ts';
import { stars } from './sky.ts';
import { lookOf, type Stage } from './stage.ts';
import { entryOf } from './things/catalogue.ts';
import { coloursOf, type Look } from './things/look.ts';

const clouds = rgbs('#5a3fb0 #b03f8a #2f6fc0 #1f9a9a #d0654a');

export function paintDeepSpace(stage: Stage): string {
  const { width, height, drawing } = stage;
  const dark = drawing.linearAlong(
    [0, 0, 1, 1],
    [0, rgb('#050818')],
    [0.5, rgb('#0c1030')],
    [1, rgb('#140c2a')],
  );
  const starlit: Stage = { ...stage, palette: { ...stage.palette, stars: 1 } };
  const flying = stage.setting.description.mentions.map((mention) => flyers(stage, mention)).join('');
  return box([0, 0], width, height, dark) + nebula(stage) + stars(starlit, height) + planets(stage) + flying;
}

function nebula(stage: Stage): string {
  const random = stage.random.fork('nebula');
  const { width, height, drawing } = stage;
  const said = ['space', 'star', 'sky'] as const;
  const named = said.flatMap((noun) => mentionOf(stage.setting.description, noun)?.colours ?? []);
  const [first = random.pick(clouds), second = random.pick(clouds)] = named.map((name) => namedColours[name]);
  return Array.from({ length: 20 }, (_, index) => {
    const along = index / 19;
    const at: Point = [
      width * along + random.between(-60, 60),
      height * (0.85 - 0.7 * along) + random.between(-90, 90),
    ];
    return drawing.glow(
      at,
      random.between(120, 230),
      random.between(70, 150),
      index % 2 === 0 ? first : second,
      0.22,
    );
  }).join('');
}

function planets(stage: Stage): string {
  const random = stage.random.fork('planets');
  const { width, height, light } = stage;
  const mention = mentionOf(stage.setting.description, 'planet');
  const count = Math.min(mention?.count ?? 1, 9);
  return Array.from({ length: count }, (_, index) => {
    const { main, trim } = mention === undefined ? {} : coloursOf(mention, index);
    const colour = main ?? random.pick(rgbs('#d99a6c #6a9ad0 #c86a7a #8fc0a0'));
    const radius = (count === 1 ? 96 : random.between(26, 64)) * (mention?.size ?? 1);
    const x = count === 1 ? width * (0.5 + light.side * 0.18) : (width * (index + 0.5)) / count;
    const y = height * (count === 1 ? 0.46 : random.between(0.22, 0.78));
    return planet(stage, [x, y], radius, colour, trim, index === 0);
  }).join('');
}

function planet(
  stage: Stage,
  [x, y]: Point,
  radius: number,
  colour: Colour,
  trim: Colour | undefined,
  hasRing: boolean,
): string {
  const { drawing, light } = stage;
  const body = drawing.radialAround(
    [0.5 - light.side * 0.2, 0.34],
    [0, shade(colour, 0.45)],
    [0.5, colour],
    [0.85, shade(colour, -0.5)],
    [1, shade(colour, -0.75)],
  );
  const bands = [-0.5, -0.2, 0.15, 0.45].map(
    (at) =>
      `M${x - radius * Math.sqrt(1 - at * at)} ${y + at * radius}Q${x} ${y + at * radius + radius * 0.16} ${x + radius * Math.sqrt(1 - at * at)} ${y + at * radius}`,
  );
  const half = (sweep: 0 | 1): string =>
    `<g transform="rotate(-16 ${x} ${y})">${stroke(`M${x - radius * 1.75} ${y}A${radius * 1.75} ${radius * 0.42} 0 0 ${sweep} ${x + radius * 1.75} ${y}`, hex(shade(trim ?? colour, 0.55)), radius * 0.11, 'opacity="0.75"')}</g>`;
  return [
    drawing.glow([x, y], radius * 1.8, radius * 1.8, colour, 0.4),
    hasRing ? half(1) : '',
    circle([x, y], radius, body),
    stroke(bands.join(''), hex(shade(colour, 0.35)), radius * 0.07, 'opacity="0.22"'),
    hasRing ? half(0) : '',
  ].join('');
}

function flyers(stage: Stage, mention: Mention): string {
  const entry = entryOf(mention.noun);
  if (entry === undefined) return '';
  const random = stage.random.fork(`fly ${mention.noun}`);
  return Array.from({ length: mention.count }, (_, index) => {
    const look: Look = {
      ...lookOf(stage, random.fork(`${index}`), mention, index, 1),
      seen: (colour) => colour,
      isLamplit: true,
    };
    const at: Point = [
      stage.width * (mention.count === 1 ? 0.5 - stage.light.side * 0.2 : random.between(0.08, 0.92)),
      stage.height * random.between(0.5, 0.85),
    ];
    const turn =
      entry.home === 'air'
        ? Math.round(stage.light.side * random.between(18, 42))
        : Math.round(random.between(-16, 16));
    const scale = mention.size * (mention.count === 1 ? 1.5 : Math.max(0.4, 1.2 - mention.count * 0.05));
    return `<g transform="rotate(${turn} ${at[0]} ${at[1]})">${placed(entry.draw(look), at, scale)}</g>`;
  }).join('');
}
