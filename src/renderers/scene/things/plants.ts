/** What grows. */
import { ball, bend, lump, post, rod, ring, turned, type Paint, type Part, type Vector } from './parts.ts';
import type { Look } from './look.ts';

export function tree(look: Look): Part[] {
  const { random } = look;
  const bark = look.trim('#6f4a2f', 'matt');
  const leaves = look.main(random.pick(['#4f8a3a', '#5d9640', '#44803a']), 'matt');
  const tops = Array.from({ length: 9 }, (_, index): Part => {
    const angle = index * 2.4;
    const out = index === 0 ? 0 : 0.55 + 0.3 * (index % 3);
    const wide = random.between(1.35, 1.9) * (index === 0 ? 1.35 : 1);
    return lump(
      [Math.cos(angle) * out, 3 + (index % 4) * 0.42 + (index === 0 ? 0.5 : 0), Math.sin(angle) * out],
      [wide, wide * 0.86, wide],
      0.13,
      index,
      shaded(leaves, random.between(-0.12, 0.1)),
    );
  });
  return [
    rod([0, 0, 0], [0.05, 1.6, 0], [0.17, 0.27], bark),
    rod([0.05, 1.5, 0], [-0.4, 2.7, 0.1], [0.07, 0.15], bark),
    rod([0.05, 1.5, 0], [0.5, 2.8, -0.1], [0.07, 0.15], bark),
    rod([0.05, 1.4, 0], [0.1, 2.9, 0.2], [0.08, 0.16], bark),
    ...[0, 2.1, 4.2].map((angle) =>
      rod([Math.cos(angle) * 0.42, 0, Math.sin(angle) * 0.42], [0, 0.4, 0], [0.14, 0.05], bark),
    ),
    ...tops,
  ];
}

export function pine(look: Look): Part[] {
  const needles = look.main('#2f6b45', 'matt');
  const layers = [0, 1, 2, 3, 4].map((layer): Part => {
    const radius = 1.15 - layer * 0.21;
    return turned(
      [0, 0.55 + layer * 0.62, 0],
      [
        [0.02, 0.05],
        [radius, 0],
        [radius * 0.92, 0.08],
        [radius * 0.5, 0.5],
        [0.03, 1.15],
      ],
      shaded(needles, layer * 0.03 - 0.05),
    );
  });
  return [post([0, 0.35, 0], [0.15, 0.2], 0.7, look.trim('#6a452c')), ...layers];
}

export function christmasTree(look: Look): Part[] {
  const colours = ['#d8342c', '#f0c040', '#3f7fd8', '#e8e6e0'];
  const baubles = Array.from({ length: 26 }, (_, index): Part => {
    const along = index / 26;
    const layer = Math.min(4, Math.floor(along * 5));
    const radius = (1.15 - layer * 0.21) * 0.97;
    const angle = index * 2.2;
    return ball(
      [Math.cos(angle) * radius, 0.58 + layer * 0.62, Math.sin(angle) * radius],
      0.16,
      look.own(colours[index % 4] ?? '#d8342c', 'glossy'),
    );
  });
  return [...pine(look), ...baubles, ...star([0, 4.25, 0], 0.26, look.own('#f6c83c', 'glow'))];
}

function star([x, y, z]: Vector, radius: number, paint: Paint): Part[] {
  return [0, 1, 2, 3, 4].map((point) => {
    const angle = Math.PI / 2 + (point * 2 * Math.PI) / 5;
    return rod(
      [x, y, z],
      [x + Math.cos(angle) * radius, y + Math.sin(angle) * radius, z],
      [0.01, 0.09],
      paint,
    );
  });
}

export function palm(look: Look): Part[] {
  const leaf = look.main('#4f9440', 'matt');
  const trunk = look.trim('#9a7a55');
  const spine: Vector[] = [
    [0, 0, 0],
    [0.08, 1, 0],
    [0.28, 2, 0],
    [0.62, 3, 0],
  ];
  const fronds = Array.from({ length: 9 }, (_, index): Part => {
    const angle = (index / 9) * Math.PI * 2;
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    return ball(
      [0.62 + cos * 0.8, 2.86 - (index % 2) * 0.12, sin * 0.8],
      [1.9, 0.07, 0.42],
      shaded(leaf, index % 2 === 0 ? 0.05 : -0.08),
      [0, -angle, -0.5],
    );
  });
  return [
    bend(spine, 0.13, trunk),
    ...[0.4, 0.9, 1.4, 1.9, 2.4].map((y) => ring([0.05 + (y / 3) ** 2 * 0.55, y, 0], 0.13, 0.025, trunk)),
    ...fronds,
    ...[0, 2.1, 4.2].map((angle) =>
      ball([0.62 + Math.cos(angle) * 0.16, 2.9, Math.sin(angle) * 0.16], 0.22, look.own('#6b4a2c')),
    ),
  ];
}

export function cactus(look: Look): Part[] {
  const green = look.main('#4d8a4f', 'matt');
  const arm = (side: number, from: number, to: number): Part[] => [
    rod([0, from, 0], [side * 0.36, from + 0.04, 0], 0.1, green),
    ball([side * 0.36, from + 0.04, 0], 0.2, green),
    rod([side * 0.36, from + 0.04, 0], [side * 0.36, to, 0], 0.1, green),
    ball([side * 0.36, to, 0], 0.2, green),
  ];
  return [
    post([0, 0.8, 0], [0.17, 0.19], 1.6, green, [0, 0, 0], 12),
    ball([0, 1.6, 0], 0.34, green),
    ...arm(1, 0.65, 1.25),
    ...arm(-1, 0.85, 1.4),
    ball([0.02, 1.8, 0], [0.14, 0.1, 0.14], look.trim('#e8588a')),
  ];
}

export function bush(look: Look): Part[] {
  const leaves = look.main('#4d8540', 'matt');
  return Array.from({ length: 7 }, (_, index): Part => {
    const [angle, out] = [index * 2.4, index === 0 ? 0 : 0.36];
    return lump(
      [Math.cos(angle) * out, 0.3 + (index === 0 ? 0.16 : 0), Math.sin(angle) * out],
      [0.7, 0.62, 0.7],
      0.12,
      index,
      shaded(leaves, look.random.between(-0.1, 0.1)),
    );
  });
}

export function flower(look: Look): Part[] {
  const petal = look.main(look.random.pick(['#e0445c', '#f0b93a', '#c85ab8', '#f07a4a']), 'matt');
  return bloom(look, petal, 9, 0.19, 0.13, look.trim('#f2c230'));
}

export function sunflower(look: Look): Part[] {
  return bloom(look, look.main('#f4b82a'), 16, 0.2, 0.2, look.trim('#4a2c16'));
}

function bloom(look: Look, petal: Paint, count: number, long: number, heart: number, middle: Paint): Part[] {
  const green = look.own('#4b8b3f');
  const petals = Array.from({ length: count }, (_, index): Part => {
    const angle = (index / count) * Math.PI * 2;
    const at: Vector = [
      Math.cos(angle) * (heart * 0.4 + long * 0.5),
      0.82 + Math.sin(angle) * (heart * 0.4 + long * 0.5),
      0.02 - (index % 2) * 0.02,
    ];
    return ball(at, [long * 1.25, ((heart + long) * 3.4) / count, 0.045], shaded(petal, (index % 2) * 0.08), [
      0,
      0,
      angle,
    ]);
  });
  return [
    bend('0 0 0, 0.02 0.4 -0.04, 0 0.8 0', 0.022, green),
    ball([0.12, 0.3, 0], [0.28, 0.03, 0.12], green, [0, 0, 0.5]),
    ball([-0.1, 0.42, 0], [0.24, 0.03, 0.1], green, [0, 0, -0.6]),
    ...petals,
    ball([0, 0.82, 0.03], [heart * 1.1, heart * 1.1, 0.1], middle),
  ];
}

export function mushroom(look: Look): Part[] {
  const dots = Array.from({ length: 9 }, (_, index): Part => {
    const angle = index * 2.4;
    const down = 0.25 + (index / 9) * 0.85;
    return ball(
      [
        Math.cos(angle) * Math.sin(down) * 0.3,
        0.36 + Math.cos(down) * 0.25,
        Math.sin(angle) * Math.sin(down) * 0.3,
      ],
      0.075,
      look.own('#fbf6ea'),
    );
  });
  return [
    turned([0, 0, 0], '0 0, 0.15 0, 0.13 0.1, 0.09 0.22, 0.11 0.38, 0 0.38', look.trim('#f2e8d4')),
    turned(
      [0, 0.34, 0],
      '0 0.02, 0.3 0, 0.32 0.04, 0.27 0.15, 0.16 0.24, 0 0.28',
      look.main('#cf3b2c', 'glossy'),
    ),
    ...dots,
  ];
}

export function rock(look: Look): Part[] {
  const { random } = look;
  const stone = look.main('#8d8a84', 'stone');
  return [
    lump([0, 0.36, 0], [1.1, 0.84, 0.9], 0.3, random.whole(0, 99), stone),
    lump([0.5, 0.17, 0.24], [0.5, 0.42, 0.44], 0.3, random.whole(0, 99), stone),
  ];
}

export function shaded(paint: Paint, amount: number): Paint {
  const [red, green, blue] = paint.colour;
  const by = 1 + amount;
  return { ...paint, colour: [Math.min(255, red * by), Math.min(255, green * by), Math.min(255, blue * by)] };
}
