/** What lies on a table: cups, books, vases, candles, balls and cubes, and fruit. */
import { rgb, rgbs, shade, type Colour } from '../../colour.ts';
import { pointsOf } from '../../points.ts';
import { box, circle, dots, ellipse, lines, path, stroke, type Point } from '../drawing.ts';
import { land, ball, flat, gleam, petalsAround, round, tall, type Look } from './look.ts';

const white = rgb('#ffffff');

export const objects = {
  ball: land(40, [0.66, 0.88], 0.8, '#d8483e #3f7fb8 #e8b03c', (look, colour) => [
    circle([0, -40], 40, ball(look, colour)),
    look.trim === undefined ? '' : stroke('M-39 -46Q0 -30 39 -46', flat(look, look.trim), 9),
    gleam(look, 0, -40, 40),
  ]),
  cube: land(46, [0.66, 0.88], 0.8, '#3f8a9a #d88a3c #8a5ab0', (look, colour) => {
    const [left, right] = look.side === -1 ? [0.08, -0.34] : [-0.34, 0.08];
    return [
      path('M-46 -54L-4 -38V6L-46 -12Z', tall(look, shade(colour, left), 0.12)),
      path('M-4 -38L46 -56V-14L-4 6Z', tall(look, shade(colour, right), 0.12)),
      path('M-46 -54L4 -70L46 -56L-4 -38Z', flat(look, colour, 0.34)),
    ];
  }),
  cup: land(48, [0.74, 0.9], 0.7, '#f2ede2 #5f94a8 #d98a5c', (look, glaze) => {
    const steam = look.drawing.linear([0, white, 0], [0.5, white, 0.4], [1, white, 0]);
    return [
      stroke('M-10 -72q-9 -13 0 -26t0 -26M10 -72q-9 -13 0 -26t0 -22', steam, 5),
      stroke('M36 -50C58 -52 58 -20 32 -22', flat(look, glaze, -0.16), 7),
      path('M-38 -62C-38 -26 -30 0 -20 1H20C30 0 38 -26 38 -62Z', round(look, glaze)),
      look.trim === undefined ? '' : stroke('M-37 -44Q0 -36 37 -44', flat(look, look.trim), 6),
      ellipse([0, -62], 38, 8.5, flat(look, glaze, 0.3)),
      ellipse([0, -61], 33, 6.4, flat(look, '#5a3a26')),
    ];
  }),
  glass: land(28, [0.74, 0.9], 0.6, '#8a1f38', (look, wine) => {
    const clear = flat(look, '#dfeaf0');
    return [
      ellipse([0, -1], 26, 4.5, clear, 0.7),
      stroke('M0 -3V-52', clear, 3.4, 0.8),
      path('M-26 -82C-26 -58 -10 -52 0 -52C10 -52 26 -58 26 -82Z', round(look, wine), 0.92),
      ellipse([0, -82], 26, 4.5, flat(look, wine, 0.25)),
      path('M-24 -122C-30 -90 -28 -52 0 -52C28 -52 30 -90 24 -122Z', clear, 0.28),
      ellipse([0, -122], 24, 4.2, 'none', `stroke="${clear}" stroke-width="1.4"`),
      stroke('M-19 -112Q-24 -90 -17 -68', '#ffffff', 2.6, 0.6),
    ];
  }),
  book: land(62, [0.74, 0.9], 0.7, '#a83f3a #2f5f7e #3f6f56 #c79440, #e6c878', (look, cover, trim) => [
    path('M-58 -24L-44 -44H62L52 -24Z', tall(look, shade(cover, 0.16))),
    path('M52 -24L62 -44V-22L52 0Z', flat(look, '#efe6d0')),
    stroke('M53 -18L61 -38M53 -12L61 -32M53 -6L61 -26', flat(look, '#c9bd9f'), 0.8),
    path('M-58 -24H52V0H-58Z', tall(look, shade(cover, -0.12))),
    path('M-46 -24h5v24h-5ZM34 -24h5v24h-5Z', flat(look, trim)),
    box([-22, -15], 38, 5, flat(look, trim)),
  ]),
  vase: land(46, [0.66, 0.8], 0.7, '#4f7f94 #c9785a #e6dcc8', (look, clay) => {
    const bloom = look.random.pick(rgbs('#f2c84a #e8688a #f4f0e8'));
    const outline =
      'M-16 -120C-14 -100 -40 -84 -40 -48C-40 -18 -24 0 -18 1H18C24 0 40 -18 40 -48C40 -84 14 -100 16 -120Z';
    return [
      ...pointsOf<Point>('-40 -186, -14 -204, 14 -190, 42 -176, 0 -168').map(
        ([x, y]) =>
          stroke(`M0 -116Q${x * 0.2} ${y * 0.8} ${x} ${y}`, flat(look, '#5a8a48'), 2.6) +
          dots(petalsAround(x, y, 7, 10, 7.5), flat(look, bloom)) +
          circle([x, y], 6, flat(look, bloom, -0.4)),
      ),
      path(outline, round(look, clay, 0.4)),
      path('M-39 -58Q0 -46 39 -58L40 -46Q0 -34 -40 -46Z', flat(look, look.trim ?? shade(clay, 0.4)), 0.85),
      ellipse([0, -120], 16, 3.6, flat(look, clay, -0.45)),
      gleam(look, 0, -56, 38),
    ];
  }),
  bottle: land(26, [0.74, 0.9], 0.6, '#2f6a4e #7a4a28 #3f6f86, #f0e6cc', (look, glass, trim) => [
    path(
      'M-9 -160H9V-118C10 -104 25 -100 25 -82V-4Q25 1 18 1H-18Q-25 1 -25 -4V-82C-25 -100 -10 -104 -9 -118Z',
      round(look, glass, 0.4),
    ),
    box([-25, -66], 50, 38, round(look, trim, 0.2)),
    stroke('M-14 -54H14M-10 -46H10M-14 -38H14', flat(look, '#9a8a6a'), 1.6),
    box([-10.5, -168], 21, 14, round(look, '#a8743f')),
    stroke(`M${look.side * 15} -88V-12`, '#ffffff', 3, 0.35),
  ]),
  bowl: land(68, [0.74, 0.9], 0.7, '#4f86a8', (look, glaze) => [
    glazed(look, -30, -64, 24, '#e0483c'),
    glazed(look, 2, -72, 24, '#ee9a34'),
    glazed(look, 32, -64, 24, '#b9bf48'),
    path('M-68 -56C-62 -14 -34 0 -22 1H22C34 0 62 -14 68 -56Z', round(look, glaze)),
    stroke('M-68 -56Q0 -44 68 -56', flat(look, glaze, 0.4), 3.4),
    look.trim === undefined ? '' : stroke('M-60 -36Q0 -22 60 -36', flat(look, look.trim), 6),
  ]),
  candle: land(34, [0.74, 0.9], 0.6, '#f4ead2', (look, wax) => [
    look.drawing.glow([0, -118], 120, 120, rgb('#ffb85a'), 0.55),
    ellipse([0, -3], 34, 7, round(look, '#b8893f')),
    box([-15, -92], 30, 90, round(look, wax)),
    ellipse([0, -92], 15, 4, flat(look, wax, 0.5)),
    stroke('M0 -92V-101', '#4a3a30', 2),
    path(
      'M0 -132C10 -116 10 -104 0 -98C-10 -104 -8 -116 0 -132Z',
      look.drawing.linear([0, rgb('#ffb03c')], [0.6, rgb('#ffe08a')], [1, rgb('#fff6d8')]),
    ),
  ]),
  apple: land(40, [0.74, 0.9], 0.7, '#cc3a34', (look, skin) => [
    path(
      'M0 -62C-12 -72 -40 -66 -40 -38C-40 -12 -20 2 -8 1C-3 0 3 0 8 1C20 2 40 -12 40 -38C40 -66 12 -72 0 -62Z',
      ball(look, skin),
    ),
    ellipse([0, -61], 11, 3.4, flat(look, '#4a2a20'), 0.35),
    stroke('M0 -61Q-1 -74 5 -82', flat(look, '#5a3d28'), 3.2),
    path('M2 -70C10 -86 26 -86 34 -80C28 -70 14 -64 2 -70Z', tall(look, '#6a9a42')),
    gleam(look, 0, -38, 36),
  ]),
  fruit: land(36, [0.74, 0.9], 0.7, '#ee8a2c', (look, skin) => [
    circle([0, -36], 36, ball(look, skin)),
    path('M-2 -70C8 -82 22 -80 28 -74C20 -66 8 -64 -2 -70Z', flat(look, '#5f9440')),
    gleam(look, 0, -36, 34),
  ]),
  lemon: land(48, [0.74, 0.9], 0.6, '#f2cf3c', (look, peel) => [
    path(
      'M-48 -28C-42 -30 -34 -58 0 -58C34 -58 40 -34 50 -28C42 -22 34 0 0 0C-34 0 -42 -24 -48 -28Z',
      ball(look, peel),
    ),
    gleam(look, 0, -30, 30),
  ]),
  pear: land(38, [0.74, 0.9], 0.6, '#bcb84a', (look, skin) => [
    path(
      'M0 -96C12 -96 14 -82 18 -66C24 -52 38 -46 38 -26C38 -8 22 1 0 1C-22 1 -38 -8 -38 -26C-38 -46 -24 -52 -18 -66C-14 -82 -12 -96 0 -96Z',
      ball(look, skin),
    ),
    stroke('M0 -95Q1 -106 6 -110', flat(look, '#5a3d28'), 3),
    gleam(look, 0, -40, 32),
  ]),
  cherry: land(30, [0.74, 0.9], 0.7, '#a81f34', (look, skin) => [
    stroke('M-16 -28C-12 -50 -2 -62 8 -70M18 -30C18 -48 14 -60 8 -70', flat(look, '#5f7a3a'), 2),
    glazed(look, -16, -16, 16, skin),
    glazed(look, 18, -17, 16, skin),
  ]),
  pumpkin: land(60, [0.6, 0.85], 0.9, '#e5802c', (look, skin) => [
    ...[-34, 34, -19, 19, 0].map((x) =>
      ellipse([x, -34], 26, 34, round(look, shade(skin, -Math.abs(x) / 160), 0.22)),
    ),
    path(lines('-5 -64, -7 -82, 6 -84, 6 -64'), round(look, '#6a7a3a')),
  ]),
};

function glazed(look: Look, x: number, y: number, radius: number, colour: Colour | string): string {
  return circle([x, y], radius, ball(look, colour)) + gleam(look, x, y, radius - 1);
}
