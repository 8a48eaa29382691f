/** What is built: houses, towers, bridges. */
import { ball, box, post, rod, slab, turned, type Paint, type Part, type Vector } from './parts.ts';
import type { Look } from './look.ts';

const quarter = Math.PI / 4;

export function house(look: Look): Part[] {
  const wall = look.main('#efe3cc', 'matt');
  const roof = look.trim('#b4513c', 'matt');
  const white = look.own('#fbf8f0');
  return [
    box([0, 1.3, 0], [4, 2.6, 3.2], wall, [0, 0, 0], 0.03),
    box([0, 0.1, 0], [4.2, 0.2, 3.4], look.own('#9a948a', 'stone'), [0, 0, 0], 0.03),
    gable([0, 2.6, 0], 4, 1.6, 3.2, wall),
    ...roofOf([0, 2.55, 0], 4.7, 1.95, 3.9, roof),
    box([1.1, 3.9, -0.5], [0.5, 1.3, 0.5], look.own('#a0543f', 'brick'), [0, 0, 0], 0.02),
    ...doorAt([0, 0.2, 1.6], look),
    ...[-1.25, 1.25].flatMap((x) => windowAt([x, 1.45, 1.61], 0.85, white, look)),
    ...windowAt([0, 3.2, 1.61], 0.6, white, look),
    ...[-0.7, 0.7].flatMap((z) => sideWindow([2.01, 1.45, z], white, look)),
  ];
}

function gable([x, y, z]: Vector, wide: number, high: number, deep: number, paint: Paint): Part {
  return slab(
    [x, y, z],
    [
      [-wide / 2, 0],
      [wide / 2, 0],
      [0, high],
    ],
    deep,
    paint,
  );
}

/** Two boards that lean on each other. */
function roofOf([x, y, z]: Vector, wide: number, high: number, deep: number, paint: Paint): Part[] {
  const slope = Math.atan2(high, wide / 2);
  const long = Math.hypot(wide / 2, high) + 0.08;
  return [-1, 1].map((side) =>
    box(
      [x + (side * wide) / 4, y + high / 2 - 0.02, z],
      [long, 0.16, deep],
      paint,
      [0, 0, -side * slope],
      0.03,
    ),
  );
}

function doorAt([x, y, z]: Vector, look: Look): Part[] {
  return [
    box([x, y + 0.8, z], [0.95, 1.6, 0.1], look.own('#fbf8f0')),
    box([x, y + 0.76, z + 0.05], [0.75, 1.5, 0.1], look.own('#5f4630', 'wood'), [0, 0, 0], 0.03),
    ball([x + 0.27, y + 0.75, z + 0.13], 0.08, look.own('#d8b04a', 'metal')),
    box([x, y - 0.1, z + 0.25], [1.2, 0.18, 0.6], look.own('#9a948a', 'stone')),
  ];
}

function windowAt([x, y, z]: Vector, size: number, frame: Paint, look: Look): Part[] {
  return [
    box([x, y, z], [size + 0.16, size + 0.16, 0.08], frame, [0, 0, 0], 0.02),
    box([x, y, z + 0.03], [size, size, 0.08], look.own('#6f93ad', 'glossy'), [0, 0, 0], 0.01),
    box([x, y, z + 0.06], [0.06, size, 0.06], frame, [0, 0, 0], 0.01),
    box([x, y, z + 0.06], [size, 0.06, 0.06], frame, [0, 0, 0], 0.01),
  ];
}

function sideWindow([x, y, z]: Vector, frame: Paint, look: Look): Part[] {
  return [
    box([x, y, z], [0.08, 1, 0.85], frame),
    box([x + 0.03, y, z], [0.08, 0.85, 0.7], look.own('#6f93ad', 'glossy')),
  ];
}

export function barn(look: Look): Part[] {
  const wall = look.main('#b03a2e', 'matt');
  const white = look.own('#f6f2e8');
  return [
    box([0, 1.4, 0], [4, 2.8, 5], wall, [0, 0, 0], 0.03),
    slab([0, 2.8, 0], '-2 0, 2 0, 1.4 1, 0 1.6, -1.4 1', 5, wall),
    ...[-1, 1].flatMap((side) => [
      box([side * 1.76, 3.28, 0], [1.3, 0.12, 5.4], look.trim('#5d6066'), [0, 0, -side * 1.03]),
      box([side * 0.72, 4.12, 0], [1.62, 0.12, 5.4], look.trim('#5d6066'), [0, 0, -side * 0.4]),
      rod([-0.7, 0.1, 2.56], [0.7, 1.8, 2.56], 0.05, white),
      rod([side * 0.75, 0, 2.55], [side * 0.75, 1.9, 2.55], 0.06, white),
    ]),
    box([0, 0.95, 2.48], [1.5, 1.9, 0.1], look.own('#8e2d24')),
    box([0, 1.9, 2.55], [1.6, 0.1, 0.08], white),
    ...windowAt([0, 3.1, 2.5], 0.6, white, look),
  ];
}

export function castle(look: Look): Part[] {
  const stone = look.main('#b9b2a4', 'stone');
  const roof = look.trim('#4a5f8a');
  const corner = (x: number, z: number, high: number): Part[] => [
    post([x, high / 2, z], 0.75, high, stone),
    ...crown([x, high, z], 0.82, stone),
    post([x, high + 1.05, z], [0.02, 0.8], 1.5, roof),
    rod([x, high + 1.7, z], [x, high + 2.4, z], 0.03, look.own('#55504a')),
    slab([x + 0.28, high + 2.2, z], '-0.26 -0.15, 0.28 0, -0.26 0.15', 0.02, look.own('#d0392e')),
  ];
  return [
    box([0, 1.2, 0], [5, 2.4, 4], stone, [0, 0, 0], 0.02),
    ...[-2, -1.2, -0.4, 0.4, 1.2, 2].map((x) =>
      box([x, 2.55, 1.85], [0.42, 0.4, 0.3], stone, [0, 0, 0], 0.02),
    ),
    ...corner(-2.5, 2, 3.2),
    ...corner(2.5, 2, 3.2),
    ...corner(-2.5, -2, 3.6),
    ...corner(2.5, -2, 3.6),
    ...corner(0, -0.5, 4.8),
    box([0, 0.7, 1.95], [1.1, 1.4, 0.2], look.own('#4f3825', 'wood')),
    post([0, 1.4, 1.95], 0.55, 0.2, look.own('#4f3825', 'wood'), [Math.PI / 2, 0, 0]),
    ...[-1.4, 1.4].map((x) => box([x, 1.5, 2], [0.2, 0.6, 0.1], look.own('#2e3440'))),
  ];
}

/** Battlements around a round tower. */
function crown([x, y, z]: Vector, radius: number, stone: Paint): Part[] {
  const teeth = Array.from({ length: 8 }, (_, index): Part => {
    const angle = index * quarter;
    return box(
      [x + Math.cos(angle) * radius * 0.9, y + 0.3, z + Math.sin(angle) * radius * 0.9],
      [0.3, 0.35, 0.3],
      stone,
      [0, -angle, 0],
      0.02,
    );
  });
  return [post([x, y + 0.05, z], [radius * 1.05, radius * 0.92], 0.2, stone), ...teeth];
}

export function tower(look: Look): Part[] {
  const stone = look.main('#b5aa98', 'stone');
  return [
    post([0, 2.4, 0], [0.85, 1.05], 4.8, stone),
    ...crown([0, 4.8, 0], 0.95, stone),
    post([0, 6, 0], [0.02, 1], 1.9, look.trim('#a5523f')),
    ...[1.4, 3].map((y) => box([0, y, 0.93], [0.28, 0.62, 0.16], look.own('#333a46'))),
    box([0, 0.55, 1], [0.7, 1.1, 0.16], look.own('#553c28', 'wood')),
  ];
}

export function lighthouse(look: Look): Part[] {
  const [white, red] = [look.main('#f6f3ec'), look.trim('#cf3a30')];
  const rings = [0, 1, 2, 3, 4].map((step): Part => {
    const [low, high] = [1 - step * 0.1, 0.9 - step * 0.1];
    return post([0, 0.5 + step, 0], [high, low], 1, step % 2 === 0 ? white : red);
  });
  return [
    lumpBase(look),
    ...rings,
    post([0, 5.1, 0], 0.75, 0.14, look.own('#3a3d44')),
    post([0, 5.5, 0], 0.36, 0.7, look.own('#ffe9a8', 'glow')),
    ...[0, 1, 2, 3, 4, 5].map((step) =>
      rod(
        [Math.cos(step) * 0.42, 5.1, Math.sin(step) * 0.42],
        [Math.cos(step) * 0.42, 5.9, Math.sin(step) * 0.42],
        0.03,
        look.own('#3a3d44'),
      ),
    ),
    post([0, 6.15, 0], [0.04, 0.58], 0.55, red),
    box([0, 0.55, 0.98], [0.5, 1, 0.14], look.own('#4d5a66')),
  ];
}

function lumpBase(look: Look): Part {
  return turned([0, 0, 0], '0 0, 1.5 0, 1.3 0.16, 1.05 0.22, 0 0.22', look.own('#8d8a84', 'stone'));
}

export function windmill(look: Look): Part[] {
  const sails = [0, 1, 2, 3].flatMap((index): Part[] => {
    const angle = 0.4 + (index * Math.PI) / 2;
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    return [
      rod([0, 3.6, 1.1], [cos * 2.3, 3.6 + sin * 2.3, 1.1], 0.05, look.own('#5f452f', 'wood')),
      box(
        [cos * 1.4 - sin * 0.24, 3.6 + sin * 1.4 + cos * 0.24, 1.1],
        [1.7, 0.46, 0.04],
        look.own('#f2ead8', 'cloth'),
        [0, 0, angle],
      ),
    ];
  });
  return [
    post([0, 1.8, 0], [0.8, 1.3], 3.6, look.main('#f0e6d2')),
    post([0, 4, 0], [0.1, 0.95], 1, look.trim('#8a4a34')),
    rod([0, 3.6, 0], [0, 3.6, 1.2], 0.1, look.own('#5f452f', 'wood')),
    ...sails,
    box([0, 0.6, 1.2], [0.65, 1.2, 0.2], look.own('#5f452f', 'wood')),
    box([0, 2, 0.98], [0.4, 0.5, 0.2], look.own('#6f93ad', 'glossy')),
  ];
}

export function church(look: Look): Part[] {
  const wall = look.main('#f2ecdf');
  const roof = look.trim('#7a4a3c');
  return [
    box([0, 1.3, -1], [2.6, 2.6, 4], wall),
    gable([0, 2.6, -1], 2.6, 1.5, 4, wall),
    ...roofOf([0, 2.55, -1], 3.1, 1.8, 4.3, roof),
    box([0, 2.2, 1.3], [1.4, 4.4, 1.4], wall),
    post([0, 5.5, 1.3], [0.02, 1.06], 2.2, roof, [0, quarter, 0], 4),
    rod([0, 6.5, 1.3], [0, 7.2, 1.3], 0.045, look.own('#d8b04a', 'metal')),
    rod([-0.2, 6.95, 1.3], [0.2, 6.95, 1.3], 0.045, look.own('#d8b04a', 'metal')),
    box([0, 0.7, 2], [0.75, 1.4, 0.1], look.own('#5f452f', 'wood')),
    box([0, 3.3, 2], [0.4, 0.7, 0.08], look.own('#54708a', 'glossy')),
  ];
}

export function tent(look: Look): Part[] {
  const cloth = look.main('#d98a3a', 'cloth');
  return [
    slab([0, 0, 0], '-1.1 0, 1.1 0, 0 1.5', 2.2, cloth),
    slab([0, 0.01, 1.09], '-0.42 0, 0.42 0, 0 1.2', 0.05, look.trim('#5a3a22', 'cloth')),
    ...[-1, 1].map((side) => rod([0, 1.5, side * 1.1], [0, 0, side * 2], 0.015, look.own('#e8e0d0'))),
  ];
}

export function pyramid(look: Look): Part[] {
  return [post([0, 1.25, 0], [0.01, 2.4], 2.5, look.main('#d9b878', 'matt'), [0, quarter, 0], 4)];
}

export function skyscraper(look: Look): Part[] {
  const wall = look.main('#7f93a8', 'glossy');
  const bands = Array.from({ length: 13 }, (_, index): Part =>
    box([0, 0.8 + index * 0.7, 0], [2.64, 0.2, 2.64], look.trim('#3c4652', 'glossy'), [0, 0, 0], 0.01),
  );
  return [
    box([0, 5, 0], [2.6, 10, 2.6], wall, [0, 0, 0], 0.02),
    ...bands,
    box([0, 10.3, 0], [1.6, 0.7, 1.6], wall),
    rod([0, 10.6, 0], [0, 12.2, 0], 0.05, look.own('#c8ccd2', 'metal')),
  ];
}

export function bridge(look: Look): Part[] {
  const stone = look.main('#a39a8c', 'stone');
  const arch = Array.from({ length: 13 }, (_, index) => {
    const angle = Math.PI * (1 - index / 12);
    return [Math.cos(angle) * 2, Math.sin(angle) * 1.2] as const;
  });
  return [
    slab([0, 0, 0], [[-3.4, 0], ...arch, [3.4, 0], [3.4, 1], [0, 1.75], [-3.4, 1]], 1.6, stone),
    ...[-1, 1].flatMap((side) =>
      [-1, 1].map((end) =>
        box([end * 1.7, 1.62, side * 0.74], [3.5, 0.4, 0.14], stone, [0, 0, -end * 0.217], 0.02),
      ),
    ),
  ];
}

export function fence(look: Look): Part[] {
  const wood = look.main('#f1ece0', 'matt');
  const posts = Array.from({ length: 9 }, (_, index) =>
    slab([-1.6 + index * 0.4, 0, 0], '-0.1 0, 0.1 0, 0.1 0.85, 0 1, -0.1 0.85', 0.06, wood),
  );
  return [...posts, ...[0.3, 0.68].map((y) => box([0, y, -0.06], [3.5, 0.1, 0.05], wood, [0, 0, 0], 0.01))];
}

export function brickWall(look: Look): Part[] {
  const brick = look.main('#a8573f', 'brick');
  return [
    box([0, 1.1, 0], [4.5, 2.2, 0.3], brick, [0, 0, 0], 0.01),
    box([0, 2.25, 0], [4.6, 0.12, 0.4], look.trim('#b8b0a4', 'stone'), [0, 0, 0], 0.02),
  ];
}
