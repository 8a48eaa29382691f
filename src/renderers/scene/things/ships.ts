/** What swims with people in it: boats and ships. */
import type { Look } from './look.ts';
import { ball, box, post, rod, slab, type Paint, type Part } from './parts.ts';

/** A hull as ribs laid one behind the other. */
function hull(long: number, wide: number, high: number, paint: Paint): Part[] {
  const outline = [
    [-long / 2, high],
    [-long * 0.42, high * 0.25],
    [-long * 0.3, 0],
    [long * 0.28, 0],
    [long * 0.44, high * 0.4],
    [long * 0.56, high * 1.12],
    [long * 0.2, high * 0.96],
    [-long * 0.2, high * 0.94],
  ] as const;
  return [1, 0.86, 0.62, 0.3].map((share) =>
    slab(
      [0, high * (1 - share) * 0.06, 0],
      outline.map(
        ([x, y]) =>
          [
            x * (1.06 - share * 0.12),
            y * (share < 1 ? 1 : 0.98) + (share === 1 ? high * 0.3 * (1 - y / high) : 0),
          ] as const,
      ),
      wide * share,
      paint,
    ),
  );
}

export function boat(look: Look): Part[] {
  const wood = look.main('#a5652f', 'wood');
  return [
    ...hull(2.6, 1, 0.5, wood),
    box([0.02, 0.49, 0], [2.2, 0.03, 0.8], look.own('#4f3320', 'wood'), [0, 0, 0], 0.01),
    ...[-0.55, 0.35].map((x) =>
      box([x, 0.53, 0], [0.26, 0.04, 0.92], look.trim('#e8d8b8', 'wood'), [0, 0, 0], 0.01),
    ),
    ...[-1, 1].flatMap((side) => [
      rod([-0.1, 0.6, side * 0.3], [-0.5, 0.3, side * 1.15], 0.022, look.own('#d8b98a', 'wood')),
      ball([-0.55, 0.26, side * 1.25], [0.14, 0.06, 0.34], look.own('#d8b98a', 'wood')),
    ]),
  ];
}

export function sailboat(look: Look): Part[] {
  return [
    ...hull(3, 1, 0.55, look.main('#f4efe4', 'glossy')),
    box([-0.05, 0.54, 0], [2.4, 0.05, 0.85], look.own('#a8763f', 'wood'), [0, 0, 0], 0.01),
    box([-0.5, 0.66, 0], [0.8, 0.26, 0.55], look.main('#f4efe4', 'glossy'), [0, 0, 0], 0.08),
    rod([0.15, 0.5, 0], [0.15, 3.7, 0], 0.04, look.own('#8a6038', 'wood')),
    rod([0.15, 0.95, 0], [-1.35, 0.95, 0], 0.03, look.own('#8a6038', 'wood')),
    slab([0, 0, 0.02], '0.1 1, 0.1 3.6, -0.35 2.4, -1.3 1.02', 0.03, look.trim('#fbf8f0', 'cloth')),
    slab([0, 0, 0.02], '0.22 3.3, 0.22 0.95, 1.42 0.7, 0.7 1.6', 0.03, look.trim('#d8473a', 'cloth')),
  ];
}

export function ship(look: Look): Part[] {
  return [
    ...hull(7, 1.8, 1.3, look.main('#2c3e58', 'glossy')),
    box([-0.3, 1.6, 0], [4.6, 0.7, 1.35], look.own('#f4f1ea'), [0, 0, 0], 0.06),
    box([-0.5, 2.2, 0], [3.4, 0.6, 1.15], look.own('#f4f1ea'), [0, 0, 0], 0.06),
    ...[-1.6, -0.4, 0.8].flatMap((x) => [
      post([x, 3, 0], 0.28, 1.2, look.trim('#cf3a30')),
      post([x, 3.5, 0], 0.285, 0.25, look.own('#22252a')),
    ]),
    ...Array.from({ length: 12 }, (_, index) =>
      ball([-2.3 + index * 0.37, 1.65, 0.68], [0.16, 0.16, 0.04], look.own('#3a4a5a', 'glossy')),
    ),
    rod([2.2, 1.4, 0], [2.2, 3.2, 0], 0.05, look.own('#8a6038')),
  ];
}
