/** Goods: books, hats, signs, instruments. */
import type { Look } from './look.ts';
import { ball, bend, box, lump, post, ring, rod, slab, turned, type Part } from './parts.ts';

export function book(look: Look): Part[] {
  const cover = look.main('#3a5f9a', 'cloth');
  return [
    box([0, 0.003, 0], [0.16, 0.006, 0.23], cover, [0, 0, 0], 0.002),
    box([0.002, 0.02, 0], [0.15, 0.028, 0.218], look.own('#f2ead8'), [0, 0, 0], 0.002),
    box([0, 0.037, 0], [0.16, 0.006, 0.23], cover, [0, 0, 0], 0.002),
    box([-0.078, 0.02, 0], [0.008, 0.04, 0.23], cover, [0, 0, 0], 0.004),
    box([0.01, 0.0408, -0.03], [0.09, 0.002, 0.05], look.trim('#e2b34a', 'metal'), [0, 0, 0], 0.001),
  ];
}

export function laptop(look: Look): Part[] {
  const shell = look.main('#c3c8ce', 'metal');
  return [
    box([0, 0.01, 0.02], [0.34, 0.018, 0.24], shell, [0, 0, 0], 0.008),
    box([0, 0.0195, 0.0], [0.29, 0.003, 0.11], look.own('#2a2d32'), [0, 0, 0], 0.002),
    box([0, 0.125, -0.13], [0.34, 0.23, 0.012], shell, [-0.25, 0, 0], 0.006),
    box([0, 0.126, -0.123], [0.31, 0.2, 0.006], look.own('#4f9ad8', 'glow'), [-0.25, 0, 0], 0.003),
  ];
}

export function hat(look: Look): Part[] {
  return [
    turned(
      [0, 0, 0],
      '0 0.005, 0.2 0, 0.2 0.012, 0.125 0.016, 0.12 0.1, 0.13 0.2, 0 0.2',
      look.main('#26262b', 'cloth'),
    ),
    turned([0, 0.018, 0], '0.127 0, 0.124 0.035', look.trim('#b5342c', 'cloth')),
  ];
}

export function umbrella(look: Look): Part[] {
  const [one, other] = [look.main('#cf3a30', 'cloth'), look.trim('#f4ecd8', 'cloth')];
  return [
    turned([0, 1.55, 0], '0 0.5, 0.3 0.44, 0.62 0.26, 0.85 0, 0.83 0.01, 0.6 0.24, 0 0.46', one),
    turned([0, 1.556, 0], '0.6 0.28, 0.64 0.255, 0.86 0', other),
    rod([0, 0.12, 0], [0, 2.12, 0], 0.018, look.own('#7a5a3a', 'wood')),
    bend('0 0.14 0, 0.01 0.05 0, 0.07 0.03 0, 0.11 0.08 0', 0.02, look.own('#7a5a3a', 'wood')),
  ];
}

export function sign(look: Look): Part[] {
  const wood = look.main('#b98a52', 'wood');
  return [
    post([0, 0.75, 0], 0.06, 1.5, look.own('#7a5a3a', 'wood')),
    box([0, 1.3, 0.06], [1.3, 0.6, 0.07], wood, [0, 0, 0], 0.03),
    ...[1.4, 1.22].map((y, index) =>
      box([0, y, 0.1], [0.9 - index * 0.25, 0.05, 0.01], look.trim('#4a3320'), [0, 0, 0], 0.004),
    ),
  ];
}

export function stopSign(look: Look): Part[] {
  return [
    post([0, 1.05, 0], 0.035, 2.1, look.own('#a8adb2', 'metal')),
    post([0, 1.95, 0.05], 0.43, 0.03, look.own('#f6f4ee'), [Math.PI / 2, Math.PI / 8, 0], 8),
    post([0, 1.95, 0.06], 0.39, 0.03, look.main('#c8241e', 'glossy'), [Math.PI / 2, Math.PI / 8, 0], 8),
    box([0, 1.95, 0.08], [0.5, 0.12, 0.01], look.own('#f6f4ee'), [0, 0, 0], 0.004),
  ];
}

export function present(look: Look): Part[] {
  const [paper, ribbon] = [look.main('#3f7fb8', 'glossy'), look.trim('#d8342c', 'glossy')];
  return [
    box([0, 0.25, 0], [0.6, 0.5, 0.6], paper, [0, 0, 0], 0.02),
    box([0, 0.49, 0], [0.65, 0.1, 0.65], paper, [0, 0, 0], 0.02),
    box([0, 0.27, 0], [0.1, 0.545, 0.66], ribbon, [0, 0, 0], 0.01),
    box([0, 0.27, 0], [0.66, 0.545, 0.1], ribbon, [0, 0, 0], 0.01),
    ...[-1, 1].map((side) => ring([side * 0.11, 0.61, 0], 0.09, 0.03, ribbon, [Math.PI / 2, 0, side * 0.5])),
    ball([0, 0.58, 0], 0.09, ribbon),
  ];
}

export function guitar(look: Look): Part[] {
  const wood = look.main('#c47a35', 'glossy');
  const dark = look.trim('#3a2416', 'wood');
  return [
    post([0, 0.24, 0], 0.23, 0.1, wood, [Math.PI / 2, 0, 0], 48),
    post([0, 0.52, 0], 0.17, 0.1, wood, [Math.PI / 2, 0, 0], 48),
    box([0, 0.4, 0], [0.28, 0.2, 0.1], wood, [0, 0, 0], 0.03),
    post([0, 0.45, 0.052], 0.06, 0.01, look.own('#1c120c'), [Math.PI / 2, 0, 0]),
    box([0, 0.85, 0.045], [0.06, 0.62, 0.03], dark, [0, 0, 0], 0.01),
    box([0, 1.2, 0.03], [0.1, 0.17, 0.03], dark, [0, 0, 0], 0.015),
    box([0, 0.2, 0.056], [0.16, 0.03, 0.02], dark, [0, 0, 0], 0.006),
    ...[-0.02, -0.007, 0.007, 0.02].map((x) =>
      rod([x, 0.2, 0.068], [x, 1.2, 0.064], 0.0015, look.own('#e8e4da', 'metal')),
    ),
    ...[-1, 1].flatMap((side) =>
      [1.15, 1.2, 1.25].map((y) => ball([side * 0.065, y, 0.03], 0.026, look.own('#d8d4c8', 'metal'))),
    ),
  ];
}

export function hydrant(look: Look): Part[] {
  const paint = look.main('#d2352b', 'glossy');
  const cap = look.trim('#e8c24a', 'metal');
  return [
    turned(
      [0, 0, 0],
      '0 0, 0.19 0, 0.19 0.05, 0.13 0.07, 0.13 0.5, 0.17 0.52, 0.17 0.57, 0.12 0.66, 0.04 0.72, 0.04 0.77, 0 0.77',
      paint,
    ),
    post([0, 0.38, 0], 0.06, 0.42, paint, [0, 0, Math.PI / 2]),
    ...[-1, 1].map((side) => post([side * 0.22, 0.38, 0], 0.075, 0.05, cap, [0, 0, Math.PI / 2], 6)),
    post([0, 0.36, 0.15], 0.08, 0.12, paint, [Math.PI / 2, 0, 0]),
    post([0, 0.36, 0.22], 0.1, 0.05, cap, [Math.PI / 2, 0, 0], 6),
  ];
}

export function barrel(look: Look): Part[] {
  const hoop = look.trim('#4a4d52', 'metal');
  return [
    turned(
      [0, 0, 0],
      '0 0, 0.27 0, 0.34 0.25, 0.36 0.45, 0.34 0.65, 0.27 0.9, 0.25 0.9, 0.25 0.87, 0 0.87',
      look.main('#9a6636', 'wood'),
    ),
    ...[
      [0.12, 0.31],
      [0.32, 0.352],
      [0.58, 0.352],
      [0.78, 0.31],
    ].map(([y = 0, radius = 0]) => ring([0, y, 0], radius, 0.016, hoop)),
  ];
}

export function bucket(look: Look): Part[] {
  return [
    turned([0, 0, 0], '0 0, 0.13 0, 0.18 0.3, 0.17 0.3, 0.125 0.02, 0 0.02', look.main('#8fa3b0', 'metal')),
    ring([0, 0.3, 0], 0.178, 0.008, look.trim('#6a7a85', 'metal')),
    bend(
      '-0.18 0.29 0, -0.14 0.4 0.05, 0 0.45 0.08, 0.14 0.4 0.05, 0.18 0.29 0',
      0.007,
      look.trim('#6a7a85', 'metal'),
    ),
  ];
}

export function kite(look: Look): Part[] {
  return [
    slab([0, 1, 0], '0 -0.6, 0.4 0.1, 0 0.5, -0.4 0.1', 0.02, look.main('#d8402f', 'cloth')),
    slab([0, 1, 0.012], '0 -0.6, 0 0.5, -0.4 0.1', 0.02, look.trim('#f3c23c', 'cloth')),
    bend('0 0.4 0, 0.14 0.22 0, -0.08 0.05 0, 0.08 -0.15 0', 0.012, look.own('#3f7fd8', 'cloth')),
  ];
}

export function planet(look: Look): Part[] {
  return [
    ball([0, 1, 0], 1.6, look.main('#d99a6c')),
    ring([0, 1, 0], 1.2, 0.07, look.trim('#e8cfa8'), [0.35, 0, 0.3]),
    lump([0, 1, 0], [1.62, 1.58, 1.62], 0.008, 3, look.main('#c98a5c')),
  ];
}
