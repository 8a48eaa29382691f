/** Animals, most of them four legs under a rounded body. */
import { ball, post, rod, ring, type Paint, type Part, type Vector } from './parts.ts';
import type { Look } from './look.ts';

interface Build {
  length: number;
  leg: number;
  girth: number;
  neck: number;
  head: number;
  snout: number;
  ears: 'none' | 'points' | 'round' | 'flaps' | 'long' | 'wide';
  tail: 'up' | 'down' | 'bush' | 'curl' | 'stub';
  coat: string;
  legThickness?: number;
}

const builds = {
  cat: {
    length: 0.5,
    leg: 0.2,
    girth: 0.22,
    neck: 0.1,
    head: 0.23,
    snout: 0.05,
    ears: 'points',
    tail: 'up',
    coat: '#d08a3e',
  },
  dog: {
    length: 0.6,
    leg: 0.3,
    girth: 0.26,
    neck: 0.16,
    head: 0.25,
    snout: 0.16,
    ears: 'flaps',
    tail: 'up',
    coat: '#b98450',
  },
  fox: {
    length: 0.55,
    leg: 0.24,
    girth: 0.22,
    neck: 0.12,
    head: 0.22,
    snout: 0.14,
    ears: 'points',
    tail: 'bush',
    coat: '#cf6426',
  },
  horse: {
    length: 1.5,
    leg: 0.95,
    girth: 0.58,
    neck: 0.62,
    head: 0.36,
    snout: 0.3,
    ears: 'points',
    tail: 'down',
    coat: '#7a4a2a',
    legThickness: 0.075,
  },
  zebra: {
    length: 1.4,
    leg: 0.85,
    girth: 0.58,
    neck: 0.5,
    head: 0.36,
    snout: 0.28,
    ears: 'points',
    tail: 'down',
    coat: '#f1efe8',
    legThickness: 0.075,
  },
  cow: {
    length: 1.6,
    leg: 0.7,
    girth: 0.72,
    neck: 0.22,
    head: 0.42,
    snout: 0.24,
    ears: 'wide',
    tail: 'down',
    coat: '#efe9de',
  },
  pig: {
    length: 0.9,
    leg: 0.28,
    girth: 0.5,
    neck: 0.04,
    head: 0.38,
    snout: 0.14,
    ears: 'points',
    tail: 'curl',
    coat: '#eda6a4',
  },
  sheep: {
    length: 0.9,
    leg: 0.42,
    girth: 0.6,
    neck: 0.16,
    head: 0.28,
    snout: 0.1,
    ears: 'wide',
    tail: 'stub',
    coat: '#f2ece0',
  },
  bear: {
    length: 0.95,
    leg: 0.42,
    girth: 0.66,
    neck: 0.1,
    head: 0.46,
    snout: 0.16,
    ears: 'round',
    tail: 'stub',
    coat: '#7b5233',
    legThickness: 0.14,
  },
  tiger: {
    length: 1.3,
    leg: 0.5,
    girth: 0.48,
    neck: 0.16,
    head: 0.42,
    snout: 0.14,
    ears: 'round',
    tail: 'up',
    coat: '#e08a2c',
  },
  lion: {
    length: 1.3,
    leg: 0.5,
    girth: 0.48,
    neck: 0.16,
    head: 0.42,
    snout: 0.16,
    ears: 'round',
    tail: 'up',
    coat: '#d3a25a',
  },
  elephant: {
    length: 2.2,
    leg: 1.1,
    girth: 1.4,
    neck: 0.2,
    head: 0.95,
    snout: 0.1,
    ears: 'wide',
    tail: 'down',
    coat: '#8d9196',
    legThickness: 0.24,
  },
  giraffe: {
    length: 1.3,
    leg: 1.5,
    girth: 0.66,
    neck: 1.7,
    head: 0.36,
    snout: 0.26,
    ears: 'wide',
    tail: 'down',
    coat: '#d9a55a',
    legThickness: 0.085,
  },
  rabbit: {
    length: 0.32,
    leg: 0.09,
    girth: 0.24,
    neck: 0.06,
    head: 0.2,
    snout: 0.03,
    ears: 'long',
    tail: 'stub',
    coat: '#c9b59b',
  },
  turtle: {
    length: 0.5,
    leg: 0.1,
    girth: 0.2,
    neck: 0.1,
    head: 0.16,
    snout: 0.04,
    ears: 'none',
    tail: 'stub',
    coat: '#7c9a4e',
  },
} as const satisfies Record<string, Build>;

type Beast = keyof typeof builds;

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

function headAt({ length, leg, girth, neck, head }: Build): Vector {
  return [
    length * 0.44 + neck * 0.55 + head * 0.2,
    leg + girth * 0.75 + neck * 0.85 + head * 0.12,
    head * 0.1,
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

/** What tells one from the others: mane, shell, stripes, trunk. */
function marksOf(kind: Beast, build: Build, look: Look): Part[] {
  const { length, leg, girth, head } = build;
  const [x, y, z] = headAt(build);
  const high = leg + girth * 0.42;
  switch (kind) {
    case 'lion':
      return [
        ball(
          [x - head * 0.12, y - head * 0.06, z - head * 0.14],
          [head * 1.5, head * 1.6, head * 0.95],
          look.own('#8a4f22', 'cloth'),
        ),
      ];
    case 'tiger':
    case 'zebra':
      return [-0.35, -0.18, 0, 0.18, 0.35].map((at) =>
        ring([at * length, high, 0], girth * 0.42, girth * 0.055, look.own('#2a1c14', 'cloth'), [
          0,
          0,
          Math.PI / 2,
        ]),
      );
    case 'cow':
      return [
        ...[
          [-0.25, 0.2],
          [0.05, -0.15],
          [0.3, 0.3],
        ].map(([along = 0, up = 0]) =>
          ball(
            [along * length, high + up * girth * 0.4, girth * 0.33],
            [girth * 0.5, girth * 0.4, girth * 0.32],
            look.trim('#3a2c26', 'cloth'),
          ),
        ),
        ...[-1, 1].map((side) =>
          post(
            [x + side * head * 0.34, y + head * 0.5, z],
            [0.008, head * 0.08],
            head * 0.3,
            look.own('#d8cfb8'),
            [0, 0, -side * 0.6],
          ),
        ),
      ];
    case 'horse':
      return [0, 1, 2, 3].map((step) =>
        ball(
          [x - head * 0.3 - step * 0.09, y + head * 0.3 - step * 0.16, z - 0.02],
          [0.2, 0.26, 0.1],
          look.trim('#2b1c14', 'cloth'),
        ),
      );
    case 'giraffe':
      return [
        [-0.3, 0.12],
        [0, 0.2],
        [0.25, 0],
        [-0.1, -0.15],
      ].map(([along = 0, up = 0]) =>
        ball(
          [along * length, high + up * girth, girth * 0.36],
          [0.3, 0.24, 0.2],
          look.trim('#8a5524', 'cloth'),
        ),
      );
    case 'elephant':
      return [
        rod(
          [x + head * 0.15, y - head * 0.1, z + head * 0.42],
          [x + head * 0.35, y - head * 1.1, z + head * 0.75],
          [head * 0.15, head * 0.22],
          look.main('#8d9196', 'cloth'),
        ),
        ...[-1, 1].map((side) =>
          rod(
            [x + side * head * 0.26 + 0.06, y - head * 0.3, z + head * 0.4],
            [x + side * head * 0.3 + 0.1, y - head * 0.55, z + head * 0.85],
            [0.02, head * 0.06],
            look.own('#efe6d0'),
          ),
        ),
      ];
    case 'turtle':
      return [
        ball([0, leg + girth * 0.5, 0], [length * 1.05, girth * 1.5, length * 0.85], look.trim('#5a6b2e')),
        ring([0, leg + girth * 0.32, 0], length * 0.43, girth * 0.1, look.own('#8a7a3a')),
      ];
    case 'bear':
      return [
        ball(
          [x + 0.09, y - head * 0.2, z + head * 0.42],
          [head * 0.5, head * 0.36, head * 0.3],
          look.trim('#c69c72', 'cloth'),
        ),
      ];
    case 'cat':
    case 'dog':
      return [
        ball(
          [length * 0.4, high + girth * 0.02, girth * 0.14],
          [girth * 0.6, girth * 0.7, girth * 0.6],
          look.trim('#f4e8d4', 'cloth'),
        ),
      ];
    case 'fox':
      return [
        ball(
          [-length * 1.05, leg + girth * 0.27, 0],
          [length * 0.26, girth * 0.36, girth * 0.34],
          look.own('#f6efe4', 'cloth'),
        ),
      ];
    case 'pig':
    case 'rabbit':
      return [];
    case 'sheep':
      return Array.from({ length: 26 }, (_, index): Part => {
        const [angle, along] = [index * 2.4, ((index % 7) - 3) / 3.4];
        const out = girth * 0.36 * Math.sqrt(1 - along * along * 0.55);
        return ball(
          [along * length * 0.42, high + Math.sin(angle) * out, Math.cos(angle) * out],
          girth * 0.44,
          look.main('#f2ece0', 'cloth'),
        );
      });
  }
}
