/** What flies and what floats: planes, rockets, balloons, boats and ships. */
import type { Look } from './look.ts';
import { ball, bend, box, post, ring, rod, slab, turned, type Paint, type Part } from './parts.ts';

export function plane(look: Look): Part[] {
  const white = look.main('#eef1f4', 'glossy');
  const trim = look.trim('#2f6fc0', 'glossy');
  return [
    ball([0, 0.9, 0], [5, 0.78, 0.78], white),
    post([0, 0.9, 0], 0.385, 2.6, white, [0, 0, Math.PI / 2]),
    ...[-1, 1].flatMap((side) => [
      box([-0.15, 0.82, side * 1.4], [0.9, 0.07, 2.4], white, [0, side * 0.35, 0], 0.03),
      post([0.25, 0.62, side * 1.05], 0.17, 0.7, trim, [0, 0, Math.PI / 2]),
      box([-2.1, 1, side * 0.5], [0.45, 0.05, 0.9], white, [0, side * 0.3, 0], 0.02),
    ]),
    slab([-2.05, 1, 0], '-0.4 0, 0.45 0, -0.15 0.95, -0.5 0.95', 0.07, trim),
    ...Array.from({ length: 8 }, (_, index) =>
      ball([-1.1 + index * 0.32, 1.02, 0.36], [0.13, 0.13, 0.06], look.own('#2c3a46', 'glossy')),
    ),
    ball([2.05, 1.05, 0.1], [0.4, 0.18, 0.5], look.own('#2c3a46', 'glossy')),
  ];
}

export function rocket(look: Look): Part[] {
  const [white, red] = [look.main('#f2f1ec', 'glossy'), look.trim('#d23a2e', 'glossy')];
  return [
    turned([0, 0.5, 0], '0 0, 0.36 0, 0.5 0.5, 0.56 1.2, 0.5 2, 0.36 2.6', white),
    turned([0, 3.08, 0], '0.365 0, 0.22 0.45, 0 0.85', red),
    ...[0, 1, 2].map((index) =>
      slab([0, 0, 0], '0.45 1.3, 1.05 0.5, 1.05 0, 0.42 0.6', 0.08, red, [0, index * 2.094 - 0.5, 0]),
    ),
    ring([0, 2.1, 0.5], 0.2, 0.05, look.own('#c9cdd2', 'metal'), [Math.PI / 2, 0, 0]),
    ball([0, 2.1, 0.48], [0.4, 0.4, 0.14], look.own('#5fa8d8', 'glossy')),
    turned([0, 0.3, 0], '0.34 0, 0.22 0.22', look.own('#4a4d52', 'metal')),
  ];
}

export function hotAirBalloon(look: Look): Part[] {
  const colours = [look.main('#d8402f', 'cloth'), look.trim('#f3c23c', 'cloth')] as const;
  const stripes = Array.from({ length: 12 }, (_, index): Part => {
    const angle = (index / 12) * Math.PI * 2;
    return ball(
      [Math.cos(angle) * 0.62, 3.3, Math.sin(angle) * 0.62],
      [1.5, 2.9, 0.86],
      colours[index % 2 === 0 ? 0 : 1],
      [0, -angle, 0],
    );
  });
  return [
    ...stripes,
    post([0, 1.95, 0], [0.75, 0.36], 0.5, colours[0]),
    box([0, 0.32, 0], [0.62, 0.5, 0.62], look.own('#9a6a3c', 'wood'), [0, 0, 0], 0.06),
    ...[-1, 1].flatMap((x) =>
      [-1, 1].map((z) =>
        rod([x * 0.28, 0.55, z * 0.28], [x * 0.3, 1.8, z * 0.3], 0.012, look.own('#5a4a3a')),
      ),
    ),
  ];
}

export function toyBalloon(look: Look): Part[] {
  return [
    ball([0, 1.25, 0], [0.46, 0.56, 0.46], look.main('#d8402f', 'glossy')),
    post([0, 0.96, 0], [0.012, 0.03], 0.05, look.main('#d8402f', 'glossy')),
    bend('0 0.95 0, 0.05 0.65 0, -0.04 0.35 0, 0 0 0', 0.005, look.own('#f0ece0')),
  ];
}

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
