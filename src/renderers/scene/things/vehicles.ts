/** Vehicles, aircraft and ships. */
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
  ring,
  rod,
  round,
  shaded,
  sideways,
  slab,
  straight,
  turned,
} from './parts.ts';
import { pointsOf, type Vector } from '../vector.ts';
import { air, land, thing, top, water } from './thing.ts';

export const vehicles = {
  car: thing(1.45, top(land, 0.98, 0.4), '#c8372d glossy, #d4d8dc metal', (paint, trim) => [
    slab('-2 0.35, 2 0.33, 2.02 0.62, 1.75 0.78, 0.95 0.88, -1.3 0.9, -1.95 0.84, -2.05 0.6', 1.62, paint),
    slab('-1.15 0.78, 1.05 0.78, 0.5 1.32, -0.7 1.34', 1.36, paint),
    slab('-0.98 0.84, 0.86 0.84, 0.43 1.25, -0.62 1.27', 1.4, '#27323c glossy'),
    box([-0.06, 1.04, 0], [0.09, 0.5, 1.42], paint, 0.01),
    rod([1.04, 0.86, 0], [0.52, 1.28, 0], 0.02, '#27323c glossy'),
    box([0.83, 1.06, 0], [0.03, 0.56, 1.2], '#27323c glossy', 0.01, [0, 0, 0.88]),
    ...wheels([-1.25, 1.28], 0.34, 0.76, 0.24),
    ...both((side) => [
      ball([1.96, 0.62, side * 0.56], [0.16, 0.18, 0.3], '#fff6d8 glow'),
      ball([-2, 0.68, side * 0.58], [0.1, 0.14, 0.3], '#d0221c glow'),
      box([-0.35, 0.74, side * 0.82], [0.2, 0.035, 0.03], '#d8dce0 metal', 0.01),
    ]),
    box([2.02, 0.4, 0], [0.1, 0.14, 1.5], trim, 0.04),
    box([-2.03, 0.4, 0], [0.1, 0.14, 1.5], trim, 0.04),
  ]),
  truck: thing(2.8, land, '#2f6fb0 glossy, #f1ede4', (paint, trim) => [
    box([1.75, 1.25, 0], [1.3, 1.6, 1.9], paint, 0.14),
    box([2.32, 1.55, 0], [0.2, 0.7, 1.6], '#27323c glossy', 0.05),
    ...both((side) => box([1.85, 1.6, side * 0.93], [0.8, 0.6, 0.06], '#27323c glossy', 0.02)),
    box([-0.75, 1.65, 0], [3.5, 2.1, 2], paint, 0.06),
    box([-0.75, 1.5, 0], [3.54, 0.3, 2.04], trim, 0.02),
    box([0, 0.52, 0], [4.9, 0.22, 1.5], '#34383d', 0.04),
    ...wheels([-1.7, -0.8, 1.75], 0.45, 0.85, 0.32),
    ...both((side) => ball([2.4, 0.8, side * 0.65], [0.12, 0.2, 0.28], '#fff6d8 glow')),
  ]),
  bus: thing(2.5, land, '#e8b02c glossy, #f6f2e6 glossy', (main, trim) => [
    box([0, 1.3, 0], [5.2, 1.9, 1.9], main, 0.2),
    box([0, 0.75, 0], [5.22, 0.2, 1.93], trim, 0.04),
    ...[-1.9, -0.95, 0, 0.95, 1.9].map((x) => box([x, 1.65, 0], [0.78, 0.68, 1.94], '#2c3a46 glossy', 0.03)),
    box([2.58, 1.55, 0], [0.1, 0.85, 1.6], '#2c3a46 glossy', 0.03),
    ...wheels([-1.6, 1.6], 0.42, 0.82, 0.28),
    ...both((side) => ball([2.6, 0.75, side * 0.65], [0.1, 0.2, 0.24], '#fff6d8 glow')),
  ]),
  train: thing(3, land, '#2f6b4a glossy, #b5342c glossy', (paint, trim) => [
    post([0.5, 1.35, 0], 0.62, 2.6, paint, sideways),
    post([1.82, 1.35, 0], 0.64, 0.12, '#26282c metal', sideways),
    box([-1.3, 1.6, 0], [1.3, 1.9, 1.5], paint, 0.06),
    box([-1.3, 2.6, 0], [1.6, 0.12, 1.75], trim, 0.05),
    ...both((side) => box([-1.3, 1.95, side * 0.74], [0.75, 0.6, 0.06], '#8fb8cc glossy', 0.03)),
    turned('0.16 0, 0.16 0.6, 0.28 0.85, 0.24 0.9', '#26282c metal', [1.3, 1.9, 0]),
    ball([0.4, 1.98, 0], [0.36, 0.4, 0.36], '#d8a83a metal'),
    box([0, 0.66, 0], [4, 0.2, 1.3], trim, 0.04),
    ...[-1.4, -0.4, 0.5, 1.35].flatMap((x) =>
      both((side) => [
        post([x, 0.42, side * 0.68], 0.42, 0.14, '#26282c metal', forward),
        post([x, 0.42, side * 0.68], 0.26, 0.18, trim, forward),
      ]),
    ),
    rod([-1.4, 0.42, 0.8], [1.35, 0.42, 0.8], 0.05, '#c9cdd2 metal'),
    ball([1.95, 1.6, 0], [0.16, 0.3, 0.3], '#fff2c0 glow'),
    post([2.05, 0.35, 0], [0.1, 0.6], 0.5, '#3a3d42 metal', straight, 4),
    ...both((side) => box([0, 0.03, side * 0.68], [5.4, 0.06, 0.08], '#8a8d92 metal', 0.01)),
  ]),
  bicycle: thing(1.05, top(land, 0.92, 0.2), '#2f8a8f glossy, #6a4630 cloth', (paint, trim) => {
    const [rear, front]: [Vector, Vector] = [
      [-0.5, 0.34, 0],
      [0.52, 0.34, 0],
    ];
    const [seat, crank, head]: [Vector, Vector, Vector] = [
      [-0.2, 0.82, 0],
      [-0.05, 0.32, 0],
      [0.36, 0.84, 0],
    ];
    return [
      ...[rear, front].flatMap((at) => [
        ring(at, 0.32, 0.022, '#24262a', forward),
        ...round(6, (cos, sin) =>
          rod(at, [at[0] + cos * 0.31, at[1] + sin * 0.31, 0], 0.003, '#c9cdd2 metal'),
        ),
      ]),
      rod(rear, crank, 0.016, paint),
      rod(rear, seat, 0.014, paint),
      rod(crank, seat, 0.018, paint),
      rod(crank, head, 0.02, paint),
      rod(seat, head, 0.018, paint),
      rod(front, [0.33, 0.98, 0], 0.018, paint),
      rod([0.33, 0.98, -0.24], [0.33, 0.98, 0.24], 0.014, '#c9cdd2 metal'),
      rod(seat, [-0.23, 0.92, 0], 0.014, '#24262a'),
      box([-0.23, 0.94, 0], [0.24, 0.05, 0.13], trim, 0.025),
      post([-0.05, 0.32, 0], 0.09, 0.03, '#c9cdd2 metal', forward),
    ];
  }),
  motorcycle: thing(1.15, top(land, 0.7, 0.2), '#c8372d glossy, #26282c cloth', (paint, seat) => [
    ...[-0.72, 0.74].flatMap((x) => [
      ring([x, 0.33, 0], 0.25, 0.08, '#1e1f22', forward),
      ...round(8, (cos, sin) =>
        rod([x, 0.33, 0], [x + cos * 0.2, 0.33 + sin * 0.2, 0], 0.012, '#c9cdd2 metal'),
      ),
      ball([x, 0.62, 0], [0.56, 0.14, 0.2], paint, [0, 0, x > 0 ? -0.1 : 0.1]),
    ]),
    box([0, 0.42, 0], [0.5, 0.34, 0.28], '#8a9098 metal', 0.06),
    slab('-0.55 0.72, -0.2 0.72, -0.1 0.5, -0.35 0.5', 0.32, paint),
    ...[0.34, 0.42, 0.5].map((y) => box([0.02, y, 0], [0.44, 0.03, 0.34], '#5a6068 metal', 0.01)),
    ball([0.2, 0.8, 0], [0.66, 0.32, 0.34], paint, [0, 0, 0.15]),
    box([-0.36, 0.77, 0], [0.66, 0.13, 0.28], seat, 0.06, [0, 0, -0.06]),
    rod([-0.72, 0.33, 0.1], [-0.1, 0.5, 0.1], 0.035, paint),
    ...both((side) => rod([0.76, 0.33, side * 0.11], [0.46, 1.05, side * 0.09], 0.03, '#c9cdd2 metal')),
    bend('0.36 1.14 -0.4, 0.46 1.12 -0.2, 0.48 1.06 0, 0.46 1.12 0.2, 0.36 1.14 0.4', 0.022, '#26282c'),
    ball([0.62, 0.94, 0], [0.2, 0.24, 0.24], '#fff6d8 glow'),
    bend('0.15 0.4 0.17, 0.1 0.24 0.19, -0.3 0.24 0.2, -0.95 0.36 0.2', 0.05, '#c9cdd2 metal'),
    ball([-0.98, 0.66, 0], [0.08, 0.1, 0.16], '#d0221c glow'),
  ]),
  boat: thing(0.75, top(water, 0.6), '#a5652f wood, #e8d8b8 wood', (wood, trim) => [
    ...hull(2.6, 1, 0.5, wood),
    box([0.02, 0.49, 0], [2.2, 0.03, 0.8], '#4f3320 wood', 0.01),
    ...[-0.55, 0.35].map((x) => box([x, 0.53, 0], [0.26, 0.04, 0.92], trim, 0.01)),
    ...both((side) => [
      rod([-0.1, 0.6, side * 0.3], [-0.5, 0.3, side * 1.15], 0.022, '#d8b98a wood'),
      ball([-0.55, 0.26, side * 1.25], [0.14, 0.06, 0.34], '#d8b98a wood'),
    ]),
  ]),
  sailboat: thing(
    3.6,
    top(water, 0.18),
    '#f4efe4 glossy, #fbf8f0 cloth, #d8473a cloth',
    (paint, sail, _, __, jib) => [
      ...hull(3, 1, 0.55, paint),
      box([-0.05, 0.54, 0], [2.4, 0.05, 0.85], '#a8763f wood', 0.01),
      box([-0.5, 0.66, 0], [0.8, 0.26, 0.55], paint, 0.08),
      rod([0.15, 0.5, 0], [0.15, 3.7, 0], 0.04, '#8a6038 wood'),
      rod([0.15, 0.95, 0], [-1.35, 0.95, 0], 0.03, '#8a6038 wood'),
      slab('0.1 1, 0.1 3.65, -0.22 3.15, -0.66 2.4, -1.04 1.65, -1.32 1.02', 0.03, sail, [0, 0, 0.02]),
      slab('0.24 3.4, 0.24 0.98, 1.45 0.75, 0.93 1.72', 0.03, jib, [0, 0, 0.02]),
    ],
  ),
  ship: thing(5, top(water, 0.4), '#2c3e58 glossy, #cf3a30', (main, trim) => [
    ...hull(7, 1.8, 1.3, main),
    box([-0.3, 1.6, 0], [4.6, 0.7, 1.35], '#f4f1ea', 0.06),
    box([-0.5, 2.2, 0], [3.4, 0.6, 1.15], '#f4f1ea', 0.06),
    ...[-1.6, -0.4, 0.8].flatMap((x) => [
      post([x, 3, 0], 0.28, 1.2, trim),
      post([x, 3.5, 0], 0.285, 0.25, '#22252a'),
    ]),
    ...Array.from({ length: 12 }, (_, index) =>
      ball([-2.3 + index * 0.37, 1.65, 0.68], [0.16, 0.16, 0.04], '#3a4a5a glossy'),
    ),
    rod([2.2, 1.4, 0], [2.2, 3.2, 0], 0.05, '#8a6038'),
  ]),
  plane: thing(2.6, air, '#eef1f4 glossy, #2f6fc0 glossy', (white, trim) => [
    ball([0, 0.9, 0], [5, 0.78, 0.78], white),
    post([0, 0.9, 0], 0.385, 2.6, white, sideways),
    ...both((side) => [
      box([-0.15, 0.82, side * 1.4], [0.9, 0.07, 2.4], white, 0.03, [0, side * 0.35, 0]),
      post([0.25, 0.62, side * 1.05], 0.17, 0.7, trim, sideways),
      box([-2.1, 1, side * 0.5], [0.45, 0.05, 0.9], white, 0.02, [0, side * 0.3, 0]),
    ]),
    slab('-0.4 0, 0.45 0, -0.15 0.95, -0.5 0.95', 0.07, trim, [-2.05, 1, 0]),
    ...Array.from({ length: 8 }, (_, index) =>
      ball([-1.1 + index * 0.32, 1.02, 0.36], [0.13, 0.13, 0.06], '#2c3a46 glossy'),
    ),
    ball([2.05, 1.05, 0.1], [0.4, 0.18, 0.5], '#2c3a46 glossy'),
  ]),
  rocket: thing(5, land, '#f2f1ec glossy, #d23a2e glossy', (white, red) => [
    turned('0 0, 0.36 0, 0.5 0.5, 0.56 1.2, 0.5 2, 0.36 2.6', white, [0, 0.5, 0]),
    turned('0.365 0, 0.22 0.45, 0 0.85', red, [0, 3.08, 0]),
    ...[0, 1, 2].map((fin) =>
      slab('0.45 1.3, 1.05 0.5, 1.05 0, 0.42 0.6', 0.08, red, straight, [0, fin * 2.094 - 0.5, 0]),
    ),
    ring([0, 2.1, 0.5], 0.2, 0.05, '#c9cdd2 metal', forward),
    ball([0, 2.1, 0.48], [0.4, 0.4, 0.14], '#5fa8d8 glossy'),
    turned('0.34 0, 0.22 0.22', '#4a4d52 metal', [0, 0.3, 0]),
  ]),
  hotairballoon: thing(7, air, '#d8402f cloth, #f3c23c cloth', (main, trim) => [
    ...round(12, (cos, sin, index, angle) =>
      ball([cos * 0.62, 3.3, sin * 0.62], [1.5, 2.9, 0.86], index % 2 === 0 ? main : trim, [0, -angle, 0]),
    ),
    post([0, 1.95, 0], [0.75, 0.36], 0.5, main),
    box([0, 0.32, 0], [0.62, 0.5, 0.62], '#9a6a3c wood', 0.06),
    ...both((x) => both((z) => rod([x * 0.28, 0.55, z * 0.28], [x * 0.3, 1.8, z * 0.3], 0.012, '#5a4a3a'))),
  ]),
  balloon: thing(1.3, air, '#d8402f glossy', (main) => [
    ball([0, 1.25, 0], [0.46, 0.56, 0.46], main),
    post([0, 0.96, 0], [0.012, 0.03], 0.05, main),
    bend('0 0.95 0, 0.05 0.65 0, -0.04 0.35 0, 0 0 0', 0.005, '#f0ece0'),
  ]),
  kite: thing(1, air, '#d8402f cloth, #f3c23c cloth', (main, trim) => [
    slab('0 -0.6, 0.4 0.1, 0 0.5, -0.4 0.1', 0.02, main, [0, 1, 0]),
    slab('0 -0.02, 0 0.5, -0.4 0.1', 0.02, trim, [0, 1, 0.012]),
    slab('0 -0.6, 0.4 0.1, 0 0.1', 0.02, trim, [0, 1, 0.012]),
    bend('0 0.4 0, 0.14 0.22 0, -0.08 0.05 0, 0.08 -0.15 0', 0.012, '#3f7fd8 cloth'),
  ]),
  earth: thing(2.2, air, '#2f6fb0, #5a9450', (sea, soil) => [
    ball([0, 1, 0], 1.6, sea),
    ...round(5, (cos, sin, index) =>
      lump([cos * 0.36, 1.05 + (index % 3) * 0.25 - 0.25, sin * 0.36], [0.98, 0.8, 0.98], 0.2, index, soil),
    ),
  ]),
  planet: thing(2.2, air, '#d99a6c, #e8cfa8', (main, trim) => [
    ball([0, 1, 0], 1.6, main),
    ring([0, 1, 0], 1.2, 0.07, trim, [0.35, 0, 0.3]),
    lump([0, 1, 0], [1.62, 1.58, 1.62], 0.008, 3, shaded(main, -0.08)),
  ]),
};

/** A pair of wheels at each x, at a distance of `aside` from the centre line. */
function wheels(places: readonly number[], radius: number, aside: number, wide: number): Part[] {
  return places.flatMap((x) =>
    both((side) => [
      post([x, radius, side * aside], radius, wide, '#1e1f22', forward),
      post([x, radius, side * aside], radius * 0.62, wide + 0.02, '#c9cdd2 metal', forward),
      post([x, radius, side * aside], radius * 0.2, wide + 0.05, '#6d7278 metal', forward),
    ]),
  );
}

/** A hull made of ribs, one behind the other. */
function hull(long: number, wide: number, high: number, paint: Paint): Part[] {
  const outline = pointsOf<readonly [number, number]>(
    '-0.5 1, -0.42 0.25, -0.3 0, 0.28 0, 0.44 0.4, 0.56 1.12, 0.2 0.96, -0.2 0.94',
  );
  return [1, 0.95, 0.88, 0.8, 0.7, 0.6, 0.48, 0.36, 0.24, 0.12].map((share) => {
    const isKeel = share === 1;
    const rib = outline.map(([x, y]) => {
      const up = y * (isKeel ? 0.98 : 1) + (isKeel ? 0.3 * (1 - y) : 0);
      return [x * long * (1.06 - share * 0.12), up * high] as const;
    });
    return slab(rib, wide * share, paint, [0, high * (1 - share) * 0.06, 0]);
  });
}
