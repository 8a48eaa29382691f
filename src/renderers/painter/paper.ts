/** Plain shapes on paper, as a poster: circles, squares, triangles, hearts and diamonds in their colours. */
import { hex, mix, namedColours, rgbs, shade } from '../colour.ts';
import { isThing, type Noun } from '../language/nouns.ts';
import { box, ellipse, path, placed, stroke, type Point } from './drawing.ts';
import type { Mention } from './mentions.ts';
import type { Stage } from './stage.ts';
import { coloursOf } from './things/look.ts';

const papers = rgbs('#f4ecdc #efe6da #e9e4d4 #f2e9e2');
const inks = rgbs('#d0523f #2f5f7e #e2a83e #3f7f6a #39405a');
const disc = 'M-50 0A50 50 0 1 1 50 0A50 50 0 1 1 -50 0Z';
const outlines: Partial<Record<Noun, string>> = {
  square: 'M-46 -46H46V46H-46Z',
  cube: 'M-46 -46H46V46H-46Z',
  triangle: 'M0 -52L54 44H-54Z',
  diamond: 'M0 -58L44 0L0 58L-44 0Z',
  heart: 'M0 50C-64 6 -54 -46 -24 -46C-10 -46 -2 -36 0 -26C2 -36 10 -46 24 -46C54 -46 64 6 0 50Z',
};

export function paintPaper(stage: Stage): string {
  const random = stage.random.fork('paper');
  const { width, height, drawing, setting } = stage;
  const paper = random.pick(papers);
  const ground = drawing.radial([0, shade(paper, 0.3)], [0.6, paper], [1, mix(paper, [164, 134, 100], 0.24)]);
  const things = setting.description.mentions.filter(({ noun }) => isThing(noun));
  const shapes = things.flatMap((mention) =>
    Array.from({ length: mention.count }, (_, index) => ({ mention, index })),
  );
  const columns = Math.max(1, Math.ceil(Math.sqrt((shapes.length * width) / height)));
  const rows = Math.ceil(shapes.length / columns);
  const cell = Math.min((width * 0.86) / columns, (height * 0.86) / rows);
  const drawn = shapes.slice(0, 120).map(({ mention, index }, place) => {
    const inRow = Math.min(columns, shapes.length - Math.floor(place / columns) * columns);
    const [column, row] = [place % columns, Math.floor(place / columns)];
    const x = width / 2 + (column - (inRow - 1) / 2 + random.between(-0.06, 0.06)) * cell;
    const y = height / 2 + (row - (rows - 1) / 2 + random.between(-0.06, 0.06)) * cell;
    return paintShape(stage, mention, index, [x, y], (cell / 132) * Math.min(1.2, mention.size));
  });
  const rim = stroke(`M14 14H${width - 14}V${height - 14}H14Z`, hex(shade(paper, -0.25)), 1.5);
  return box([0, 0], width, height, ground) + rim + drawn.join('');
}

function paintShape(stage: Stage, mention: Mention, index: number, at: Point, scale: number): string {
  const random = stage.random.fork(`shape ${mention.noun} ${index}`);
  const named = coloursOf(mention, index).main;
  const colour = named ?? (mention.noun === 'heart' ? namedColours.red : random.pick(inks));
  const [lit, dim] = [shade(colour, 0.14), mix(colour, [20, 20, 50], 0.14)];
  const fill = stage.drawing.linearAlong([0, 0, 1, 1], [0, lit], [1, dim]);
  const cast = ellipse([6, 56], 50, 7, stage.drawing.radial([0, [60, 40, 40], 0.3], [1, [60, 40, 40], 0]));
  return placed(cast + path(outlines[mention.noun] ?? disc, fill), at, scale);
}
