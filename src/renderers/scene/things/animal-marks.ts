/** What tells animals from each other: mane, shell, stripes, trunk. */
import type { Beast, Build } from './animal-builds.ts';
import type { Look } from './look.ts';
import { ball, post, ring, rod, type Part, type Vector } from './parts.ts';

/** What tells one from the others: mane, shell, stripes, trunk. */
export function marksOf(kind: Beast, build: Build, look: Look): Part[] {
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

export function headAt({ length, leg, girth, neck, head }: Build): Vector {
  return [
    length * 0.44 + neck * 0.55 + head * 0.2,
    leg + girth * 0.75 + neck * 0.85 + head * 0.12,
    head * 0.1,
  ];
}
