/** Food and tableware. */
import {
  ball,
  bend,
  both,
  box,
  lump,
  type Paint,
  type Part,
  post,
  ring,
  rod,
  round,
  shaded,
  slab,
  spiral,
  straight,
  turned,
} from './parts.ts';
import type { Vector } from '../vector.ts';
import { table, thing, top } from './thing.ts';

/** A slice of bread, cut diagonally, lying flat. */
const half = '-0.09 -0.05, 0.09 -0.05, 0 0.06';
const flat: Vector = [-Math.PI / 2, 0, 0];

export const tabletop = {
  apple: thing(0.12, table, '#cf2f2a glossy, #4f8f3a', (skin, leaf) => [
    ...roundFruit(skin, 0.04),
    ball([0.022, 0.088, 0], [0.04, 0.006, 0.02], leaf, [0, 0, 0.4]),
  ]),
  fruit: thing(0.12, table, '#f08a24 glossy', (skin) => roundFruit(skin, 0.039)),
  lemon: thing(0.1, table, '#f4d338 plastic', (peel) => [
    ball([0, 0.034, 0], [0.09, 0.068, 0.068], peel),
    ball([0.045, 0.034, 0], 0.022, peel),
    ball([-0.043, 0.034, 0], 0.018, peel),
  ]),
  banana: thing(0.1, table, '#f3cf3e plastic', (peel) => [
    bend('-0.09 0.062 0, -0.05 0.028 0, 0 0.018 0, 0.05 0.028 0, 0.088 0.06 0', 0.018, peel),
    ball([0.092, 0.066, 0], 0.02, '#5a4420'),
    ball([-0.094, 0.068, 0], 0.024, '#7a6a2a'),
  ]),
  pumpkin: thing(0.35, table, '#e67e22 plastic, #5f7a35', (skin, trim) => [
    ...round(10, (cos, sin, _, angle) =>
      ball([cos * 0.075, 0.12, sin * 0.075], [0.19, 0.24, 0.13], skin, [0, -angle, 0]),
    ),
    rod([0, 0.21, 0], [0.02, 0.29, 0], [0.016, 0.03], trim),
  ]),
  pineapple: thing(0.34, table, '#d8982e plastic, #4f8f45', (skin, trim) => [
    ball([0, 0.11, 0], [0.14, 0.23, 0.14], skin),
    ...spiral(60, (cos, sin, index) => {
      const y = 0.02 + (index / 60) * 0.19;
      const out = 0.068 * Math.sqrt(Math.max(0.25, 1 - ((y - 0.11) / 0.13) ** 2));
      return ball([cos * out, y, sin * out], 0.032, skin);
    }),
    ...spiral(14, (cos, sin, index) => {
      const share = index / 14;
      const lean = 0.015 + share * 0.075;
      return rod(
        [cos * 0.015, 0.21, sin * 0.015],
        [cos * lean, 0.38 - share * 0.08, sin * lean],
        [0.001, 0.014],
        trim,
      );
    }),
  ]),
  cake: thing(0.25, table, '#f8e6ea, #e8688a', (cream, trim) => [
    post([0, 0.008, 0], 0.2, 0.016, '#eceae4 glossy'),
    post([0, 0.09, 0], 0.16, 0.15, cream),
    ring([0, 0.09, 0], 0.156, 0.008, trim),
    ...round(14, (cos, sin) => ball([cos * 0.13, 0.165, sin * 0.13], [0.045, 0.04, 0.045], trim)),
    ...round(3, (cos, sin) => [
      post([cos * 0.06, 0.2, sin * 0.06], 0.006, 0.075, '#5fa0d8'),
      ball([cos * 0.06, 0.25, sin * 0.06], [0.014, 0.028, 0.014], '#ffc64a glow'),
    ]),
  ]),
  pizza: thing(0.07, table, '#f2c14e, #c8893e', (cheese, crust) => [
    post([0, 0.01, 0], 0.15, 0.02, cheese, straight, 48),
    ring([0, 0.022, 0], 0.155, 0.017, crust),
    post([0, 0.02, 0], 0.148, 0.014, cheese, straight, 48),
    ...spiral(11, (cos, sin, index) => {
      const out = 0.035 * Math.sqrt(index * 1.25);
      return [
        post([cos * out, 0.029, sin * out], 0.022, 0.008, '#b8322a'),
        ball([-cos * out * 0.9, 0.029, sin * out], [0.024, 0.008, 0.012], '#4f8f3a', [0, index, 0]),
      ];
    }),
  ]),
  donut: thing(0.1, table, '#e87aa6 glossy, #c98a4a', (icing, dough) => [
    ring([0, 0.036, 0], 0.068, 0.036, dough),
    ring([0, 0.045, 0], 0.068, 0.033, icing),
    ...spiral(36, (cos, sin, index) => {
      const [out, up] = [0.048 + (index % 5) * 0.01, 0.076 - ((index % 5) - 2) ** 2 * 0.0015];
      const colour = ['#f6d24a', '#5fb0e8', '#ffffff', '#7fcf6a'][index % 4] ?? '';
      return ball([cos * out, up, sin * out], [0.014, 0.005, 0.005], colour, [0, index * 1.7, 0]);
    }),
  ]),
  hotdog: thing(0.1, table, '#d99a52, #b5452c glossy', (bun, sausage) => [
    ...both((side) => ball([0, 0.03, side * 0.022], [0.19, 0.06, 0.046], bun)),
    ball([0, 0.02, 0], [0.18, 0.04, 0.07], bun),
    bend('-0.1 0.058 0, -0.05 0.052 0, 0.05 0.052 0, 0.1 0.058 0', 0.017, sausage),
    ...both((side) => ball([side * 0.1, 0.058, 0], 0.034, sausage)),
    bend(
      '-0.08 0.07 0.008, -0.05 0.07 -0.008, -0.02 0.07 0.008, 0.02 0.07 -0.008, 0.08 0.07 0.008',
      0.004,
      '#f2c832',
    ),
  ]),
  sandwich: thing(0.12, table, '#e2b878, #5f9a3f', (bread, leaf) => [
    ...[0.014, 0.078].map((y) => slab(half, 0.026, bread, [0, y, 0], flat)),
    slab(half, 0.012, leaf, [0, 0.034, 0.006], [-Math.PI / 2, 0, 0.05]),
    slab(half, 0.01, '#d8473a', [0, 0.044, 0.002], flat),
    slab(half, 0.01, '#f4cf4e', [0, 0.053, 0.008], [-Math.PI / 2, 0, -0.06]),
    slab(half, 0.01, '#e8a49a', [0, 0.061, 0.002], flat),
  ]),
  broccoli: thing(0.15, table, '#3f8a3f cloth, #8fbf5f', (head, stem) => [
    post([0, 0.035, 0], [0.03, 0.022], 0.07, stem),
    ...round(5, (cos, sin) => rod([0, 0.04, 0], [cos * 0.04, 0.09, sin * 0.04], [0.014, 0.01], stem)),
    ...spiral(16, (cos, sin, index) => {
      const out = 0.017 * Math.sqrt(index);
      return lump([cos * out, 0.125 - out * 0.55, sin * out], [0.054, 0.05, 0.054], 0.08, index, head);
    }),
  ]),
  carrot: thing(0.12, table, '#ee7f2a, #4f9a3f', (root, leaf) => [
    rod([-0.09, 0.024, 0.05], [0.05, 0.024, 0], [0.025, 0.004], root),
    ball([0.05, 0.024, 0], 0.05, root),
    ...[0.02, -0.03, -0.06].map((x) =>
      ring([x, 0.024, (0.05 - x) * 0.36], 0.0195 + x * 0.09, 0.002, shaded(root, -0.2), [0, 0.34, 1.57]),
    ),
    ...round(6, (cos, sin) =>
      rod(
        [0.065, 0.026, -0.005],
        [0.13 + cos * 0.015, 0.05 + cos * 0.034, -0.02 + sin * 0.04],
        [0.007, 0.003],
        leaf,
      ),
    ),
  ]),
  cup: thing(0.12, table, '#f2efe8 glossy', (clay) => [
    turned('0 0, 0.032 0, 0.036 0.006, 0.044 0.03, 0.047 0.09, 0.044 0.09, 0.04 0.03, 0 0.02', clay),
    bend('0.045 0.075 0, 0.07 0.075 0, 0.078 0.05 0, 0.066 0.026 0, 0.043 0.025 0', 0.0065, clay),
    post([0, 0.079, 0], 0.043, 0.002, '#4a2c1a glossy'),
  ]),
  glass: thing(0.2, table, '#dfeef2 glass, #7a1428 glossy', (clear, wine) => [
    turned('0 0, 0.036 0, 0.035 0.004, 0.006 0.01, 0.005 0.09, 0.02 0.1, 0.04 0.13, 0.042 0.16, 0.034 0.2', {
      ...clear,
      material: 'glass',
    }),
    turned('0 0.002, 0.018 0.004, 0.037 0.032, 0.039 0.055, 0 0.055', wine, [0, 0.1, 0]),
  ]),
  bottle: thing(0.3, table, '#2f6b42 glossy, #efe6d0', (main, trim) => [
    turned('0 0, 0.038 0, 0.04 0.01, 0.04 0.17, 0.034 0.2, 0.016 0.235, 0.014 0.29, 0 0.29', main),
    post([0, 0.105, 0], 0.0408, 0.085, trim),
    post([0, 0.11, 0], 0.0412, 0.012, '#b5342c'),
    post([0, 0.287, 0], 0.0165, 0.03, '#c9a04a metal'),
  ]),
  can: thing(0.16, table, '#c8372d metal, #f2efe8', (main, trim) => [
    post([0, 0.08, 0], 0.036, 0.13, main),
    post([0, 0.082, 0], 0.0364, 0.03, trim),
    post([0, 0.009, 0], [0.036, 0.029], 0.014, '#c9ced4 metal'),
    post([0, 0.151, 0], [0.03, 0.036], 0.014, '#c9ced4 metal'),
    box([0, 0.1595, 0.008], [0.012, 0.003, 0.024], '#c9ced4 metal', 0.001),
  ]),
  juice: thing(0.17, table, '#f29a1f glossy', (main) => [
    post([0, 0.085, 0], [0.042, 0.034], 0.17, '#dfeef2 glass'),
    post([0, 0.072, 0], [0.038, 0.0325], 0.134, main),
  ]),
  bowl: thing(0.13, top(table, 0.5, 0.9), '#5c86a8 glossy, #f4efe4 glossy', (main, trim) => [
    turned('0 0, 0.06 0, 0.062 0.012, 0.12 0.05, 0.155 0.1, 0.147 0.1, 0.11 0.052, 0 0.03', main),
    ring([0, 0.1, 0], 0.151, 0.005, trim),
  ]),
  plate: thing(0.03, top(table, 1, 0.6), '#f6f3ec glossy, #4f7fb8 glossy', (main, trim) => [
    turned('0 0, 0.08 0, 0.09 0.006, 0.135 0.02, 0.134 0.024, 0.088 0.011, 0 0.008', main),
    ring([0, 0.021, 0], 0.131, 0.003, trim),
  ]),
  vase: thing(0.34, top(table, 0.95, 0.2), '#4f7fa8 glossy, #f0e8d8 glossy', (clay, trim) => [
    turned('0 0, 0.055 0, 0.06 0.01, 0.095 0.1, 0.085 0.19, 0.045 0.26, 0.055 0.3, 0.037 0.26, 0 0.2', clay),
    ring([0, 0.1, 0], 0.0945, 0.004, trim),
    ring([0, 0.3, 0], 0.052, 0.005, trim),
  ]),
  teapot: thing(0.22, table, '#c9503f glossy, #e8d8b8 glossy', (clay, trim) => [
    ball([0, 0.09, 0], [0.2, 0.17, 0.2], clay),
    post([0, 0.012, 0], 0.06, 0.02, clay),
    ball([0, 0.165, 0], [0.1, 0.03, 0.1], trim),
    ball([0, 0.19, 0], 0.03, trim),
    bend('0.08 0.07 0, 0.13 0.09 0, 0.15 0.14 0, 0.175 0.16 0', 0.015, clay),
    bend('-0.085 0.13 0, -0.14 0.15 0, -0.15 0.08 0, -0.085 0.05 0', 0.01, clay),
  ]),
  candle: thing(0.26, table, '#f4ecd8, #c9a04a metal', (main, trim) => [
    post([0, 0.012, 0], [0.06, 0.07], 0.024, trim),
    post([0, 0.13, 0], 0.03, 0.22, main),
    rod([0, 0.24, 0], [0, 0.262, 0], 0.003, '#2a2420'),
    turned('0 0, 0.013 0.014, 0.01 0.03, 0 0.055', '#ffc64a glow', [0, 0.255, 0]),
  ]),
};

function roundFruit(skin: Paint, r: number): Part[] {
  const profile = `0 ${r * 0.16}, ${r * 0.4} 0, ${r * 0.82} ${r * 0.35}, ${r} ${r}, ${r * 0.86} ${r * 1.55}, ${r * 0.45} ${r * 1.86}, 0 ${r * 1.62}`;
  return [turned(profile, skin), rod([0, r * 1.6, 0], [r * 0.16, r * 2.15, 0], r * 0.06, '#5a3d24')];
}
