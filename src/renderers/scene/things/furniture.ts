/** What stands in a room. */
import { ball, box, post, rod, turned, type Paint, type Part } from './parts.ts';
import type { Look } from './look.ts';

export function table(look: Look): Part[] {
  const wood = look.main('#9a6a40', 'wood');
  return [
    box([0, 0.72, 0], [1.5, 0.07, 0.9], wood, [0, 0, 0], 0.03),
    box([0, 0.64, 0], [1.3, 0.1, 0.72], wood, [0, 0, 0], 0.01),
    ...legsAt(0.64, 0.36, 0.68, [0.04, 0.028], wood),
  ];
}

function legsAt(x: number, z: number, high: number, [top, bottom]: [number, number], paint: Paint): Part[] {
  return [-1, 1].flatMap((side) =>
    [-1, 1].map((end) => post([side * x, high / 2, end * z], [top, bottom], high, paint)),
  );
}

export function chair(look: Look): Part[] {
  const wood = look.main('#a8743f', 'wood');
  return [
    box([0, 0.45, 0], [0.46, 0.05, 0.44], wood, [0, 0, 0], 0.02),
    box([0, 0.49, 0], [0.4, 0.06, 0.38], look.trim('#c9a678', 'cloth'), [0, 0, 0], 0.03),
    ...legsAt(0.2, 0.19, 0.44, [0.022, 0.018], wood),
    ...[-1, 1].map((side) => rod([side * 0.2, 0.45, -0.2], [side * 0.2, 0.98, -0.26], 0.022, wood)),
    ...[0.62, 0.76, 0.92].map((y, index) =>
      box([0, y, -0.22 - index * 0.018], [0.4, index === 2 ? 0.12 : 0.05, 0.03], wood, [-0.1, 0, 0], 0.012),
    ),
    ...[-1, 1].map((side) => rod([side * 0.2, 0.2, -0.19], [side * 0.2, 0.2, 0.19], 0.012, wood)),
  ];
}

export function sofa(look: Look): Part[] {
  return seat(look, 1.9, look.main('#4f7a86', 'cloth'));
}

export function armchair(look: Look): Part[] {
  return seat(look, 0.9, look.main('#b0604a', 'cloth'));
}

function seat(look: Look, wide: number, cloth: Paint): Part[] {
  const cushions = wide > 1.2 ? 2 : 1;
  const each = (wide - 0.3) / cushions;
  return [
    box([0, 0.24, 0], [wide, 0.26, 0.8], cloth, [0, 0, 0], 0.06),
    box([0, 0.56, -0.34], [wide, 0.62, 0.2], cloth, [-0.1, 0, 0], 0.09),
    ...[-1, 1].map((side) =>
      box([side * (wide / 2 - 0.08), 0.42, 0.02], [0.18, 0.42, 0.8], cloth, [0, 0, 0], 0.08),
    ),
    ...Array.from({ length: cushions }, (_, index) =>
      box(
        [(index - (cushions - 1) / 2) * each, 0.42, 0.06],
        [each - 0.02, 0.16, 0.6],
        cloth,
        [0, 0, 0],
        0.06,
      ),
    ),
    ...Array.from({ length: cushions }, (_, index) =>
      box(
        [(index - (cushions - 1) / 2) * each, 0.66, -0.2],
        [each * 0.8, 0.34, 0.14],
        look.trim('#e2d3b4', 'cloth'),
        [-0.25, 0, 0],
        0.07,
      ),
    ),
    ...legsAt(wide / 2 - 0.12, 0.3, 0.13, [0.03, 0.02], look.own('#5a4030', 'wood')),
  ];
}

export function bench(look: Look): Part[] {
  const wood = look.main('#a06c3c', 'wood');
  const iron = look.trim('#3b3f45', 'metal');
  return [
    ...[-0.16, 0, 0.16].map((z) => box([0, 0.45, z], [1.6, 0.045, 0.13], wood, [0, 0, 0], 0.015)),
    ...[0.62, 0.78].map((y, index) =>
      box([0, y, -0.27 - index * 0.04], [1.6, 0.12, 0.04], wood, [-0.2, 0, 0], 0.015),
    ),
    ...[-1, 1].flatMap((side) => [
      rod([side * 0.66, 0, 0.2], [side * 0.66, 0.45, 0.18], 0.025, iron),
      rod([side * 0.66, 0, -0.24], [side * 0.66, 0.45, -0.2], 0.025, iron),
      rod([side * 0.66, 0.45, -0.22], [side * 0.66, 0.86, -0.34], 0.025, iron),
      rod([side * 0.66, 0.42, 0.2], [side * 0.66, 0.42, -0.22], 0.025, iron),
    ]),
  ];
}

export function bed(look: Look): Part[] {
  const wood = look.own('#8a5f3a', 'wood');
  return [
    box([0, 0.3, 0], [1.5, 0.22, 2.1], wood, [0, 0, 0], 0.03),
    box([0, 0.5, 0.02], [1.42, 0.26, 2], look.own('#f4efe6', 'cloth'), [0, 0, 0], 0.09),
    box([0, 0.56, 0.36], [1.48, 0.24, 1.34], look.main('#5a7fb0', 'cloth'), [0, 0, 0], 0.1),
    box([0, 0.7, -1.05], [1.56, 0.95, 0.09], wood, [0, 0, 0], 0.04),
    ...[-1, 1].map((side) =>
      box([side * 0.36, 0.7, -0.72], [0.58, 0.17, 0.38], look.trim('#fbf8f2', 'cloth'), [-0.25, 0, 0], 0.08),
    ),
    ...legsAt(0.68, 0.95, 0.22, [0.04, 0.03], wood),
  ];
}

export function lamp(look: Look): Part[] {
  return [
    turned(
      [0, 0, 0],
      '0 0, 0.15 0, 0.15 0.02, 0.06 0.05, 0.04 0.12, 0.08 0.22, 0.05 0.34, 0.02 0.38, 0 0.38',
      look.trim('#c8a24a', 'metal'),
    ),
    turned([0, 0.36, 0], '0.24 0, 0.14 0.26', look.main('#f6e3b4', 'cloth')),
    ball([0, 0.46, 0], 0.11, look.own('#fff0c0', 'glow')),
  ];
}

export function streetlight(look: Look): Part[] {
  const iron = look.main('#2f353b', 'metal');
  return [
    turned([0, 0, 0], '0 0, 0.16 0, 0.15 0.1, 0.07 0.2, 0.045 0.5, 0.035 2.6, 0 2.6', iron),
    post([0, 2.78, 0], [0.17, 0.11], 0.36, look.own('#ffe9b0', 'glow'), [0, 0, 0], 6),
    post([0, 3.03, 0], [0.03, 0.22], 0.16, iron, [0, 0, 0], 6),
    post([0, 2.6, 0], 0.13, 0.05, iron),
    rod([-0.28, 2.4, 0], [0.28, 2.4, 0], 0.02, iron),
  ];
}

export function bookshelf(look: Look): Part[] {
  const wood = look.main('#8a5f3a', 'wood');
  const colours = ['#b5473c', '#3f6fa5', '#d9a441', '#4f8a5c', '#7a4f8f', '#e6dcc6', '#2f4858'];
  const books = [0.1, 0.58, 1.06, 1.54].flatMap((shelf) => {
    const row: Part[] = [];
    for (let x = -0.46; x < 0.4;) {
      const [thick, high] = [look.random.between(0.04, 0.085), look.random.between(0.28, 0.4)];
      row.push(
        box(
          [x + thick / 2, shelf + high / 2, 0.02],
          [thick, high, 0.22],
          look.own(colours[look.random.whole(0, 6)] ?? '#b5473c'),
          [0, 0, 0],
          0.008,
        ),
      );
      x += thick + 0.005;
    }
    return row;
  });
  return [
    ...[-1, 1].map((side) => box([side * 0.51, 1, 0], [0.04, 2, 0.32], wood, [0, 0, 0], 0.01)),
    ...[0.07, 0.55, 1.03, 1.51, 1.98].map((y) => box([0, y, 0], [1.02, 0.05, 0.32], wood, [0, 0, 0], 0.01)),
    box([0, 1, -0.15], [1.02, 1.96, 0.02], wood, [0, 0, 0], 0.005),
    ...books,
  ];
}

export function ladder(look: Look): Part[] {
  const wood = look.main('#b98a52', 'wood');
  return [
    ...[-1, 1].map((side) => rod([side * 0.24, 0, 0.35], [side * 0.2, 2.4, -0.35], 0.035, wood)),
    ...Array.from({ length: 8 }, (_, index) => {
      const along = (index + 0.7) / 8.4;
      return rod(
        [-0.23, along * 2.4, 0.35 - along * 0.7],
        [0.23, along * 2.4, 0.35 - along * 0.7],
        0.022,
        wood,
      );
    }),
  ];
}

export function mat(look: Look): Part[] {
  const cloth = look.main('#a8473f', 'cloth');
  return [
    box([0, 0.012, 0], [1.7, 0.024, 1.1], cloth, [0, 0, 0], 0.01),
    box([0, 0.016, 0], [1.45, 0.024, 0.86], look.trim('#e4d2ae', 'cloth'), [0, 0, 0], 0.01),
    box([0, 0.02, 0], [1.3, 0.024, 0.72], cloth, [0, 0, 0], 0.01),
  ];
}
