/** Animals: four legs under a rounded body, a head that is turned to the front, and what tells one from the others. */
import { pointsOf } from '../../points.ts';
import { times, type Vector } from '../vector.ts';
import {
  ball,
  both,
  forward,
  post,
  ring,
  rod,
  shaded,
  sideways,
  spiral,
  type Paint,
  type Part,
} from './parts.ts';
import { land, thing, top, type Thing } from './thing.ts';

/** In metres. */
interface Build {
  length: number;
  leg: number;
  girth: number;
  head: number;
  snout: number;
  legThickness: number;
  /** The height of its body's middle. */
  high: number;
  /** The middle of its head. */
  at: Vector;
}

type Ears = 'none' | 'points' | 'round' | 'flaps' | 'long' | 'wide';
type Tail = 'up' | 'down' | 'bush' | 'curl' | 'stub';
type Marks = (build: Build, coat: Paint, trim: Paint) => Part[];

/** Height, at what share of it others stand and on how much; colours; length, leg, girth, neck, head, snout and thickness of its legs. */
export const animals = {
  cat: beast('0.45 0.6', '#d08a3e #f4e8d4', '0.46 0.19 0.23 0.03 0.26 0.01', 'points', 'up', whiskers),
  dog: beast('0.65 0.6', '#b98450 #f4e8d4', '0.6 0.3 0.26 0.16 0.25 0.16', 'flaps', 'up', bib),
  fox: beast('0.55 0.6', '#cf6426', '0.55 0.24 0.22 0.12 0.22 0.14', 'points', 'bush', whiteTip),
  horse: beast('2 0.68 0.5', '#7a4a2a #2b1c14', '1.5 0.95 0.58 0.62 0.36 0.3 0.075', 'points', 'down', mane),
  unicorn: beast(
    '2 0.68 0.5',
    '#f4f2ec #e6c3d8',
    '1.5 0.95 0.58 0.62 0.36 0.3 0.075',
    'points',
    'down',
    maneAndHorn,
  ),
  zebra: beast('1.8 0.68 0.5', '#f1efe8', '1.4 0.85 0.58 0.5 0.36 0.28 0.075', 'points', 'down', stripes),
  cow: beast(
    '1.5 0.75 0.5',
    '#efe9de #3a2c26',
    '1.6 0.7 0.72 0.22 0.42 0.24',
    'wide',
    'down',
    patchesAndHorns,
  ),
  pig: beast('0.8 0.8', '#eda6a4', '0.9 0.28 0.5 0.04 0.38 0.14', 'points', 'curl'),
  sheep: beast('0.95 0.85', '#f2ece0', '0.9 0.42 0.6 0.16 0.28 0.1', 'wide', 'stub', wool),
  bear: beast('1.1 0.75', '#7b5233 #c69c72', '0.95 0.42 0.66 0.1 0.46 0.16 0.14', 'round', 'stub', muzzle),
  tiger: beast('1.05 0.7', '#e08a2c', '1.3 0.5 0.48 0.16 0.42 0.14', 'round', 'up', stripes),
  lion: beast('1.1 0.7', '#d3a25a', '1.3 0.5 0.48 0.16 0.42 0.16', 'round', 'up', greatMane),
  elephant: beast(
    '2.9 0.8 0.5',
    '#8d9196',
    '2.2 1.1 1.4 0.2 0.95 0.1 0.24',
    'none',
    'down',
    trunkTusksAndEars,
  ),
  giraffe: beast('4.4 0.5 0.4', '#d9a55a #8a5524', '1.3 1.5 0.66 1.7 0.36 0.26 0.085', 'wide', 'down', spots),
  rabbit: beast('0.4 0.5', '#c9b59b', '0.32 0.09 0.24 0.06 0.2 0.03', 'long', 'stub'),
  turtle: beast('0.3 0.72', '#7c9a4e #5a6b2e', '0.5 0.1 0.2 0.1 0.16 0.04', 'none', 'stub', shell),
};

function beast(
  stand: string,
  colours: string,
  sizes: string,
  ears: Ears,
  tail: Tail,
  marks: Marks = () => [],
): Thing {
  const [length = 0, leg = 0, girth = 0, neck = 0, head = 0, snout = 0, legThickness = girth * 0.16] =
    numbersOf(sizes);
  const [height = 0, rest = 0, restRoom] = numbersOf(stand);
  const x = length * 0.44 + neck * 0.55 + head * 0.2;
  const y = leg + girth * 0.75 + neck * 0.85 + head * 0.12;
  const build: Build = {
    length,
    leg,
    girth,
    head,
    snout,
    legThickness,
    high: leg + girth * 0.42,
    at: [x, y, head * 0.1],
  };
  const [coat = '', trim = coat] = colours.split(' ');
  return thing(height, top(land, rest, restRoom), `${coat} cloth, ${trim} cloth`, (main, second) => [
    ...bodyOf(build, main),
    ...headOf(build, main),
    ...both((side) => earOf(ears, side, build, main)),
    ...tailOf(tail, build, main),
    ...marks(build, main, second),
  ]);
}

function numbersOf(text: string): number[] {
  return text.split(' ').map(Number);
}

function bodyOf({ length, girth, high, legThickness }: Build, coat: Paint): Part[] {
  return [
    ball([0, high, 0], [length, girth * 0.94, girth * 0.86], coat),
    ball([length * 0.28, high + girth * 0.04, 0], [length * 0.5, girth, girth * 0.92], coat),
    ball([-length * 0.28, high + girth * 0.02, 0], [length * 0.5, girth * 0.98, girth * 0.92], coat),
    ...both((side) =>
      both((end) => {
        const hip: Vector = [end * length * 0.33, high, side * girth * 0.24];
        const foot: Vector = [end * length * 0.37, 0, side * girth * 0.27];
        return rod(foot, hip, [legThickness * 1.25, legThickness], coat);
      }),
    ),
  ];
}

function headOf({ length, leg, girth, head, snout, at: [x, y, z] }: Build, coat: Paint): Part[] {
  const face: Vector = [x + snout * 0.45, y - head * 0.14, z + head * 0.3 + snout * 0.5];
  const nose: Vector = [face[0] + snout * 0.28, face[1] + head * 0.1, face[2] + (head * 0.24 + snout * 0.45)];
  return [
    rod([length * 0.36, leg + girth * 0.5, 0], [x, y, z], [head * 0.3, girth * 0.34], coat),
    ball([x, y, z], [head, head * 0.94, head * 0.96], coat),
    ball(face, [head * 0.56 + snout * 0.2, head * 0.46, head * 0.5 + snout], coat, [0, 0.5, 0]),
    ball(nose, head * 0.16, '#2b1d18 glossy'),
    ball([x - head * 0.16, y + head * 0.1, z + head * 0.43], head * 0.13, '#17130f glossy'),
    ball([x + head * 0.28, y + head * 0.1, z + head * 0.37], head * 0.13, '#17130f glossy'),
  ];
}

function earOf(ears: Ears, side: -1 | 1, { head, at: [x, y, z] }: Build, coat: Paint): Part[] | Part {
  const ear = (out: number, up: number, size: Vector, lean: number): Part =>
    ball([x + side * head * out, y + head * up, z], times(size, head), coat, [0, 0, side * lean]);
  switch (ears) {
    case 'none':
      return [];
    case 'points': {
      const tip: Vector = [x + side * head * 0.3, y + head * 0.52, z];
      return post(tip, [0.005, head * 0.17], head * 0.42, coat, [0, 0, -side * 0.25]);
    }
    case 'round':
      return ear(0.3, 0.42, [0.3, 0.3, 0.16], 0);
    case 'flaps':
      return ear(0.48, 0.05, [0.16, 0.6, 0.34], 0.25);
    case 'long':
      return ear(0.3, 0.84, [0.2, 1.1, 0.14], -0.15);
    case 'wide':
      return ear(0.55, 0.25, [0.5, 0.18, 0.12], 0.3);
  }
}

function tailOf(tail: Tail, { length, leg, girth }: Build, coat: Paint): Part[] {
  const from: Vector = [-length * 0.48, leg + girth * 0.55, 0];
  const [x, y] = from;
  switch (tail) {
    case 'up': {
      const middle: Vector = [x - length * 0.22, y + girth * 0.35, 0];
      const tip: Vector = [x - length * 0.22, y + girth * 1.2, 0];
      return [
        rod(from, middle, girth * 0.1, coat),
        rod(middle, tip, [girth * 0.07, girth * 0.1], coat),
        ball(tip, girth * 0.16, coat),
        ball(middle, girth * 0.2, coat),
      ];
    }
    case 'down':
      return [
        rod([x, y + girth * 0.15, 0], [x - length * 0.12, leg * 0.5, 0], [girth * 0.05, girth * 0.12], coat),
      ];
    case 'bush':
      return [
        ball(
          [x - length * 0.3, y - girth * 0.1, 0],
          [length * 0.75, girth * 0.6, girth * 0.55],
          coat,
          [0, 0, 0.25],
        ),
      ];
    case 'curl':
      return [ring([x - girth * 0.06, y, 0], girth * 0.09, girth * 0.03, coat, forward)];
    case 'stub':
      return [ball([x - girth * 0.02, y, 0], girth * 0.28, coat)];
  }
}

function bib({ length, girth, high }: Build, _: Paint, trim: Paint): Part[] {
  const size: Vector = [girth * 0.6, girth * 0.7, girth * 0.6];
  return [ball([length * 0.4, high + girth * 0.02, girth * 0.14], size, trim)];
}

function whiskers(build: Build, coat: Paint, trim: Paint): Part[] {
  const [x, y, z] = build.at;
  const [cheek, front] = [y - build.head * 0.16, z + build.head * 0.42];
  return [
    ...bib(build, coat, trim),
    ...both((side) =>
      [-0.03, 0, 0.03].map((rise) =>
        rod(
          [x + 0.03 + side * 0.04, cheek + rise / 3, front],
          [x + 0.03 + side * 0.17, cheek + rise, front - 0.02],
          0.002,
          '#f6f2ea',
        ),
      ),
    ),
  ];
}

function whiteTip({ length, leg, girth }: Build): Part[] {
  const size: Vector = [length * 0.26, girth * 0.36, girth * 0.34];
  return [ball([-length * 1.05, leg + girth * 0.27, 0], size, '#f6efe4 cloth')];
}

function mane({ head, at: [x, y, z] }: Build, _: Paint, trim: Paint): Part[] {
  return [0, 1, 2, 3].map((step) =>
    ball([x - head * 0.3 - step * 0.09, y + head * 0.3 - step * 0.16, z - 0.02], [0.2, 0.26, 0.1], trim),
  );
}

function maneAndHorn(build: Build, coat: Paint, trim: Paint): Part[] {
  const [x, y, z] = build.at;
  const up = build.head * 0.45;
  return [
    ...mane(build, coat, trim),
    rod([x + 0.1, y + up * 0.8, z], [x + 0.34, y + up + 0.42, z], [0.004, 0.04], '#e2b04a gold'),
  ];
}

function greatMane({ head, at: [x, y, z] }: Build): Part[] {
  const middle: Vector = [x - head * 0.12, y - head * 0.06, z - head * 0.14];
  return [ball(middle, [head * 1.5, head * 1.6, head * 0.95], '#8a4f22 cloth')];
}

function stripes({ length, girth, high }: Build): Part[] {
  return [-0.35, -0.18, 0, 0.18, 0.35].map((along) =>
    ring([along * length, high, 0], girth * 0.42, girth * 0.055, '#2a1c14 cloth', sideways),
  );
}

function patchesAndHorns({ length, girth, high, head, at: [x, y, z] }: Build, _: Paint, trim: Paint): Part[] {
  const size: Vector = [girth * 0.5, girth * 0.4, girth * 0.32];
  return [
    ball([length * -0.25, high + girth * 0.08, girth * 0.33], size, trim),
    ball([length * 0.05, high - girth * 0.06, girth * 0.33], size, trim),
    ball([length * 0.3, high + girth * 0.12, girth * 0.33], size, trim),
    ...both((side) => {
      const horn: Vector = [x + side * head * 0.34, y + head * 0.5, z];
      return post(horn, [0.008, head * 0.08], head * 0.3, '#d8cfb8', [0, 0, -side * 0.6]);
    }),
  ];
}

function wool({ length, girth, high }: Build, coat: Paint): Part[] {
  return spiral(26, (cos, sin, index) => {
    const along = ((index % 7) - 3) / 3.4;
    const out = girth * 0.36 * Math.sqrt(1 - along * along * 0.55);
    return ball([along * length * 0.42, high + sin * out, cos * out], girth * 0.44, coat);
  });
}

function muzzle({ head, at: [x, y, z] }: Build, _: Paint, trim: Paint): Part[] {
  const middle: Vector = [x + 0.09, y - head * 0.2, z + head * 0.42];
  return [ball(middle, [head * 0.5, head * 0.36, head * 0.3], trim)];
}

function trunkTusksAndEars({ head, at: [x, y, z] }: Build, coat: Paint): Part[] {
  const [from, to]: [Vector, Vector] = [
    [x + head * 0.15, y - head * 0.1, z + head * 0.42],
    [x + head * 0.35, y - head * 1.1, z + head * 0.75],
  ];
  return [
    rod(from, to, [head * 0.15, head * 0.22], coat),
    ...both((side) => [
      rod(
        [x + side * head * 0.26 + 0.06, y - head * 0.3, z + head * 0.4],
        [x + side * head * 0.3 + 0.1, y - head * 0.55, z + head * 0.85],
        [0.02, head * 0.06],
        '#efe6d0',
      ),
      ball(
        [x + side * head * 0.6, y, z - head * 0.1],
        [head * 0.75, head * 0.95, head * 0.1],
        shaded(coat, -0.1),
        [0, -side * 0.4, 0],
      ),
    ]),
  ];
}

function spots({ length, girth, high }: Build, _: Paint, trim: Paint): Part[] {
  return pointsOf<readonly [number, number]>('-0.3 0.12, 0 0.2, 0.25 0, -0.1 -0.15').map(([along, up]) =>
    ball([along * length, high + up * girth, girth * 0.36], [0.3, 0.24, 0.2], trim),
  );
}

function shell({ length, leg, girth }: Build, _: Paint, trim: Paint): Part[] {
  return [
    ball([0, leg + girth * 0.5, 0], [length * 1.05, girth * 1.5, length * 0.85], {
      ...trim,
      material: 'matt',
    }),
    ring([0, leg + girth * 0.32, 0], length * 0.43, girth * 0.1, '#8a7a3a'),
  ];
}
