/** Balls, cubes and other plain forms; books, hats, signs, instruments; and sports equipment. */
import type { Vector } from '../vector.ts';
import { inkOn, inscription } from './letters.ts';
import {
  ball,
  bend,
  both,
  box,
  forward,
  type Paint,
  type Part,
  post,
  ring,
  rod,
  shaded,
  sideways,
  slab,
  straight,
  turned,
} from './parts.ts';
import { land, table, thing, top } from './thing.ts';

const shirtCut =
  '-0.2 0, 0.2 0, 0.19 0.4, 0.28 0.28, 0.38 0.36, 0.22 0.6, 0.08 0.62, 0 0.55, -0.08 0.62, -0.22 0.6, -0.38 0.36, -0.28 0.28, -0.19 0.4';
const halfDisc =
  '0 0.98, -0.12 0.96, -0.24 0.92, -0.34 0.84, -0.42 0.74, -0.46 0.62, -0.48 0.50, -0.46 0.38, -0.42 0.26, -0.34 0.16, -0.24 0.08, -0.12 0.04, 0 0.02';
const golden = (1 + Math.sqrt(5)) / 2;

export const goods = {
  ball: thing(0.28, table, '#d8402f plastic', (main) => [ball([0, 0.5, 0], 1, main)]),
  cube: thing(0.3, table, '#c8463a plastic', (main) => [box([0, 0.5, 0], [1, 1, 1], main, 0.045)]),
  cone: thing(0.4, top(table, 1, 0.2), '#e8932c plastic', (main) => [
    post([0, 0.6, 0], [0.005, 0.5], 1.2, main, straight, 64),
  ]),
  solidpyramid: thing(0.34, top(table, 1, 0.2), '#d9a13a plastic', (main) => [
    post([0, 0.5, 0], [0.005, 0.71], 1, main, [0, Math.PI / 4, 0], 4),
  ]),
  ring: thing(0.35, table, '#d87aa0 plastic', (main) => [ring([0, 0.6, 0], 0.42, 0.18, main, forward)]),
  circle: thing(0.3, table, '#e0a23a plastic', (main) => [post([0, 0.5, 0], 0.5, 0.2, main, forward, 64)]),
  triangle: thing(0.3, table, '#4f9a6a plastic', (main) => [slab('-0.55 0, 0.55 0, 0 0.95', 0.3, main)]),
  heart: thing(0.35, table, '#d8283c glossy', (main) => [slab(heartOutline(), 0.34, main)]),
  baseball: thing(0.24, table, '#f4f1e8, #c4372c', (main, seam) => [
    ball([0, 0.5, 0], 1, main),
    ...both((side) => ring([side * 0.3, 0.5, 0], 0.4, 0.012, seam, sideways)),
  ]),
  tennisball: thing(0.22, table, '#cfe23c cloth, #f6f7ea', (main, seam) => [
    ball([0, 0.5, 0], 1, main),
    ...both((side) => ring([side * 0.28, 0.5, 0], 0.412, 0.018, seam, sideways)),
  ]),
  basketball: thing(0.26, table, '#e07a2c plastic, #2a1c14', (main, line) => [
    ball([0, 0.5, 0], 1, main),
    ring([0, 0.5, 0], 0.494, 0.014, line),
    ring([0, 0.5, 0], 0.494, 0.014, line, forward),
    ring([0, 0.5, 0], 0.494, 0.014, line, sideways),
  ]),
  football: thing(0.24, table, '#f6f5f0 plastic, #1f2124 plastic', (main, trim) => [
    ball([0, 0.5, 0], 1, main),
    ...both((one) => both((other) => patchesAt(one, other * golden, trim))),
  ]),
  book: thing(0.06, table, '#3a5f9a cloth, #e2b34a metal', (cover, trim) => [
    box([0, 0.003, 0], [0.16, 0.006, 0.23], cover, 0.002),
    box([0.002, 0.02, 0], [0.15, 0.028, 0.218], '#f2ead8', 0.002),
    box([0, 0.037, 0], [0.16, 0.006, 0.23], cover, 0.002),
    box([-0.078, 0.02, 0], [0.008, 0.04, 0.23], cover, 0.004),
    box([0.01, 0.0408, -0.03], [0.09, 0.002, 0.05], trim, 0.001),
  ]),
  laptop: thing(0.26, table, '#c3c8ce metal', (shell) => [
    box([0, 0.01, 0.02], [0.34, 0.018, 0.24], shell, 0.008),
    box([0, 0.0195, 0.0], [0.29, 0.003, 0.11], '#2a2d32', 0.002),
    box([0, 0.125, -0.13], [0.34, 0.23, 0.012], shell, 0.006, [-0.25, 0, 0]),
    box([0, 0.126, -0.123], [0.31, 0.2, 0.006], '#4f9ad8 glow', 0.003, [-0.25, 0, 0]),
  ]),
  hat: thing(0.2, table, '#26262b cloth, #b5342c cloth', (main, trim) => [
    turned('0 0.005, 0.2 0, 0.2 0.012, 0.125 0.016, 0.12 0.1, 0.13 0.2, 0 0.2', main),
    turned('0.127 0, 0.124 0.035', trim, [0, 0.018, 0]),
  ]),
  umbrella: thing(1.9, land, '#cf3a30 cloth, #f4ecd8 cloth', (one, other) => [
    turned('0 0.5, 0.3 0.44, 0.62 0.26, 0.85 0, 0.83 0.01, 0.6 0.24, 0 0.46', one, [0, 1.55, 0]),
    turned('0.765 0.11, 0.8 0.072, 0.865 0', other, [0, 1.556, 0]),
    rod([0, 0.12, 0], [0, 2.12, 0], 0.018, '#7a5a3a wood'),
    bend('0 0.14 0, 0.01 0.05 0, 0.07 0.03 0, 0.11 0.08 0', 0.02, '#7a5a3a wood'),
  ]),
  sign: thing(1.6, land, '#b98a52 wood, #4a3320', (wood, trim, _, { text }) => [
    post([0, 0.75, 0], 0.06, 1.5, '#7a5a3a wood'),
    box([0, 1.3, 0.06], [1.3, 0.6, 0.07], wood, 0.03),
    ...(text === ''
      ? [1.4, 1.22].map((y, index) => box([0, y, 0.1], [0.9 - index * 0.25, 0.05, 0.01], trim, 0.004))
      : inscription(text, [0, 1.3], 0.1, [1.16, 0.46], inkOn(wood))),
  ]),
  flag: thing(2.2, land, '#d0392e cloth', (main) => [
    rod([0, 0, 0], [0, 2.2, 0], 0.03, '#a8adb2 metal'),
    slab('0 2.15, 0.4 2.2, 0.7 2.1, 1.05 2.15, 1.05 1.45, 0.7 1.4, 0.4 1.5, 0 1.45', 0.03, main),
  ]),
  map: thing(0.8, land, '#efe2c0, #5f9a5a', (paper, soil) => [
    box([0, 0.42, 0], [1.2, 0.8, 0.03], paper, 0.01),
    slab('-0.5 0.5, -0.2 0.72, 0.1 0.66, 0.06 0.44, -0.14 0.34, -0.24 0.14, -0.36 0.34', 0.05, soil),
    slab('0.2 0.3, 0.34 0.66, 0.52 0.54, 0.46 0.24, 0.32 0.12', 0.05, soil),
  ]),
  stopsign: thing(2.2, land, '#c8241e glossy', (main) => [
    post([0, 1.05, 0], 0.035, 2.1, '#a8adb2 metal'),
    post([0, 1.95, 0.05], 0.43, 0.03, '#f6f4ee', [Math.PI / 2, Math.PI / 8, 0], 8),
    post([0, 1.95, 0.06], 0.39, 0.03, main, [Math.PI / 2, Math.PI / 8, 0], 8),
    ...inscription('stop', [0, 1.95], 0.08, [0.6, 0.2], '#f6f4ee'),
  ]),
  trafficlight: thing(2.4, land, '#2f353b, #8a9198 metal', (main, pole) => [
    post([0, 0.7, 0], 0.06, 1.4, pole),
    post([0, 0.03, 0], 0.2, 0.06, pole),
    box([0, 1.95, 0], [0.48, 1.24, 0.34], main, 0.06),
    ...['#3fc56a', '#f8c03a', '#f03a2c'].flatMap((light, index) => [
      ball([0, 1.58 + index * 0.37, 0.17], [0.29, 0.29, 0.1], `${light} glow`),
      box([0, 1.75 + index * 0.37, 0.24], [0.32, 0.03, 0.18], main, 0.015, [0.15, 0, 0]),
    ]),
  ]),
  parkingmeter: thing(1.4, land, '#6f7f8f metal, #eef2f4 glossy', (main, face) => [
    post([0, 0.5, 0], 0.045, 1, main),
    post([0, 0.03, 0], [0.08, 0.14], 0.06, main),
    box([0, 1.18, 0], [0.34, 0.38, 0.2], main, 0.05),
    post([0, 1.36, 0], 0.17, 0.19, main, forward),
    post([0, 1.37, 0.09], 0.125, 0.03, face, forward),
    rod([0, 1.32, 0.11], [0.06, 1.43, 0.11], 0.01, '#d0342c'),
    box([0, 1.12, 0.1], [0.16, 0.16, 0.02], '#26292e glossy', 0.01),
    box([0, 1.12, 0.112], [0.02, 0.09, 0.01], '#c3c8ce metal', 0.003),
  ]),
  present: thing(0.4, table, '#3f7fb8 glossy, #d8342c glossy', (paper, ribbon) => [
    box([0, 0.25, 0], [0.6, 0.5, 0.6], paper, 0.02),
    box([0, 0.49, 0], [0.65, 0.1, 0.65], paper, 0.02),
    box([0, 0.27, 0], [0.1, 0.545, 0.66], ribbon, 0.01),
    box([0, 0.27, 0], [0.66, 0.545, 0.1], ribbon, 0.01),
    ...both((side) => ring([side * 0.11, 0.61, 0], 0.09, 0.03, ribbon, [Math.PI / 2, 0, side * 0.5])),
    ball([0, 0.58, 0], 0.09, ribbon),
  ]),
  microphone: thing(0.26, table, '#33373d', (main) => [
    post([0, 0.1, 0], [0.034, 0.024], 0.2, main),
    ball([0, 0.23, 0], 0.09, '#a8adb2 metal'),
    ring([0, 0.205, 0], 0.042, 0.01, main),
  ]),
  sword: thing(1.1, land, '#c9ced4 metal, #b08a3a metal', (blade, hilt) => [
    slab('-0.04 0.3, 0.04 0.3, 0.035 1, 0 1.1, -0.035 1', 0.02, blade),
    box([0, 0.29, 0], [0.3, 0.04, 0.06], hilt, 0.015),
    rod([0, 0.06, 0], [0, 0.28, 0], 0.024, '#4a3020 cloth'),
    ball([0, 0.045, 0], 0.08, hilt),
  ]),
  cane: thing(1, land, '#6a4428 wood', (wood) => [
    bend('0 0 0, 0 0.45 0, 0 0.86 0, 0.05 0.97 0, 0.13 0.97 0, 0.17 0.88 0', 0.024, wood),
  ]),
  piano: thing(1.25, land, '#26262b glossy', (main) => [
    box([0, 0.62, -0.16], [1.5, 1.24, 0.34], main, 0.02),
    box([0, 0.66, 0.14], [1.5, 0.14, 0.36], main, 0.02),
    box([0, 0.738, 0.18], [1.36, 0.03, 0.24], '#f6f3ea glossy', 0.005),
    ...Array.from({ length: 18 }, (_, key) =>
      box([key * 0.072 - 0.61, 0.76, 0.13], [0.03, 0.03, 0.14], main, 0.004),
    ),
    ...both((side) => box([side * 0.7, 0.3, 0.26], [0.08, 0.6, 0.08], main, 0.01)),
  ]),
  shirt: thing(0.6, table, '#3f6fb4|#c9503c|#4d8a63 cloth', (main, _, __, { text }) => [
    slab(shirtCut, 0.12, main),
    ...inscription(text, [0, 0.34], 0.065, [0.33, 0.2], inkOn(main)),
  ]),
  shoe: thing(0.16, table, '#7a4a2c glossy, #f0ece2', (main, sole) => [
    ball([0.05, 0.055, 0], [0.26, 0.1, 0.12], main),
    ball([-0.055, 0.085, 0], [0.13, 0.15, 0.11], main),
    ball([-0.05, 0.14, 0], [0.09, 0.05, 0.08], '#2a1c14 cloth'),
    ball([0.03, 0.018, 0], [0.3, 0.04, 0.13], sole),
  ]),
  bowtie: thing(0.1, table, '#b5342c cloth', (main) => [
    slab('0 0.065, 0.12 0.1, 0.12 0, 0 0.035, -0.12 0, -0.12 0.1', 0.03, main),
    ball([0, 0.05, 0.01], [0.045, 0.05, 0.04], shaded(main, -0.2)),
  ]),
  yinyang: thing(0.4, table, '#f6f4ee', (main) => [
    post([0, 0.5, 0], 0.5, 0.1, main, forward, 64),
    slab(halfDisc, 0.12, '#1d1d20'),
    post([0, 0.74, 0.01], 0.24, 0.12, '#1d1d20', forward, 64),
    post([0, 0.26, 0.015], 0.24, 0.12, main, forward, 64),
    post([0, 0.74, 0.02], 0.07, 0.12, main, forward),
    post([0, 0.26, 0.02], 0.07, 0.13, '#1d1d20', forward),
  ]),
  sunglasses: thing(0.1, table, '#1d1d20 glossy', (main) => [
    ...both((side) => ball([side * 0.065, 0.05, 0], [0.115, 0.09, 0.02], main)),
    rod([-0.12, 0.085, 0], [0.12, 0.085, 0], 0.008, main),
    ...both((side) => rod([side * 0.12, 0.08, 0], [side * 0.125, 0.07, -0.13], 0.006, main)),
  ]),
  guitar: thing(1.1, land, '#c47a35 glossy, #3a2416 wood', (wood, dark) => [
    post([0, 0.24, 0], 0.23, 0.1, wood, forward, 48),
    post([0, 0.52, 0], 0.17, 0.1, wood, forward, 48),
    box([0, 0.4, 0], [0.28, 0.2, 0.1], wood, 0.03),
    post([0, 0.45, 0.052], 0.06, 0.01, '#1c120c', forward),
    box([0, 0.85, 0.045], [0.06, 0.62, 0.03], dark, 0.01),
    box([0, 1.2, 0.03], [0.1, 0.17, 0.03], dark, 0.015),
    box([0, 0.2, 0.056], [0.16, 0.03, 0.02], dark, 0.006),
    ...both((side) => [1.15, 1.2, 1.25].map((y) => ball([side * 0.065, y, 0.03], 0.026, '#d8d4c8 metal'))),
  ]),
  hydrant: thing(0.8, land, '#d2352b glossy, #e8c24a metal', (paint, cap) => [
    turned(
      '0 0, 0.19 0, 0.19 0.05, 0.13 0.07, 0.13 0.5, 0.17 0.52, 0.17 0.57, 0.11 0.67, 0.04 0.74, 0 0.74',
      paint,
    ),
    post([0, 0.38, 0], 0.06, 0.42, paint, sideways),
    ...both((side) => post([side * 0.22, 0.38, 0], 0.075, 0.05, cap, sideways, 6)),
    post([0, 0.36, 0.15], 0.08, 0.12, paint, forward),
    post([0, 0.36, 0.22], 0.1, 0.05, cap, forward, 6),
  ]),
  bucket: thing(0.4, land, '#8fa3b0 metal, #6a7a85 metal', (main, trim) => [
    turned('0 0, 0.13 0, 0.18 0.3, 0.17 0.3, 0.125 0.02, 0 0.02', main),
    ring([0, 0.3, 0], 0.178, 0.008, trim),
    bend('-0.18 0.29 0, -0.14 0.4 0.05, 0 0.45 0.08, 0.14 0.4 0.05, 0.18 0.29 0', 0.007, trim),
  ]),
};

function heartOutline(): readonly (readonly [number, number])[] {
  const outline = Array.from({ length: 48 }, (_, index) => {
    const t = (index / 48) * Math.PI * 2;
    const y = 13 * Math.cos(t) - 5 * Math.cos(2 * t) - 2 * Math.cos(3 * t) - Math.cos(4 * t);
    return [(16 * Math.sin(t) ** 3) / 32, (y + 17) / 30] as const;
  });
  // The point is left out, because it is too sharp for rounded edges.
  return outline.filter(([x, y]) => y > 0.09 || Math.abs(x) < 1e-6);
}

/** Patches of a football at three corners of an icosahedron. */
function patchesAt(one: number, other: number, paint: Paint): Part[] {
  const out = 0.4 / Math.hypot(one, other);
  const [a, b] = [one * out, other * out];
  return [
    ball([0, 0.5 + a, b], 0.33, paint),
    ball([a, 0.5 + b, 0], 0.33, paint),
    ball([b, 0.5, a], 0.33, paint),
  ];
}

/** Sports equipment, and things to carry or wear. */
export const sports = {
  frisbee: thing(0.3, table, '#e8552c plastic, #f6f2e6', (main, trim) => {
    const tilt: Vector = [0.95, 0, 0.2];
    return [
      post([0, 0.3, 0], [0.3, 0.34], 0.04, main, tilt, 48),
      ring([0, 0.29, -0.014], 0.335, 0.025, main, tilt),
      ring([0, 0.313, 0.018], 0.2, 0.008, trim, tilt),
      ring([0, 0.313, 0.018], 0.12, 0.008, trim, tilt),
    ];
  }),
  skis: thing(1.7, land, '#d0392e glossy, #2f3338', (main, trim) => [
    ...both((side) => [
      box([side * 0.09, 0.78, 0], [0.11, 1.56, 0.03], main, 0.012),
      slab(
        '-0.055 0, 0.055 0, 0.04 0.15, 0 0.2, -0.04 0.15',
        0.03,
        main,
        [side * 0.09, 1.54, 0],
        [0.35, 0, 0],
      ),
      box([side * 0.09, 0.72, 0.035], [0.08, 0.3, 0.05], trim, 0.02),
      rod([side * 0.24, 0, 0], [side * 0.3, 1.25, 0], 0.014, '#c3c8ce metal'),
      rod([side * 0.294, 1.12, 0], [side * 0.3, 1.27, 0], 0.026, trim),
      ring([side * 0.245, 0.1, 0], 0.05, 0.012, trim),
    ]),
  ]),
  snowboard: thing(1.5, land, '#3f8fd8 glossy, #2f3338', (main, trim) => [
    slab(oval(0.3, 1.5, 0.4), 0.03, main),
    slab('-0.15 0.2, 0.15 0.4, 0.15 0.52, -0.15 0.32', 0.034, shaded(main, 0.5), [0, 0.3, 0]),
    ...both((end) => [
      box([0, 0.75 + end * 0.25, 0.04], [0.27, 0.13, 0.06], trim, 0.02),
      rod([-0.11, 0.75 + end * 0.25, 0.1], [0.11, 0.75 + end * 0.25, 0.1], 0.05, trim),
    ]),
  ]),
  surfboard: thing(1.9, land, '#f2c23c glossy, #d8472d', (main, trim) => [
    slab(oval(0.5, 1.9, 0.85), 0.05, main),
    slab(oval(0.07, 1.6, 0.85), 0.056, trim, [0, 0.15, 0]),
    ...both((side) => slab(oval(0.04, 1.3, 0.85), 0.056, trim, [side * 0.1, 0.3, 0])),
  ]),
  skateboard: thing(0.25, top(land, 0.85, 0.7), '#d0392e, #2f3338', (main, trim) => [
    box([0, 0.12, 0], [0.58, 0.03, 0.22], main, 0.012),
    ...both((end) => [
      box([end * 0.345, 0.145, 0], [0.16, 0.03, 0.22], main, 0.012, [0, 0, end * 0.4]),
      box([end * 0.22, 0.085, 0], [0.07, 0.05, 0.1], '#c3c8ce metal', 0.01),
      ...both((side) => [
        post([end * 0.22, 0.045, side * 0.085], 0.045, 0.05, '#f2c23c', forward),
        post([end * 0.22, 0.045, side * 0.09], 0.018, 0.05, trim, forward),
      ]),
    ]),
    box([0, 0.136, 0], [0.56, 0.004, 0.2], trim, 0.002),
  ]),
  racket: thing(0.69, table, '#d0392e glossy, #26292e cloth', (main, grip) => {
    const hoop = [...oval(0.26, 0.34, 1), [0.13, 0.17] as const].map(([x, y]): Vector => [x, y + 0.34, 0]);
    return [
      bend(hoop, 0.013, main),
      ...both((side) => rod([side * 0.075, 0.37, 0], [0, 0.22, 0], 0.011, main)),
      rod([0, 0, 0], [0, 0.24, 0], [0.016, 0.019], grip),
      ...[-3, -2, -1, 0, 1, 2, 3].flatMap((step) => {
        const [x, y] = [step * 0.034, step * 0.044];
        const [up, out] = [0.165 * Math.sqrt(1 - (x / 0.13) ** 2), 0.125 * Math.sqrt(1 - (y / 0.17) ** 2)];
        return [
          rod([x, 0.51 - up, 0], [x, 0.51 + up, 0], 0.0022, '#f6f4ee'),
          rod([-out, 0.51 + y, 0], [out, 0.51 + y, 0], 0.0022, '#f6f4ee'),
        ];
      }),
    ];
  }),
  baseballbat: thing(0.62, table, '#c48a4a wood, #2f2a26 cloth', (main, grip) => [
    rod([-0.28, 0.02, 0], [0, 0.26, 0], [0.02, 0.013], main),
    rod([0, 0.26, 0], [0.28, 0.5, 0], [0.034, 0.02], main),
    ball([0.28, 0.5, 0], 0.068, main),
    rod([-0.285, 0.016, 0], [-0.15, 0.131, 0], 0.0165, grip),
    ball([-0.29, 0.018, 0], 0.048, main),
  ]),
  baseballglove: thing(0.3, table, '#9a5a30 cloth, #6a3a1c cloth', (main, trim) => [
    ball([0, 0.13, 0], [0.27, 0.26, 0.13], main),
    ...[-1.5, -0.5, 0.5, 1.5].map((finger) =>
      ball([finger * 0.058 - 0.02, 0.27 - finger ** 2 * 0.008, 0.01], [0.068, 0.19, 0.085], main, [
        0,
        0,
        -finger * 0.13,
      ]),
    ),
    ball([0.15, 0.2, 0.02], [0.075, 0.2, 0.085], main, [0, 0, -0.5]),
    ball([0.105, 0.24, 0.01], [0.07, 0.1, 0.04], trim),
    ball([0.01, 0.14, 0.045], [0.17, 0.17, 0.06], trim),
    ball([0.015, 0.155, 0.085], 0.075, '#f4f1e8'),
  ]),
  backpack: thing(0.5, land, '#c8472d cloth, #4a3626 cloth', (main, trim) => [
    box([0, 0.3, 0], [0.42, 0.58, 0.24], main, 0.11),
    box([0, 0.19, 0.13], [0.32, 0.26, 0.12], main, 0.05),
    box([0, 0.3, 0.14], [0.33, 0.05, 0.125], trim, 0.02),
    box([0, 0.45, 0.1], [0.38, 0.02, 0.1], trim, 0.008),
    box([0, 0.24, 0.2], [0.05, 0.09, 0.02], '#d8b04a metal', 0.006),
    ...both((side) => box([side * 0.21, 0.16, 0], [0.1, 0.22, 0.17], main, 0.04)),
    ...both((side) =>
      bend(`${side * 0.1} 0.56 -0.1, ${side * 0.19} 0.42 -0.2, ${side * 0.16} 0.08 -0.12`, 0.025, trim),
    ),
    bend('-0.06 0.57 0, 0 0.66 0, 0.06 0.57 0', 0.018, trim),
  ]),
  handbag: thing(0.34, table, '#b5345a glossy, #d8b04a metal', (main, trim) => [
    slab('-0.2 0, 0.2 0, 0.16 0.24, -0.16 0.24', 0.14, main),
    slab('-0.163 0.1, 0 0.07, 0.163 0.1, 0.158 0.245, -0.158 0.245', 0.15, shaded(main, -0.12)),
    post([0, 0.105, 0.078], 0.018, 0.02, trim, forward),
    bend('-0.11 0.23 0, -0.1 0.36 0, 0 0.42 0, 0.1 0.36 0, 0.11 0.23 0', 0.013, main),
    ...both((side) => ring([side * 0.11, 0.23, 0.02], 0.018, 0.006, trim, forward)),
  ]),
  suitcase: thing(0.62, top(land, 0.72), '#2f7f8f plastic, #26292e', (main, trim) => [
    box([0, 0.34, 0], [0.46, 0.58, 0.24], main, 0.06),
    ...[-0.15, -0.05, 0.05, 0.15].map((x) =>
      box([x, 0.34, 0.12], [0.03, 0.5, 0.02], shaded(main, -0.15), 0.01),
    ),
    ...both((side) => [
      rod([side * 0.1, 0.6, -0.06], [side * 0.1, 0.84, -0.06], 0.012, '#c3c8ce metal'),
      ball([side * 0.17, 0.03, 0.06], 0.07, trim),
      ball([side * 0.17, 0.03, -0.06], 0.07, trim),
    ]),
    rod([-0.12, 0.84, -0.06], [0.12, 0.84, -0.06], 0.02, trim),
  ]),
  tie: thing(0.45, table, '#2f4f9a cloth, #e8c24a cloth', (main, trim) => [
    slab('-0.028 0.44, 0.028 0.44, 0.06 0.09, 0 0, -0.06 0.09', 0.014, main),
    slab('-0.042 0.52, 0.042 0.52, 0.026 0.43, -0.026 0.43', 0.03, main),
    ...[0.12, 0.22, 0.32].map((y) =>
      slab('-0.05 -0.02, 0.045 0.01, 0.044 0.03, -0.048 0', 0.016, trim, [0, y, 0.001]),
    ),
    ring([0, 0.54, -0.05], 0.065, 0.014, main, [0.3, 0, 0]),
  ]),
};

/** An oval that stands on the ground. The smaller `power`, the squarer it is. */
function oval(wide: number, high: number, power: number): readonly (readonly [number, number])[] {
  return Array.from({ length: 32 }, (_, index) => {
    const [x, y] = [Math.cos((index / 16) * Math.PI), Math.sin((index / 16) * Math.PI)];
    return [(Math.sign(x) * Math.abs(x) ** power * wide) / 2, ((1 + y) * high) / 2] as const;
  });
}
