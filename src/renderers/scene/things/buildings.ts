/** Buildings: houses, towers, bridges. */
import {
  ball,
  bend,
  both,
  box,
  forward,
  lump,
  type Paint,
  type Part,
  post,
  rod,
  round,
  slab,
  turned,
} from './parts.ts';
import type { Vector } from '../vector.ts';
import { inkOn, inscription } from './letters.ts';
import { land, thing, top, water } from './thing.ts';

const quarter = Math.PI / 4;

/** Paint of window panes, which are lit in the dark. */
export const windowPane = '#6f93ad glossy';

export const buildings = {
  house: thing(5.2, land, '#efe3cc, #b4513c', (wall, roof) => [
    box([0, 1.3, 0], [4, 2.6, 3.2], wall, 0.03),
    box([0, 0.1, 0], [4.2, 0.2, 3.4], '#9a948a stone', 0.03),
    gable([0, 2.6, 0], 4, 1.6, 3.2, wall),
    ...roofOf([0, 2.55, 0], 4.7, 1.95, 3.9, roof),
    box([1.1, 3.9, -0.5], [0.5, 1.3, 0.5], '#a0543f brick', 0.02),
    box([0, 1, 1.6], [0.95, 1.6, 0.1], '#fbf8f0'),
    box([0, 0.96, 1.65], [0.75, 1.5, 0.1], '#5f4630 wood', 0.03),
    ball([0.27, 0.95, 1.73], 0.08, '#d8b04a metal'),
    box([0, 0.1, 1.85], [1.2, 0.18, 0.6], '#9a948a stone'),
    ...[-1.25, 1.25].flatMap((x) => windowAt([x, 1.45, 1.61], 0.85, '#fbf8f0')),
    ...windowAt([0, 3.2, 1.61], 0.6, '#fbf8f0'),
    ...both((side) => [
      box([2.01, 1.45, side * 0.7], [0.08, 1, 0.85], '#fbf8f0'),
      box([2.04, 1.45, side * 0.7], [0.08, 0.85, 0.7], windowPane),
    ]),
  ]),
  castle: thing(9, land, '#b9b2a4 stone, #4a5f8a', (stone, roof) => [
    box([0, 1.2, 0], [5, 2.4, 4], stone, 0.02),
    ...[-2, -1.2, -0.4, 0.4, 1.2, 2].map((x) => box([x, 2.55, 1.85], [0.42, 0.4, 0.3], stone, 0.02)),
    ...both((side) => turret([side * 2.5, 3.2, 2], stone, roof)),
    ...both((side) => turret([side * 2.5, 3.6, -2], stone, roof)),
    ...turret([0, 4.8, -0.5], stone, roof),
    box([0, 0.7, 1.95], [1.1, 1.4, 0.2], '#4f3825 wood'),
    post([0, 1.4, 1.95], 0.55, 0.2, '#4f3825 wood', forward),
    ...[-1.4, 1.4].map((x) => box([x, 1.5, 2], [0.2, 0.6, 0.1], '#2e3440')),
  ]),
  tower: thing(7, land, '#b5aa98 stone, #a5523f', (stone, trim) => [
    post([0, 2.4, 0], [0.85, 1.05], 4.8, stone),
    ...crown([0, 4.8, 0], 0.95, stone),
    post([0, 6, 0], [0.02, 1], 1.9, trim),
    ...[1.4, 3].map((y) => box([0, y, 0.93], [0.28, 0.62, 0.16], '#333a46')),
    box([0, 0.55, 1], [0.7, 1.1, 0.16], '#553c28 wood'),
  ]),
  lighthouse: thing(8, top(water, 1), '#f6f3ec, #cf3a30', (white, red) => [
    lump([0, -0.2, 0], [5, 0.12, 4.4], 0.2, 5, '#e4eef0'),
    lump([0.1, 0.1, 0], [4.2, 1.1, 3.6], 0.3, 8, '#77726a stone'),
    lump([-1.5, 0.1, 0.9], [1.5, 0.7, 1.2], 0.3, 3, '#6a655e stone'),
    turned('0 0, 1.5 0, 1.3 0.46, 1.05 0.52, 0 0.52', '#8d8a84 stone'),
    ...[0, 1, 2, 3, 4].map((step) =>
      post([0, 0.5 + step, 0], [0.9 - step * 0.1, 1 - step * 0.1], 1, step % 2 === 0 ? white : red),
    ),
    post([0, 5.1, 0], 0.75, 0.14, '#3a3d44'),
    post([0, 5.5, 0], 0.36, 0.7, '#ffe9a8 glow'),
    ...round(6, (cos, sin) =>
      rod([cos * 0.42, 5.1, sin * 0.42], [cos * 0.42, 5.9, sin * 0.42], 0.03, '#3a3d44'),
    ),
    post([0, 6.15, 0], [0.04, 0.58], 0.55, red),
    box([0, 0.55, 0.98], [0.5, 1, 0.14], '#4d5a66'),
  ]),
  barn: thing(6, land, '#b03a2e, #5d6066', (wall, trim) => [
    box([0, 1.4, 0], [4, 2.8, 5], wall, 0.03),
    slab('-2 0, 2 0, 1.4 1, 0 1.6, -1.4 1', 5, wall, [0, 2.8, 0]),
    ...both((side) => [
      box([side * 1.76, 3.28, 0], [1.3, 0.12, 5.4], trim, 0.08, [0, 0, -side * 1.03]),
      box([side * 0.72, 4.12, 0], [1.62, 0.12, 5.4], trim, 0.08, [0, 0, -side * 0.4]),
      rod([-0.7, 0.1, 2.56], [0.7, 1.8, 2.56], 0.05, '#f6f2e8'),
      rod([side * 0.75, 0, 2.55], [side * 0.75, 1.9, 2.55], 0.06, '#f6f2e8'),
    ]),
    box([0, 0.95, 2.48], [1.5, 1.9, 0.1], '#8e2d24'),
    box([0, 1.9, 2.55], [1.6, 0.1, 0.08], '#f6f2e8'),
    ...windowAt([0, 3.1, 2.5], 0.6, '#f6f2e8'),
  ]),
  windmill: thing(7, land, '#f0e6d2, #8a4a34', (wall, cap) => [
    post([0, 1.8, 0], [0.8, 1.3], 3.6, wall),
    post([0, 4, 0], [0.1, 0.95], 1, cap),
    rod([0, 3.6, 0], [0, 3.6, 1.2], 0.1, '#5f452f wood'),
    ...[0, 1, 2, 3].flatMap((sail) => {
      const angle = 0.4 + (sail * Math.PI) / 2;
      const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
      const middle: Vector = [cos * 1.4 - sin * 0.24, 3.6 + sin * 1.4 + cos * 0.24, 1.1];
      return [
        rod([0, 3.6, 1.1], [cos * 2.3, 3.6 + sin * 2.3, 1.1], 0.05, '#5f452f wood'),
        box(middle, [1.7, 0.46, 0.04], '#f2ead8 cloth', 0.08, [0, 0, angle]),
      ];
    }),
    box([0, 0.6, 1.2], [0.65, 1.2, 0.2], '#5f452f wood'),
    box([0, 2, 0.98], [0.4, 0.5, 0.2], windowPane),
  ]),
  church: thing(9, land, '#f2ecdf, #7a4a3c', (wall, roof) => [
    box([0, 1.3, -1], [2.6, 2.6, 4], wall),
    gable([0, 2.6, -1], 2.6, 1.5, 4, wall),
    ...roofOf([0, 2.55, -1], 3.1, 1.8, 4.3, roof),
    box([0, 2.2, 1.3], [1.4, 4.4, 1.4], wall),
    post([0, 5.5, 1.3], [0.02, 1.06], 2.2, roof, [0, quarter, 0], 4),
    rod([0, 6.5, 1.3], [0, 7.2, 1.3], 0.045, '#d8b04a metal'),
    rod([-0.2, 6.95, 1.3], [0.2, 6.95, 1.3], 0.045, '#d8b04a metal'),
    box([0, 0.7, 2], [0.75, 1.4, 0.1], '#5f452f wood'),
    box([0, 3.3, 2], [0.4, 0.7, 0.08], '#54708a glossy'),
  ]),
  temple: thing(5, land, '#d9cfb8 stone', (stone) => [
    ...[0, 1, 2].map((step) =>
      box([0, 0.1 + step * 0.2, 0], [7 - step * 0.4, 0.2, 4.4 - step * 0.4], stone, 0.01),
    ),
    ...both((side) =>
      [-2.7, -1.62, -0.54, 0.54, 1.62, 2.7].map((x) => post([x, 2, side * 1.5], [0.24, 0.3], 2.8, stone)),
    ),
    box([0, 2, 0], [4.6, 2.8, 2], stone, 0.01),
    box([0, 3.6, 0], [6.2, 0.5, 3.7], stone, 0.01),
    gable([0, 3.85, 0], 6.4, 1.2, 3.9, stone),
  ]),
  eiffeltower: thing(16, land, '#7d6a58 metal', (iron) => [
    ...both((x) => both((z) => bend(`${x * 2} 0 ${z * 2}, ${x * 0.7} 4.5 ${z * 0.7}, 0 14 0`, 0.22, iron))),
    ...both((x) => both((z) => rod([x * 1.3, 2, z * 1.3], [x * 0.5, 5.4, -z * 0.6], 0.07, iron))),
    box([0, 2.6, 0], [3, 0.3, 3], iron, 0.02),
    box([0, 5.6, 0], [1.6, 0.25, 1.6], iron, 0.02),
    rod([0, 12, 0], [0, 15.5, 0], [0.05, 0.2], iron),
  ]),
  sydneyoperahouse: thing(5, land, '#f4f0e6 glossy, #b99a7c', (shell, base) => [
    box([0, 0.4, 0], [8, 0.8, 3.4], base, 0.05),
    ...[-2.9, -1.6, -0.1, 1.5, 2.9].map((x, index) => {
      const high = [1.8, 2.6, 3.6, 3, 2.1][index] ?? 2;
      const sail = `-1.3 0, 0.5 0, 0.55 ${high * 0.55}, 0.9 ${high}, -0.1 ${high * 0.8}, -0.9 ${high * 0.45}`;
      return slab(sail, 2, shell, [x, 0.8, 0]);
    }),
  ]),
  window: thing(1.3, land, '#fbf8f0', (frame) => windowAt([0, 0.58, 0], 1, frame)),
  pyramid: thing(5, land, '#d9b878', (main) => [
    post([0, 1.25, 0], [0.01, 2.4], 2.5, main, [0, quarter, 0], 4),
  ]),
  skyscraper: thing(24, land, '#7f93a8 glossy, #3c4652 glossy', (wall, trim) => [
    box([0, 5, 0], [2.6, 10, 2.6], wall, 0.02),
    ...Array.from({ length: 13 }, (_, floor) =>
      box([0, 0.8 + floor * 0.7, 0], [2.64, 0.2, 2.64], trim, 0.01),
    ),
    box([0, 10.3, 0], [1.6, 0.7, 1.6], wall),
    rod([0, 10.6, 0], [0, 12.2, 0], 0.05, '#c8ccd2 metal'),
  ]),
  bridge: thing(2.4, top(land, 0.8), '#a39a8c stone', (stone) => [
    slab([[-3.4, 0], ...arch(), [3.4, 0], [3.4, 1], [0, 1.75], [-3.4, 1]], 1.6, stone),
    ...both((side) =>
      both((end) => box([end * 1.7, 1.62, side * 0.74], [3.5, 0.4, 0.14], stone, 0.02, [0, 0, -end * 0.217])),
    ),
  ]),
  fence: thing(1, land, '#f1ece0', (wood) => [
    ...Array.from({ length: 9 }, (_, index) =>
      slab('-0.1 0, 0.1 0, 0.1 0.85, 0 1, -0.1 0.85', 0.06, wood, [-1.6 + index * 0.4, 0, 0]),
    ),
    ...[0.3, 0.68].map((y) => box([0, y, -0.06], [3.5, 0.1, 0.05], wood, 0.01)),
  ]),
  wall: thing(2.3, land, '#a8573f brick, #b8b0a4 stone', (brick, trim, _, { text }) => [
    box([0, 1.1, 0], [4.5, 2.2, 0.3], brick, 0.01),
    box([0, 2.25, 0], [4.6, 0.12, 0.4], trim, 0.02),
    ...inscription(text, [0, 1.15], 0.16, [4, 1.6], inkOn(brick)),
  ]),
};

function gable([x, y, z]: Vector, wide: number, high: number, deep: number, paint: Paint): Part {
  return slab(`${-wide / 2} 0, ${wide / 2} 0, 0 ${high}`, deep, paint, [x, y, z]);
}

/** Two boards that lean against each other. */
function roofOf([x, y, z]: Vector, wide: number, high: number, deep: number, paint: Paint): Part[] {
  const slope = Math.atan2(high, wide / 2);
  const size: Vector = [Math.hypot(wide / 2, high) + 0.08, 0.16, deep];
  return both((side) =>
    box([x + (side * wide) / 4, y + high / 2 - 0.02, z], size, paint, 0.03, [0, 0, -side * slope]),
  );
}

function windowAt([x, y, z]: Vector, size: number, frame: Paint | string): Part[] {
  return [
    box([x, y, z], [size + 0.16, size + 0.16, 0.08], frame, 0.02),
    box([x, y, z + 0.03], [size, size, 0.08], windowPane, 0.01),
    box([x, y, z + 0.06], [0.06, size, 0.06], frame, 0.01),
    box([x, y, z + 0.06], [size, 0.06, 0.06], frame, 0.01),
  ];
}

function turret([x, high, z]: Vector, stone: Paint, roof: Paint): Part[] {
  return [
    post([x, high / 2, z], 0.75, high, stone),
    ...crown([x, high, z], 0.82, stone),
    post([x, high + 1.05, z], [0.02, 0.8], 1.5, roof),
    rod([x, high + 1.7, z], [x, high + 2.4, z], 0.03, '#55504a'),
    slab('-0.26 -0.15, 0.28 0, -0.26 0.15', 0.02, '#d0392e', [x + 0.28, high + 2.2, z]),
  ];
}

/** Battlements around a round tower. */
function crown([x, y, z]: Vector, radius: number, stone: Paint): Part[] {
  return [
    post([x, y + 0.05, z], [radius * 1.05, radius * 0.92], 0.2, stone),
    ...round(8, (cos, sin, _, angle) => {
      const at: Vector = [x + cos * radius * 0.9, y + 0.3, z + sin * radius * 0.9];
      return box(at, [0.3, 0.35, 0.3], stone, 0.02, [0, -angle, 0]);
    }),
  ];
}

function arch(): readonly (readonly [number, number])[] {
  return Array.from({ length: 13 }, (_, index) => {
    const angle = Math.PI * (1 - index / 12);
    return [Math.cos(angle) * 2, Math.sin(angle) * 1.2];
  });
}
