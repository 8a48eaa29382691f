/** Animals, most of them four legs under a rounded body. */
import { builds, type Beast, type Build } from './animal-builds.ts';
import { headAt, marksOf } from './animal-marks.ts';
import type { Look } from './look.ts';
import { ball, post, ring, rod, type Paint, type Part, type Vector } from './parts.ts';

/** Its head is turned to the front, so that the face is seen. */
export function beast(kind: Beast): (look: Look) => Part[] {
  return (look) => {
    const build: Build = builds[kind];
    const coat = look.main(build.coat, 'cloth');
    const parts = [
      ...bodyOf(build, coat),
      ...headOf(build, coat, look),
      ...tailOf(build, coat),
      ...marksOf(kind, build, look),
    ];
    return parts;
  };
}

function bodyOf({ length, leg, girth, legThickness = girth * 0.16 }: Build, coat: Paint): Part[] {
  const high = leg + girth * 0.42;
  const legs = [-1, 1].flatMap((side) =>
    [-1, 1].map((end): Part => {
      const foot: Vector = [end * length * 0.37, 0, side * girth * 0.27];
      return rod(
        foot,
        [end * length * 0.33, high, side * girth * 0.24],
        [legThickness * 1.25, legThickness],
        coat,
      );
    }),
  );
  return [
    ball([0, high, 0], [length, girth * 0.94, girth * 0.86], coat),
    ball([length * 0.28, high + girth * 0.04, 0], [length * 0.5, girth, girth * 0.92], coat),
    ball([-length * 0.28, high + girth * 0.02, 0], [length * 0.5, girth * 0.98, girth * 0.92], coat),
    ...legs,
  ];
}

function headOf(build: Build, coat: Paint, look: Look): Part[] {
  const { length, leg, girth, head, snout } = build;
  const [x, y, z] = headAt(build);
  const eye = look.own('#17130f', 'glossy');
  const face: Vector = [x + snout * 0.45, y - head * 0.14, z + head * 0.3 + snout * 0.5];
  return [
    rod([length * 0.36, leg + girth * 0.5, 0], [x, y, z], [head * 0.3, girth * 0.34], coat),
    ball([x, y, z], [head, head * 0.94, head * 0.96], coat),
    ball(face, [head * 0.56 + snout * 0.2, head * 0.46, head * 0.5 + snout], coat, [0, 0.5, 0]),
    ball(
      [face[0] + snout * 0.28, face[1] + head * 0.1, face[2] + (head * 0.24 + snout * 0.45)],
      head * 0.16,
      look.own('#2b1d18', 'glossy'),
    ),
    ball([x - head * 0.16, y + head * 0.1, z + head * 0.43], head * 0.13, eye),
    ball([x + head * 0.28, y + head * 0.1, z + head * 0.37], head * 0.13, eye),
    ...earsOf(build, [x, y, z], coat, look),
  ];
}

function earsOf({ ears, head }: Build, [x, y, z]: Vector, coat: Paint, look: Look): Part[] {
  return [-1, 1].flatMap((side): Part[] | Part => {
    const at: Vector = [x + side * head * 0.3, y + head * 0.42, z];
    switch (ears) {
      case 'none':
        return [];
      case 'points':
        return post([at[0], at[1] + head * 0.1, at[2]], [0.005, head * 0.17], head * 0.42, coat, [
          0,
          0,
          -side * 0.25,
        ]);
      case 'round':
        return ball(at, [head * 0.3, head * 0.3, head * 0.16], coat);
      case 'flaps':
        return ball(
          [x + side * head * 0.48, y + head * 0.05, z],
          [head * 0.16, head * 0.6, head * 0.34],
          coat,
          [0, 0, side * 0.25],
        );
      case 'long':
        return ball([at[0], at[1] + head * 0.42, at[2]], [head * 0.2, head * 1.1, head * 0.14], coat, [
          0,
          0,
          -side * 0.15,
        ]);
      case 'wide':
        return head > 0.8
          ? ball(
              [x + side * head * 0.6, y, z - head * 0.1],
              [head * 0.75, head * 0.95, head * 0.1],
              look.main('#7f8388'),
              [0, -side * 0.4, 0],
            )
          : ball([x + side * head * 0.55, y + head * 0.25, z], [head * 0.5, head * 0.18, head * 0.12], coat, [
              0,
              0,
              side * 0.3,
            ]);
    }
  });
}

function tailOf({ length, leg, girth, tail }: Build, coat: Paint): Part[] {
  const from: Vector = [-length * 0.48, leg + girth * 0.55, 0];
  switch (tail) {
    case 'up': {
      const middle: Vector = [from[0] - length * 0.22, from[1] + girth * 0.35, 0];
      const tip: Vector = [from[0] - length * 0.22, from[1] + girth * 1.2, 0];
      return [
        rod(from, middle, girth * 0.1, coat),
        rod(middle, tip, [girth * 0.07, girth * 0.1], coat),
        ball(tip, girth * 0.16, coat),
        ball(middle, girth * 0.2, coat),
      ];
    }
    case 'down':
      return [
        rod(
          [from[0], from[1] + girth * 0.15, 0],
          [from[0] - length * 0.12, leg * 0.5, 0],
          [girth * 0.05, girth * 0.12],
          coat,
        ),
      ];
    case 'bush':
      return [
        ball(
          [from[0] - length * 0.3, from[1] - girth * 0.1, 0],
          [length * 0.75, girth * 0.6, girth * 0.55],
          coat,
          [0, 0, 0.25],
        ),
      ];
    case 'curl':
      return [
        ring([from[0] - girth * 0.06, from[1], 0], girth * 0.09, girth * 0.03, coat, [Math.PI / 2, 0, 0]),
      ];
    case 'stub':
      return [ball([from[0] - girth * 0.02, from[1], 0], girth * 0.28, coat)];
  }
}
