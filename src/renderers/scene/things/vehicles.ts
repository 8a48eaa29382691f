/** What drives, on roads and rails. */
import { ball, box, post, ring, rod, slab, turned, type Part, type Vector } from './parts.ts';
import type { Look } from './look.ts';

const sideways: Vector = [Math.PI / 2, 0, 0];

function wheel([x, y, z]: Vector, radius: number, wide: number, look: Look): Part[] {
  return [
    post([x, y, z], radius, wide, look.own('#1e1f22', 'matt'), sideways),
    post([x, y, z], radius * 0.62, wide + 0.02, look.own('#c9cdd2', 'metal'), sideways),
    post([x, y, z], radius * 0.2, wide + 0.05, look.own('#6d7278', 'metal'), sideways),
  ];
}

/** On its long side, so that it is recognised; its front is on the right. */
export function car(look: Look): Part[] {
  const paint = look.main('#c8372d', 'glossy');
  const pane = look.own('#27323c', 'glossy');
  const cabin = [
    [-1.15, 0.78],
    [1.05, 0.78],
    [0.5, 1.32],
    [-0.7, 1.34],
  ] as const;
  const body = [
    [-2, 0.35],
    [2, 0.33],
    [2.02, 0.62],
    [1.75, 0.78],
    [0.95, 0.88],
    [-1.3, 0.9],
    [-1.95, 0.84],
    [-2.05, 0.6],
  ] as const;
  const glassOutline = [
    [-0.98, 0.84],
    [0.86, 0.84],
    [0.43, 1.25],
    [-0.62, 1.27],
  ] as const;
  return [
    slab([0, 0, 0], body, 1.62, paint),
    slab([0, 0, 0], cabin, 1.36, paint),
    slab([0, 0, 0], glassOutline, 1.4, pane),
    box([-0.06, 1.04, 0], [0.09, 0.5, 1.42], paint, [0, 0, 0], 0.01),
    rod([1.04, 0.86, 0], [0.52, 1.28, 0], 0.02, pane),
    box([0.83, 1.06, 0], [0.03, 0.56, 1.2], pane, [0, 0, 0.88], 0.01),
    ...[-1.25, 1.28].flatMap((x) => [-0.76, 0.76].flatMap((z) => wheel([x, 0.34, z], 0.34, 0.24, look))),
    ...[-1, 1].flatMap((side) => [
      ball([1.96, 0.62, side * 0.56], [0.16, 0.18, 0.3], look.own('#fff6d8', 'glow')),
      ball([-2, 0.68, side * 0.58], [0.1, 0.14, 0.3], look.own('#d0221c', 'glow')),
      box([-0.35, 0.74, side * 0.82], [0.2, 0.035, 0.03], look.own('#d8dce0', 'metal'), [0, 0, 0], 0.01),
    ]),
    box([2.02, 0.4, 0], [0.1, 0.14, 1.5], look.trim('#d4d8dc', 'metal'), [0, 0, 0], 0.04),
    box([-2.03, 0.4, 0], [0.1, 0.14, 1.5], look.trim('#d4d8dc', 'metal'), [0, 0, 0], 0.04),
  ];
}

export function truck(look: Look): Part[] {
  const paint = look.main('#2f6fb0', 'glossy');
  return [
    box([1.75, 1.25, 0], [1.3, 1.6, 1.9], paint, [0, 0, 0], 0.14),
    box([2.32, 1.55, 0], [0.2, 0.7, 1.6], look.own('#27323c', 'glossy'), [0, 0, 0], 0.05),
    ...[-1, 1].map((side) =>
      box([1.85, 1.6, side * 0.93], [0.8, 0.6, 0.06], look.own('#27323c', 'glossy'), [0, 0, 0], 0.02),
    ),
    box([-0.75, 1.65, 0], [3.5, 2.1, 2], look.trim('#f1ede4'), [0, 0, 0], 0.06),
    box([0, 0.52, 0], [4.9, 0.22, 1.5], look.own('#34383d'), [0, 0, 0], 0.04),
    ...[-1.7, -0.8, 1.75].flatMap((x) => [-0.85, 0.85].flatMap((z) => wheel([x, 0.45, z], 0.45, 0.32, look))),
    ...[-1, 1].map((side) => ball([2.4, 0.8, side * 0.65], [0.12, 0.2, 0.28], look.own('#fff6d8', 'glow'))),
  ];
}

export function bus(look: Look): Part[] {
  const pane = look.own('#2c3a46', 'glossy');
  return [
    box([0, 1.3, 0], [5.2, 1.9, 1.9], look.main('#e8b02c', 'glossy'), [0, 0, 0], 0.2),
    box([0, 0.75, 0], [5.22, 0.2, 1.93], look.trim('#f6f2e6', 'glossy'), [0, 0, 0], 0.04),
    ...[-1.9, -0.95, 0, 0.95, 1.9].map((x) => box([x, 1.65, 0], [0.78, 0.68, 1.94], pane, [0, 0, 0], 0.03)),
    box([2.58, 1.55, 0], [0.1, 0.85, 1.6], pane, [0, 0, 0], 0.03),
    ...[-1.6, 1.6].flatMap((x) => [-0.82, 0.82].flatMap((z) => wheel([x, 0.42, z], 0.42, 0.28, look))),
    ...[-1, 1].map((side) => ball([2.6, 0.75, side * 0.65], [0.1, 0.2, 0.24], look.own('#fff6d8', 'glow'))),
  ];
}

export function train(look: Look): Part[] {
  const paint = look.main('#2f6b4a', 'glossy');
  const black = look.own('#26282c', 'metal');
  return [
    post([0.5, 1.35, 0], 0.62, 2.6, paint, [0, 0, Math.PI / 2]),
    post([1.82, 1.35, 0], 0.64, 0.12, black, [0, 0, Math.PI / 2]),
    box([-1.3, 1.6, 0], [1.3, 1.9, 1.5], paint, [0, 0, 0], 0.06),
    box([-1.3, 2.6, 0], [1.6, 0.12, 1.75], look.trim('#b5342c', 'glossy'), [0, 0, 0], 0.05),
    ...[-1, 1].map((side) =>
      box([-1.3, 1.95, side * 0.74], [0.75, 0.6, 0.06], look.own('#8fb8cc', 'glossy'), [0, 0, 0], 0.03),
    ),
    turned([1.3, 1.9, 0], '0.16 0, 0.16 0.6, 0.28 0.85, 0.24 0.9', black),
    ball([0.4, 1.98, 0], [0.36, 0.4, 0.36], look.own('#d8a83a', 'metal')),
    box([0, 0.66, 0], [4, 0.2, 1.3], look.trim('#b5342c', 'glossy'), [0, 0, 0], 0.04),
    ...[-1.4, -0.4, 0.5, 1.35].flatMap((x) =>
      [-0.68, 0.68].flatMap((z) => [
        post([x, 0.42, z], 0.42, 0.14, black, sideways),
        post([x, 0.42, z], 0.26, 0.18, look.trim('#b5342c', 'glossy'), sideways),
      ]),
    ),
    rod([-1.4, 0.42, 0.8], [1.35, 0.42, 0.8], 0.05, look.own('#c9cdd2', 'metal')),
    ball([1.95, 1.6, 0], [0.16, 0.3, 0.3], look.own('#fff2c0', 'glow')),
    post([2.05, 0.35, 0], [0.1, 0.6], 0.5, look.own('#3a3d42', 'metal'), [0, 0, 0], 4),
    ...[-1, 1].map((side) =>
      box([0, 0.03, side * 0.68], [5.4, 0.06, 0.08], look.own('#8a8d92', 'metal'), [0, 0, 0], 0.01),
    ),
  ];
}

export function bicycle(look: Look): Part[] {
  const paint = look.main('#2f8a8f', 'glossy');
  const black = look.own('#24262a');
  const [rear, front, seat, crank, head]: [Vector, Vector, Vector, Vector, Vector] = [
    [-0.5, 0.34, 0],
    [0.52, 0.34, 0],
    [-0.2, 0.82, 0],
    [-0.05, 0.32, 0],
    [0.36, 0.84, 0],
  ];
  return [
    ...[rear, front].flatMap((at) => [
      ring(at, 0.32, 0.022, black, sideways),
      ...[0, 1, 2, 3, 4, 5].map((spoke) =>
        rod(
          at,
          [at[0] + Math.cos(spoke * 1.05) * 0.31, at[1] + Math.sin(spoke * 1.05) * 0.31, 0],
          0.003,
          look.own('#c9cdd2', 'metal'),
        ),
      ),
    ]),
    rod(rear, crank, 0.016, paint),
    rod(rear, seat, 0.014, paint),
    rod(crank, seat, 0.018, paint),
    rod(crank, head, 0.02, paint),
    rod(seat, head, 0.018, paint),
    rod(front, [0.33, 0.98, 0], 0.018, paint),
    rod([0.33, 0.98, -0.24], [0.33, 0.98, 0.24], 0.014, look.own('#c9cdd2', 'metal')),
    rod(seat, [-0.23, 0.92, 0], 0.014, black),
    box([-0.23, 0.94, 0], [0.24, 0.05, 0.13], look.trim('#6a4630', 'cloth'), [0, 0, 0], 0.025),
    post([-0.05, 0.32, 0], 0.09, 0.03, look.own('#c9cdd2', 'metal'), sideways),
  ];
}
