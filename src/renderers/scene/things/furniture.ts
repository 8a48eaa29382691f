/** Furniture, and appliances of a kitchen, a bathroom and a desk. */
import type { Random } from '../../random.ts';
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
  round,
  shaded,
  sideways,
  slab,
  turned,
} from './parts.ts';
import { land, table, thing, top } from './thing.ts';

export const furniture = {
  table: thing(0.78, top(land, 1, 0.86), '#9a6a40 wood', (wood) => [
    box([0, 0.72, 0], [1.5, 0.07, 0.9], wood, 0.03),
    box([0, 0.64, 0], [1.3, 0.1, 0.72], wood, 0.01),
    ...legsAt(0.64, 0.36, 0.68, [0.04, 0.028], wood),
  ]),
  chair: thing(0.95, top(land, 0.53, 0.8), '#a8743f wood, #c9a678 cloth', (wood, trim) => [
    box([0, 0.45, 0], [0.46, 0.05, 0.44], wood, 0.02),
    box([0, 0.49, 0], [0.4, 0.06, 0.38], trim, 0.03),
    ...legsAt(0.2, 0.19, 0.44, [0.022, 0.018], wood),
    ...both((side) => rod([side * 0.2, 0.45, -0.2], [side * 0.2, 0.98, -0.26], 0.022, wood)),
    ...[0.62, 0.76, 0.92].map((y, index) =>
      box([0, y, -0.22 - index * 0.018], [0.4, index === 2 ? 0.12 : 0.05, 0.03], wood, 0.012, [-0.1, 0, 0]),
    ),
    ...both((side) => rod([side * 0.2, 0.2, -0.19], [side * 0.2, 0.2, 0.19], 0.012, wood)),
  ]),
  armchair: thing(0.95, top(land, 0.56, 0.6), '#b0604a cloth, #e2d3b4 cloth', (cloth, cushion) =>
    seat(0.9, cloth, cushion),
  ),
  sofa: thing(0.95, top(land, 0.56, 0.7), '#4f7a86 cloth, #e2d3b4 cloth', (cloth, cushion) =>
    seat(1.9, cloth, cushion),
  ),
  bench: thing(0.9, top(land, 0.53, 0.8), '#a06c3c wood, #3b3f45 metal', (wood, iron) => [
    ...[-0.16, 0, 0.16].map((z) => box([0, 0.45, z], [1.6, 0.045, 0.13], wood, 0.015)),
    ...[0.62, 0.78].map((y, index) =>
      box([0, y, -0.27 - index * 0.04], [1.6, 0.12, 0.04], wood, 0.015, [-0.2, 0, 0]),
    ),
    ...both((side) => [
      rod([side * 0.66, 0, 0.2], [side * 0.66, 0.45, 0.18], 0.025, iron),
      rod([side * 0.66, 0, -0.24], [side * 0.66, 0.45, -0.2], 0.025, iron),
      rod([side * 0.66, 0.45, -0.22], [side * 0.66, 0.86, -0.34], 0.025, iron),
      rod([side * 0.66, 0.42, 0.2], [side * 0.66, 0.42, -0.22], 0.025, iron),
    ]),
  ]),
  bed: thing(1, top(land, 0.6), '#5a7fb0 cloth, #fbf8f2 cloth', (main, trim) => [
    box([0, 0.3, 0], [1.5, 0.22, 2.1], '#8a5f3a wood', 0.03),
    box([0, 0.5, 0.02], [1.42, 0.26, 2], '#f4efe6 cloth', 0.09),
    box([0, 0.52, 0.36], [1.5, 0.34, 1.36], main, 0.1),
    box([0, 0.7, -1.05], [1.56, 0.95, 0.09], main, 0.04),
    ...both((side) => box([side * 0.36, 0.7, -0.72], [0.58, 0.17, 0.38], trim, 0.08, [-0.25, 0, 0])),
    ...legsAt(0.68, 0.95, 0.22, [0.04, 0.03], '#8a5f3a wood'),
  ]),
  lamp: thing(0.55, table, '#f6e3b4 cloth, #c8a24a metal', (main, trim) => [
    turned('0 0, 0.15 0, 0.15 0.02, 0.06 0.05, 0.04 0.12, 0.08 0.22, 0.05 0.34, 0.02 0.38, 0 0.38', trim),
    turned('0.24 0, 0.14 0.26', main, [0, 0.36, 0]),
    ball([0, 0.46, 0], 0.11, '#fff0c0 glow'),
  ]),
  bookshelf: thing(1.9, land, '#8a5f3a wood', (wood, _, random) => [
    ...both((side) => box([side * 0.51, 1, 0], [0.04, 2, 0.32], wood, 0.01)),
    ...[0.07, 0.55, 1.03, 1.51, 1.98].map((y) => box([0, y, 0], [1.02, 0.05, 0.32], wood, 0.01)),
    box([0, 1, -0.15], [1.02, 1.96, 0.02], wood, 0.005),
    ...[0.1, 0.58, 1.06, 1.54].flatMap((shelf) => booksOn(shelf, random)),
  ]),
  ladder: thing(2.2, land, '#b98a52 wood', (wood) => [
    ...both((side) => rod([side * 0.24, 0, 0.35], [side * 0.2, 2.4, -0.35], 0.035, wood)),
    ...[0, 1, 2, 3, 4, 5, 6, 7].map((step) => {
      const along = (step + 0.7) / 8.4;
      return rod(
        [-0.23, along * 2.4, 0.35 - along * 0.7],
        [0.23, along * 2.4, 0.35 - along * 0.7],
        0.022,
        wood,
      );
    }),
  ]),
  mat: thing(0.03, land, '#a8473f cloth, #e4d2ae cloth', (cloth, trim) => [
    box([0, 0.012, 0], [1.7, 0.024, 1.1], cloth, 0.01),
    box([0, 0.016, 0], [1.45, 0.024, 0.86], trim, 0.01),
    box([0, 0.02, 0], [1.3, 0.024, 0.72], cloth, 0.01),
  ]),
};

function legsAt(x: number, z: number, high: number, radii: [number, number], paint: Paint | string): Part[] {
  return both((side) => both((end) => post([side * x, high / 2, end * z], radii, high, paint)));
}

function seat(wide: number, cloth: Paint, cushion: Paint): Part[] {
  const places = wide > 1.2 ? [-0.5, 0.5] : [0];
  const each = (wide - 0.3) / places.length;
  return [
    box([0, 0.24, 0], [wide, 0.26, 0.8], cloth, 0.06),
    box([0, 0.56, -0.34], [wide, 0.62, 0.2], cloth, 0.09, [-0.1, 0, 0]),
    ...both((side) => box([side * (wide / 2 - 0.08), 0.42, 0.02], [0.18, 0.42, 0.8], cloth, 0.08)),
    ...places.flatMap((place) => [
      box([place * each, 0.42, 0.06], [each - 0.02, 0.16, 0.6], cloth, 0.06),
      box([place * each, 0.66, -0.2], [each * 0.8, 0.34, 0.14], cushion, 0.07, [-0.25, 0, 0]),
    ]),
    ...legsAt(wide / 2 - 0.12, 0.3, 0.13, [0.03, 0.02], '#5a4030 wood'),
  ];
}

function booksOn(shelf: number, random: Random): Part[] {
  const row: Part[] = [];
  for (let x = -0.46; x < 0.4;) {
    const [thick, high] = [random.between(0.04, 0.085), random.between(0.28, 0.4)];
    const colour = random.pick(['#b5473c', '#3f6fa5', '#d9a441', '#4f8a5c', '#7a4f8f', '#e6dcc6', '#2f4858']);
    row.push(box([x + thick / 2, shelf + high / 2, 0.02], [thick, high, 0.22], colour, 0.008));
    x += thick + 0.005;
  }
  return row;
}

const steel = '#c3c8ce metal';
const dark = '#26292e glossy';

/** Appliances of a kitchen, a bathroom and a desk. */
export const appliances = {
  fridge: thing(1.75, land, '#e4e8ec glossy, #9aa2aa metal', (main, handle) => [
    box([0, 0.6, 0], [0.8, 1.12, 0.7], main, 0.05),
    box([0, 1.47, 0], [0.8, 0.58, 0.7], main, 0.05),
    ...[0.85, 1.38].map((y) => box([-0.3, y, 0.38], [0.05, 0.36, 0.06], handle, 0.02)),
  ]),
  oven: thing(0.92, top(land, 1, 0.8), '#e6e8ea glossy', (main) => [
    box([0, 0.45, 0], [0.8, 0.9, 0.7], main, 0.03),
    box([0, 0.4, 0.35], [0.6, 0.4, 0.02], dark, 0.01),
    rod([-0.3, 0.66, 0.4], [0.3, 0.66, 0.4], 0.02, steel),
    ...[-0.27, -0.09, 0.09, 0.27].map((x) => post([x, 0.8, 0.36], 0.045, 0.05, dark, forward)),
    ...both((x) => both((z) => ring([x * 0.2, 0.905, z * 0.17], 0.1, 0.016, dark))),
  ]),
  microwave: thing(0.34, table, '#dfe3e6 glossy', (main) => [
    box([0, 0.16, 0], [0.52, 0.3, 0.36], main, 0.02),
    box([-0.06, 0.16, 0.178], [0.34, 0.22, 0.01], dark, 0.01),
    box([0.125, 0.16, 0.195], [0.016, 0.2, 0.03], steel, 0.006),
    box([0.2, 0.25, 0.18], [0.08, 0.04, 0.01], '#6fe0a0 glow', 0.004),
  ]),
  toaster: thing(0.24, table, '#d0392e glossy, #dba662', (main, toast) => [
    box([0, 0.1, 0], [0.34, 0.18, 0.2], main, 0.05),
    box([0, 0.012, 0], [0.32, 0.03, 0.18], dark, 0.01),
    ...both((side) => box([0, 0.185, side * 0.045], [0.27, 0.02, 0.03], dark, 0.005)),
    ...both((side) => box([0, 0.2, side * 0.045], [0.21, 0.12, 0.02], toast, 0.03)),
    box([0.185, 0.11, 0], [0.04, 0.025, 0.06], dark, 0.008),
  ]),
  sink: thing(0.95, land, '#f1f3f4 glossy', (main) => [
    turned('0 0, 0.15 0, 0.1 0.1, 0.08 0.6, 0.16 0.68', main),
    turned('0 0.66, 0.16 0.66, 0.33 0.82, 0.35 0.88, 0.31 0.88, 0.24 0.78, 0 0.74', main),
    bend('0 0.84 -0.3, 0 1.08 -0.28, 0 1.12 -0.16, 0 1.04 -0.08', 0.025, steel),
    ...both((side) => post([side * 0.14, 0.91, -0.29], 0.04, 0.07, steel)),
    box([0, 0.84, -0.3], [0.46, 0.08, 0.14], main, 0.03),
  ]),
  toilet: thing(0.8, top(land, 0.55, 0.4), '#f3f5f6 glossy', (main) => [
    turned('0 0, 0.16 0, 0.13 0.12, 0.15 0.22, 0.25 0.36, 0.26 0.4, 0 0.4', main, [0, 0, 0.1]),
    ring([0, 0.41, 0.1], 0.2, 0.04, shaded(main, -0.06)),
    post([0, 0.405, 0.1], 0.17, 0.01, '#7fb0c8 glossy'),
    box([0, 0.62, -0.26], [0.5, 0.44, 0.2], main, 0.05),
    box([0, 0.85, -0.26], [0.54, 0.05, 0.24], main, 0.02),
    box([0, 0.62, -0.12], [0.4, 0.44, 0.04], main, 0.02, [-0.12, 0, 0]),
    box([-0.18, 0.74, -0.15], [0.1, 0.025, 0.03], steel, 0.01),
    box([0, 0.18, -0.14], [0.24, 0.36, 0.3], main, 0.06),
  ]),
  tv: thing(0.75, table, '#26292e glossy, #4f9ad8 glow', (main, screen) => [
    box([0, 0.5, 0], [1.24, 0.74, 0.06], main, 0.02),
    box([0, 0.51, 0.03], [1.14, 0.62, 0.01], screen, 0.005),
    slab('-0.57 -0.31, -0.2 0.02, 0.05 -0.14, 0.3 0.1, 0.57 -0.31', 0.01, '#3f8a58 glow', [0, 0.51, 0.034]),
    post([0, 0.08, 0], 0.05, 0.14, main),
    box([0, 0.015, 0], [0.5, 0.03, 0.24], main, 0.01),
  ]),
  keyboard: thing(0.05, table, '#dfe3e6 plastic, #3a4048 plastic', (main, keys) => [
    box([0, 0.012, 0], [0.46, 0.024, 0.2], main, 0.008),
    ...[-0.066, -0.026, 0.014].flatMap((z, row) =>
      Array.from({ length: 11 }, (_, key) =>
        box([(key - 5) * 0.038 + row * 0.006, 0.03, z], [0.031, 0.016, 0.031], keys, 0.005),
      ),
    ),
    ...[-0.17, -0.115, 0.115, 0.17].map((x) => box([x, 0.03, 0.056], [0.045, 0.016, 0.031], keys, 0.005)),
    box([0, 0.03, 0.056], [0.17, 0.016, 0.031], keys, 0.005),
  ]),
  computermouse: thing(0.06, table, '#e6e8ea plastic, #3a4048 plastic', (main, trim) => [
    ball([0, 0.018, 0], [0.07, 0.05, 0.11], main),
    ball([0, 0.012, 0], [0.074, 0.026, 0.114], main),
    box([0, 0.038, 0.026], [0.012, 0.014, 0.026], trim, 0.005),
    rod([0, 0.037, 0.012], [0, 0.042, -0.01], 0.0012, trim),
    bend('0 0.016 -0.05, 0.02 0.012 -0.09, 0.08 0.008 -0.1, 0.12 0.006 -0.06', 0.004, trim),
  ]),
  remote: thing(0.2, table, '#33373d plastic, #d0d4d8 plastic', (main, keys) => [
    box([0, 0.1, 0], [0.055, 0.2, 0.022], main, 0.012, [-0.3, 0, 0]),
    post([0, 0.174, 0.005], 0.008, 0.02, '#e0342c glossy', [1.27, 0, 0]),
    ...[0, 1, 2, 3, 4].flatMap((row) =>
      [-1, 0, 1].map((x) =>
        box(
          [x * 0.015, 0.035 + row * 0.026, 0.031 - row * 0.008],
          [0.01, 0.014, 0.008],
          keys,
          0.003,
          [-0.3, 0, 0],
        ),
      ),
    ),
  ]),
  phone: thing(0.17, table, '#33373d glossy, #4f9ad8 glow', (main, screen) => [
    box([0, 0.085, 0], [0.085, 0.17, 0.012], main, 0.01, [-0.2, 0, 0]),
    box([0, 0.085, 0.005], [0.074, 0.148, 0.006], screen, 0.004, [-0.2, 0, 0]),
    ...[-1, 1].flatMap((x) =>
      [0.045, 0.075, 0.105].map((y) => ball([x * 0.018, y, 0.01 + (0.085 - y) * 0.2], 0.02, '#f2c23a glow')),
    ),
  ]),
  clock: thing(0.3, table, '#c8372d glossy, #f7f4ea', (main, face) => [
    post([0, 0.5, 0], 0.45, 0.26, main, forward, 48),
    post([0, 0.5, 0.12], 0.38, 0.04, face, forward, 48),
    ...round(12, (cos, sin) => ball([cos * 0.31, 0.5 + sin * 0.31, 0.142], [0.05, 0.05, 0.02], dark)),
    rod([0, 0.5, 0.15], [0.15, 0.62, 0.15], 0.022, dark),
    rod([0, 0.5, 0.15], [-0.09, 0.77, 0.15], 0.016, dark),
    ...both((side) => [
      ball([side * 0.27, 0.94, 0], [0.34, 0.24, 0.26], steel, [0, 0, -side * 0.5]),
      rod([side * 0.36, 0, 0.04], [side * 0.25, 0.2, 0], 0.04, main),
    ]),
  ]),
  scissors: thing(0.22, table, '#d0392e plastic', (main) => [
    ...both((side) => [
      ring([side * 0.048, 0.045, 0], 0.034, 0.011, main, forward),
      rod([side * 0.03, 0.075, 0], [-side * 0.004, 0.13, 0], [0.01, 0.012], main),
      slab('-0.016 -0.02, 0.014 -0.02, 0 0.15', 0.006, steel, [0, 0.13, side * 0.004], [0, 0, side * 0.22]),
    ]),
    post([0, 0.13, 0.008], 0.009, 0.008, dark, forward),
  ]),
  hairdrier: thing(0.24, table, '#d8588a glossy, #33373d', (main, trim) => [
    ball([-0.05, 0.2, 0], [0.13, 0.12, 0.12], main),
    post([0.03, 0.2, 0], [0.055, 0.045], 0.16, main, sideways),
    post([0.13, 0.2, 0], [0.048, 0.04], 0.05, trim, sideways),
    post([-0.11, 0.2, 0], 0.04, 0.02, trim, sideways),
    rod([-0.03, 0.02, 0], [-0.04, 0.18, 0], [0.026, 0.022], main),
    box([-0.012, 0.11, 0], [0.012, 0.04, 0.016], trim, 0.004),
    bend('-0.03 0.02 0, -0.035 0.004 0, -0.1 0.006 0.02, -0.16 0.006 0', 0.006, trim),
  ]),
  toothbrush: thing(0.15, table, '#3f8fd8 plastic, #f6f8f8', (main, bristles) => [
    rod([-0.1, 0.008, 0], [0.02, 0.085, 0], [0.006, 0.009], main),
    rod([0.02, 0.085, 0], [0.1, 0.138, 0], [0.0075, 0.006], main),
    ...[0, 1, 2, 3, 4, 5].flatMap((row) =>
      both((side) => {
        const [x, y] = [0.058 + row * 0.008, 0.114 + row * 0.0053];
        return rod([x, y, side * 0.003], [x - 0.014, y + 0.021, side * 0.004], 0.0034, bristles);
      }),
    ),
  ]),
  fork: thing(0.2, table, steel, (main) => [
    slab('-0.009 0, 0.009 0, 0.005 0.1, 0.02 0.13, 0.02 0.15, -0.02 0.15, -0.02 0.13', 0.006, main),
    ...[-0.0165, -0.0055, 0.0055, 0.0165].map((x) => box([x, 0.175, 0], [0.006, 0.06, 0.006], main, 0.002)),
  ]),
  knife: thing(0.22, table, '#3a2c22 wood, #c3c8ce metal', (main, blade) => [
    slab('-0.012 0, 0.012 0, 0.012 0.09, -0.012 0.09', 0.016, main),
    slab('-0.012 0.085, 0.012 0.085, 0.016 0.16, 0.006 0.22, -0.012 0.235', 0.005, blade),
    ...[0.025, 0.065].map((y) => post([0, y, 0], 0.003, 0.019, blade, forward)),
  ]),
  spoon: thing(0.18, table, steel, (main) => [
    slab('-0.009 0, 0.009 0, 0.004 0.13, -0.004 0.13', 0.006, main),
    ball([0, 0.155, 0], [0.044, 0.066, 0.014], main),
    ball([0, 0.156, 0.004], [0.034, 0.052, 0.012], shaded({ ...main, material: 'matt' }, -0.25)),
  ]),
};
