/** Furniture. */
import { ball, box, post, rod, turned, type Paint, type Part } from './parts.ts';
import { both } from './placing.ts';
import type { Random } from '../../random.ts';
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
