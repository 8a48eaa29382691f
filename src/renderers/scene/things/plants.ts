/** Plants, rocks and a tornado. */
import {
  ball,
  bend,
  lump,
  type Paint,
  type Part,
  post,
  ring,
  rod,
  round,
  shaded,
  spiral,
  straight,
  turned,
} from './parts.ts';
import type { Random } from '../../random.ts';
import type { Vector } from '../vector.ts';
import { land, thing } from './thing.ts';

const leafy = '#4f8a3a|#5d9640|#44803a, #6f4a2f';

export const plants = {
  tree: thing(4.6, land, leafy, broadTree),
  oak: thing(5.4, land, leafy, broadTree),
  pine: thing(4.8, land, '#2f6b45, #6a452c', pineTree),
  palm: thing(5, land, '#4f9440, #9a7a55', (leaf, trunk) => [
    bend('0 0 0, 0.08 1 0, 0.28 2 0, 0.62 3 0', 0.13, trunk),
    ...[0.4, 0.9, 1.4, 1.9, 2.4].map((y) => ring([0.05 + (y / 3) ** 2 * 0.55, y, 0], 0.13, 0.025, trunk)),
    ...round(9, (cos, sin, index, angle) => {
      const isOdd = index % 2 === 1;
      const at: Vector = [0.62 + cos * 0.8, isOdd ? 2.74 : 2.86, sin * 0.8];
      return ball(at, [1.9, 0.07, 0.42], shaded(leaf, isOdd ? -0.08 : 0.05), [0, -angle, -0.5]);
    }),
    ...round(3, (cos, sin) => ball([0.62 + cos * 0.16, 2.9, sin * 0.16], 0.22, '#6b4a2c')),
  ]),
  pottedplant: thing(0.5, land, '#4f9440, #b5623c', (leaf, pot) => [
    turned('0 0, 0.13 0, 0.18 0.24, 0.21 0.24, 0.21 0.31, 0.17 0.31, 0 0.29', pot),
    ...spiral(17, (cos, sin, index) => {
      const [out, up] = [0.05 + index * 0.013, 0.72 - index * 0.018];
      const size: Vector = [0.12, 0.42 - index * 0.006, 0.035];
      const at: Vector = [cos * out, up - 0.12, sin * out];
      return ball(at, size, index % 3 === 0 ? shaded(leaf, -0.15) : leaf, [
        sin * (0.2 + out * 2),
        0,
        -cos * (0.2 + out * 2),
      ]);
    }),
  ]),
  christmastree: thing(2.6, land, '#2f6b45, #6a452c', (needles, trunk) => [
    ...pineTree(needles, trunk),
    ...spiral(26, (cos, sin, index) => {
      const layer = Math.floor((index / 26) * 5);
      const radius = (1.15 - layer * 0.21) * 0.97;
      const colour = ['#d8342c', '#f0c040', '#3f7fd8', '#e8e6e0'][index % 4] ?? '';
      return ball([cos * radius, 0.58 + layer * 0.62, sin * radius], 0.16, `${colour} glossy`);
    }),
    ...round(5, (cos, sin) =>
      rod([0, 4.25, 0], [-sin * 0.26, 4.25 + cos * 0.26, 0], [0.01, 0.09], '#f6c83c glow'),
    ),
  ]),
  cactus: thing(2, land, '#4d8a4f, #e8588a', (green, blossom) => [
    post([0, 0.8, 0], [0.17, 0.19], 1.6, green, straight, 12),
    ball([0, 1.6, 0], 0.34, green),
    ...cactusArm(0.36, 0.65, 1.25, green),
    ...cactusArm(-0.36, 0.85, 1.4, green),
    ball([0.02, 1.8, 0], [0.14, 0.1, 0.14], blossom),
  ]),
  bush: thing(0.9, land, '#4d8540', (leaves, _, random) =>
    spiral(7, (cos, sin, index) => {
      const out = index === 0 ? 0 : 0.36;
      const at: Vector = [cos * out, index === 0 ? 0.46 : 0.3, sin * out];
      return lump(at, [0.7, 0.62, 0.7], 0.12, index, shaded(leaves, random.between(-0.1, 0.1)));
    }),
  ),
  flower: thing(0.6, land, '#e0445c|#f0b93a|#c85ab8|#f07a4a, #f2c230', (petal, heart) =>
    bloom(petal, 9, 0.19, 0.13, heart),
  ),
  tornado: thing(7, land, '#7c828a cloth', (dust) => [
    turned('0.1 0, 0.3 0.9, 0.36 1.8, 0.7 3, 1.1 3.9, 2 4.8, 2.4 5.2, 1.6 5.4, 0 5.4', dust),
    ...[0.5, 1.3, 2.2, 3.1, 4, 4.8].map((y, index) =>
      ring([0, y, 0], 0.3 + index * index * 0.065, 0.16, shaded(dust, (index % 2) * 0.2), [0.14, 0, 0.1]),
    ),
    lump([0, 0.1, 0], [1.6, 0.5, 1.6], 0.3, 4, '#8f7f68'),
  ]),
  rock: thing(0.8, land, '#8d8a84 stone', (stone, _, random) => [
    lump([0, 0.36, 0], [1.1, 0.84, 0.9], 0.3, random.whole(0, 99), stone),
    lump([0.5, 0.17, 0.24], [0.5, 0.42, 0.44], 0.3, random.whole(0, 99), stone),
  ]),
};

function broadTree(leaves: Paint, bark: Paint, random: Random): Part[] {
  return [
    rod([0, 0, 0], [0.05, 1.6, 0], [0.17, 0.27], bark),
    rod([0.05, 1.5, 0], [-0.4, 2.7, 0.1], [0.07, 0.15], bark),
    rod([0.05, 1.5, 0], [0.5, 2.8, -0.1], [0.07, 0.15], bark),
    rod([0.05, 1.4, 0], [0.1, 2.9, 0.2], [0.08, 0.16], bark),
    ...round(3, (cos, sin) => rod([cos * 0.42, 0, sin * 0.42], [0, 0.4, 0], [0.14, 0.05], bark)),
    ...spiral(9, (cos, sin, index) => {
      const isTop = index === 0;
      const out = isTop ? 0 : 0.55 + 0.3 * (index % 3);
      const wide = random.between(1.35, 1.9) * (isTop ? 1.35 : 1);
      const at: Vector = [cos * out, 3 + (index % 4) * 0.42 + (isTop ? 0.5 : 0), sin * out];
      return lump(at, [wide, wide * 0.86, wide], 0.13, index, shaded(leaves, random.between(-0.12, 0.1)));
    }),
  ];
}

function pineTree(needles: Paint, bark: Paint): Part[] {
  const layers = [0, 1, 2, 3, 4].map((layer) => {
    const radius = 1.15 - layer * 0.21;
    const profile = `0.02 0.05, ${radius} 0, ${radius * 0.92} 0.08, ${radius * 0.5} 0.5, 0.03 1.15`;
    return turned(profile, shaded(needles, layer * 0.03 - 0.05), [0, 0.55 + layer * 0.62, 0]);
  });
  return [post([0, 0.35, 0], [0.15, 0.2], 0.7, bark), ...layers];
}

function bloom(petal: Paint, count: number, long: number, heart: number, middle: Paint): Part[] {
  const out = heart * 0.4 + long * 0.5;
  const size: Vector = [long * 1.25, ((heart + long) * 3.4) / count, 0.045];
  return [
    bend('0 0 0, 0.02 0.4 -0.04, 0 0.8 0', 0.022, '#4b8b3f'),
    ball([0.12, 0.3, 0], [0.28, 0.03, 0.12], '#4b8b3f', [0, 0, 0.5]),
    ball([-0.1, 0.42, 0], [0.24, 0.03, 0.1], '#4b8b3f', [0, 0, -0.6]),
    ...round(count, (cos, sin, index, angle) => {
      const at: Vector = [cos * out, 0.82 + sin * out, 0.02 - (index % 2) * 0.02];
      return ball(at, size, shaded(petal, (index % 2) * 0.08), [0, 0, angle]);
    }),
    ball([0, 0.82, 0.03], [heart * 1.1, heart * 1.1, 0.1], middle),
  ];
}

function cactusArm(x: number, from: number, to: number, green: Paint): Part[] {
  return [
    rod([0, from, 0], [x, from + 0.04, 0], 0.1, green),
    ball([x, from + 0.04, 0], 0.2, green),
    rod([x, from + 0.04, 0], [x, to, 0], 0.1, green),
    ball([x, to, 0], 0.2, green),
  ];
}
