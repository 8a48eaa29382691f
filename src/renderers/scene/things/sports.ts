/** Sports equipment, and things to carry or wear. */
import { ball, bend, box, post, ring, rod, shaded, slab } from './parts.ts';
import { both, forward } from './placing.ts';
import { land, table, thing, top } from './thing.ts';
import type { Vector } from '../vector.ts';

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
