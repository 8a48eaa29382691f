/** Fruit: apples, oranges, lemons, pears, cherries and pumpkins. */
import { rgb, shade } from '../../colour.ts';
import { circle, ellipse, lines, path, stroke } from '../drawing.ts';
import { ball, flat, gleam, round, tall, type DrawThing, type Look } from './look.ts';

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
