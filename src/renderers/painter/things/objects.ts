/** What lies on a table: cups, books, vases, candles, balls and cubes, and fruit. */
import { rgb, rgbs, shade } from '../../colour.ts';
import { box, circle, circles, ellipse, lines, path, stroke } from '../drawing.ts';
import { ball, flat, gleam, round, tall, type DrawThing, type Look } from './look.ts';

export const drawBall: DrawThing = (look) => {
  const colour = look.main ?? look.random.pick(rgbs('#d8483e #3f7fb8 #e8b03c'));
  const band = look.trim === undefined ? '' : stroke('M-39 -46Q0 -30 39 -46', flat(look, look.trim), 9);
  return circle([0, -40], 40, ball(look, colour)) + band + gleam(look, 0, -40, 40);
};

export const drawCube: DrawThing = (look) => {
  const colour = look.main ?? look.random.pick(rgbs('#3f8a9a #d88a3c #8a5ab0'));
  const [left, right] = look.side === -1 ? [0.08, -0.34] : [-0.34, 0.08];
  return [
    path('M-46 -54L-4 -38V6L-46 -12Z', tall(look, shade(colour, left), 0.12)),
    path('M-4 -38L46 -56V-14L-4 6Z', tall(look, shade(colour, right), 0.12)),
    path('M-46 -54L4 -70L46 -56L-4 -38Z', flat(look, shade(colour, 0.34))),
  ].join('');
};

export const drawCup: DrawThing = (look) => {
  const glaze = look.main ?? look.random.pick(rgbs('#f2ede2 #5f94a8 #d98a5c'));
  const drink = flat(look, rgb('#5a3a26'));
  const steam = look.drawing.linear(
    [0, [255, 255, 255], 0],
    [0.5, [255, 255, 255], 0.4],
    [1, [255, 255, 255], 0],
  );
  return [
    `<path d="M-10 -72q-9 -13 0 -26t0 -26M10 -72q-9 -13 0 -26t0 -22" fill="none" stroke="${steam}" stroke-width="5" stroke-linecap="round"/>`,
    stroke('M36 -50C58 -52 58 -20 32 -22', flat(look, shade(glaze, -0.16)), 7),
    path('M-38 -62C-38 -26 -30 0 -20 1H20C30 0 38 -26 38 -62Z', round(look, glaze)),
    look.trim === undefined ? '' : stroke('M-37 -44Q0 -36 37 -44', flat(look, look.trim), 6),
    ellipse([0, -62], 38, 8.5, flat(look, shade(glaze, 0.3))),
    ellipse([0, -61], 33, 6.4, drink),
  ].join('');
};

export const drawGlass: DrawThing = (look) => {
  const wine = look.main ?? rgb('#8a1f38');
  const clear = flat(look, rgb('#dfeaf0'));
  return [
    ellipse([0, -1], 26, 4.5, clear, 'opacity="0.7"'),
    stroke('M0 -3V-52', clear, 3.4, 'opacity="0.8"'),
    path('M-26 -82C-26 -58 -10 -52 0 -52C10 -52 26 -58 26 -82Z', round(look, wine), 'opacity="0.92"'),
    ellipse([0, -82], 26, 4.5, flat(look, shade(wine, 0.25))),
    path('M-24 -122C-30 -90 -28 -52 0 -52C28 -52 30 -90 24 -122Z', clear, 'opacity="0.28"'),
    ellipse([0, -122], 24, 4.2, 'none', `stroke="${clear}" stroke-width="1.400"`),
    stroke('M-19 -112Q-24 -90 -17 -68', '#ffffff', 2.6, 'opacity="0.6"'),
  ].join('');
};

/** Lying, its back to the front. */
export const drawBook: DrawThing = (look) => {
  const cover = look.main ?? look.random.pick(rgbs('#a83f3a #2f5f7e #3f6f56 #c79440'));
  const gold = flat(look, look.trim ?? rgb('#e6c878'));
  return [
    path('M-58 -24L-44 -44H62L52 -24Z', tall(look, shade(cover, 0.16))),
    path('M52 -24L62 -44V-22L52 0Z', flat(look, rgb('#efe6d0'))),
    stroke('M53 -18L61 -38M53 -12L61 -32M53 -6L61 -26', flat(look, rgb('#c9bd9f')), 0.8),
    path('M-58 -24H52V0H-58Z', tall(look, shade(cover, -0.12))),
    path('M-46 -24h5v24h-5ZM34 -24h5v24h-5Z', gold),
    box([-22, -15], 38, 5, gold),
  ].join('');
};

export const drawVase: DrawThing = (look) => {
  const clay = look.main ?? look.random.pick(rgbs('#4f7f94 #c9785a #e6dcc8'));
  const outline =
    'M-16 -120C-14 -100 -40 -84 -40 -48C-40 -18 -24 0 -18 1H18C24 0 40 -18 40 -48C40 -84 14 -100 16 -120Z';
  const bloom = look.random.pick(rgbs('#f2c84a #e8688a #f4f0e8'));
  const stems = [
    [-40, -186],
    [-14, -204],
    [14, -190],
    [42, -176],
    [0, -168],
  ] as const;
  const flowers = stems.map(([x, y]) => {
    const petals = Array.from(
      { length: 7 },
      (_, index) => [x + Math.cos(index * 0.9) * 10, y + Math.sin(index * 0.9) * 10, 7.5] as const,
    );
    return (
      stroke(`M0 -116Q${x * 0.2} ${y * 0.8} ${x} ${y}`, flat(look, rgb('#5a8a48')), 2.6) +
      path(circles(petals), flat(look, bloom)) +
      circle([x, y], 6, flat(look, shade(bloom, -0.4)))
    );
  });
  const band = path(
    'M-39 -58Q0 -46 39 -58L40 -46Q0 -34 -40 -46Z',
    flat(look, look.trim ?? shade(clay, 0.4)),
    'opacity="0.85"',
  );
  return (
    flowers.join('') +
    path(outline, round(look, clay, 0.4)) +
    band +
    ellipse([0, -120], 16, 3.6, flat(look, shade(clay, -0.45))) +
    gleam(look, 0, -56, 38)
  );
};

export const drawBottle: DrawThing = (look) => {
  const glass = look.main ?? look.random.pick(rgbs('#2f6a4e #7a4a28 #3f6f86'));
  return [
    path(
      'M-9 -160H9V-118C10 -104 25 -100 25 -82V-4Q25 1 18 1H-18Q-25 1 -25 -4V-82C-25 -100 -10 -104 -9 -118Z',
      round(look, glass, 0.4),
    ),
    box([-25, -66], 50, 38, round(look, look.trim ?? rgb('#f0e6cc'), 0.2)),
    stroke('M-14 -54H14M-10 -46H10M-14 -38H14', flat(look, rgb('#9a8a6a')), 1.6),
    box([-10.5, -168], 21, 14, round(look, rgb('#a8743f'))),
    stroke(`M${look.side * 15} -88V-12`, '#ffffff', 3, 'opacity="0.35"'),
  ].join('');
};

export const drawBowl: DrawThing = (look) => {
  const glaze = look.main ?? rgb('#4f86a8');
  const fruit = [
    [-30, -64, '#e0483c'],
    [2, -72, '#ee9a34'],
    [32, -64, '#b9bf48'],
  ] as const;
  return [
    ...fruit.map(([x, y, colour]) => circle([x, y], 24, ball(look, rgb(colour))) + gleam(look, x, y, 22)),
    path('M-68 -56C-62 -14 -34 0 -22 1H22C34 0 62 -14 68 -56Z', round(look, glaze)),
    stroke('M-68 -56Q0 -44 68 -56', flat(look, shade(glaze, 0.4)), 3.4),
    look.trim === undefined ? '' : stroke('M-60 -36Q0 -22 60 -36', flat(look, look.trim), 6),
  ].join('');
};

export const drawCandle: DrawThing = (look) => {
  const wax = look.main ?? rgb('#f4ead2');
  const flame = look.drawing.linear([0, rgb('#ffb03c')], [0.6, rgb('#ffe08a')], [1, rgb('#fff6d8')]);
  return [
    look.drawing.glow([0, -118], 120, 120, rgb('#ffb85a'), 0.55),
    ellipse([0, -3], 34, 7, round(look, rgb('#b8893f'))),
    box([-15, -92], 30, 90, round(look, wax)),
    ellipse([0, -92], 15, 4, flat(look, shade(wax, 0.5))),
    stroke('M0 -92V-101', '#4a3a30', 2),
    path('M0 -132C10 -116 10 -104 0 -98C-10 -104 -8 -116 0 -132Z', flame),
  ].join('');
};

export const drawApple: DrawThing = (look) => {
  const skin = look.main ?? rgb('#cc3a34');
  const outline =
    'M0 -62C-12 -72 -40 -66 -40 -38C-40 -12 -20 2 -8 1C-3 0 3 0 8 1C20 2 40 -12 40 -38C40 -66 12 -72 0 -62Z';
  return path(outline, ball(look, skin)) + stalk(look) + gleam(look, 0, -38, 36);
};

function stalk(look: Look): string {
  const leaf = 'M2 -70C10 -86 26 -86 34 -80C28 -70 14 -64 2 -70Z';
  return (
    ellipse([0, -61], 11, 3.4, flat(look, rgb('#4a2a20')), 'opacity="0.35"') +
    stroke('M0 -61Q-1 -74 5 -82', flat(look, rgb('#5a3d28')), 3.2) +
    path(leaf, tall(look, rgb('#6a9a42')))
  );
}

export const drawFruit: DrawThing = (look) =>
  circle([0, -36], 36, ball(look, look.main ?? rgb('#ee8a2c'))) +
  path('M-2 -70C8 -82 22 -80 28 -74C20 -66 8 -64 -2 -70Z', flat(look, rgb('#5f9440'))) +
  gleam(look, 0, -36, 34);

export const drawLemon: DrawThing = (look) =>
  path(
    'M-48 -28C-42 -30 -34 -58 0 -58C34 -58 40 -34 50 -28C42 -22 34 0 0 0C-34 0 -42 -24 -48 -28Z',
    ball(look, look.main ?? rgb('#f2cf3c')),
  ) + gleam(look, 0, -30, 30);

export const drawPear: DrawThing = (look) =>
  path(
    'M0 -96C12 -96 14 -82 18 -66C24 -52 38 -46 38 -26C38 -8 22 1 0 1C-22 1 -38 -8 -38 -26C-38 -46 -24 -52 -18 -66C-14 -82 -12 -96 0 -96Z',
    ball(look, look.main ?? rgb('#bcb84a')),
  ) +
  stroke('M0 -95Q1 -106 6 -110', flat(look, rgb('#5a3d28')), 3) +
  gleam(look, 0, -40, 32);

export const drawCherry: DrawThing = (look) => {
  const skin = look.main ?? rgb('#a81f34');
  const fruit = (x: number, y: number): string =>
    circle([x, y], 16, ball(look, skin)) + gleam(look, x, y, 15);
  return (
    stroke('M-16 -28C-12 -50 -2 -62 8 -70M18 -30C18 -48 14 -60 8 -70', flat(look, rgb('#5f7a3a')), 2) +
    fruit(-16, -16) +
    fruit(18, -17)
  );
};

export const drawPumpkin: DrawThing = (look) => {
  const skin = look.main ?? rgb('#e5802c');
  const ribs = [-34, 34, -19, 19, 0].map((x) =>
    ellipse([x, -34], 26, 34, round(look, shade(skin, -Math.abs(x) / 160), 0.22)),
  );
  return ribs.join('') + path(lines('-5 -64, -7 -82, 6 -84, 6 -64'), round(look, rgb('#6a7a3a')));
};
