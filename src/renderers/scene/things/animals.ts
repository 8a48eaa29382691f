/** Four-legged animals: their sizes and features. */
import { pointsOf, times, type Vector } from '../vector.ts';
import {
  ball,
  bend,
  both,
  forward,
  type Paint,
  type Part,
  post,
  ring,
  rod,
  shaded,
  sideways,
  spiral,
} from './parts.ts';
import { land, thing, top, type Thing } from './thing.ts';

type Marks = (build: Build, coat: Paint, trim: Paint) => Part[];

/**
 * Arguments of `beast`. First: height in metres, share of it where others stand, and free share of the back.
 * Second: colours. Third: length, leg, girth, neck, head, snout and thickness of legs.
 */
export const animals = {
  cat: beast('0.45 0.6', '#d08a3e #f4e8d4', '0.46 0.19 0.23 0.03 0.26 0.01', 'points', 'around', whiskers),
  dog: beast('0.65 0.6', '#b98450 #f4e8d4', '0.6 0.26 0.27 0.1 0.27 0.09', 'flaps', 'up', bib),
  fox: beast('0.55 0.6', '#cf6426', '0.55 0.24 0.22 0.12 0.22 0.14', 'points', 'bush', whiteTip),
  raccoon: beast('0.5 0.6', '#8d8880 #2c2a2a', '0.5 0.22 0.28 0.06 0.28 0.08', 'round', 'bush', mask),
  squirrel: beast('0.35 0.6', '#a8653a #f4e8d4', '0.34 0.12 0.22 0.1 0.22 0.05', 'points', 'plume', bib),
  gecko: beast('0.2 0.6', '#6fae4a', '0.5 0.07 0.13 0.08 0.15 0.07', 'none', 'down'),
  sloth: beast('0.7 0.75', '#a3906f #54432f', '0.7 0.34 0.46 0.1 0.36 0.05 0.1', 'none', 'stub', eyePatches),
  rat: beast('0.22 0.6', '#8f8a88', '0.32 0.06 0.2 0.02 0.18 0.08', 'round', 'down'),
  goat: beast('0.9 0.75', '#e9e2d4', '1 0.45 0.46 0.24 0.3 0.14', 'wide', 'stub', horns),
  horse: beast('2 0.68 0.5', '#7a4a2a #2b1c14', '1.5 0.9 0.6 0.48 0.4 0.36 0.08', 'points', 'down', mane),
  unicorn: beast('2 0.68 0.5', '#f4f2ec #e6c3d8', '1.5 0.9 0.6 0.48 0.4 0.36 0.08', 'points', 'down', horned),
  zebra: beast('1.8 0.68 0.5', '#f1efe8', '1.4 0.85 0.58 0.5 0.36 0.28 0.075', 'points', 'down', stripes),
  cow: beast('1.5 0.75 0.5', '#efe9de #3a2c26', '1.6 0.7 0.72 0.22 0.42 0.24', 'wide', 'down', pied),
  pig: beast('0.8 0.8', '#eda6a4', '0.9 0.28 0.5 0.04 0.38 0.14', 'points', 'curl'),
  sheep: beast('0.95 0.85', '#f2ece0', '0.9 0.42 0.6 0.16 0.28 0.1', 'wide', 'stub', wool),
  bear: beast('1.1 0.75', '#7b5233 #c69c72', '0.95 0.42 0.66 0.1 0.46 0.16 0.14', 'round', 'stub', muzzle),
  panda: beast('1.1 0.75', '#f2f0ea #26262b', '0.95 0.36 0.66 0.1 0.5 0.1 0.13', 'round', 'stub', patches),
  tiger: beast('1.05 0.7', '#e08a2c', '1.3 0.5 0.48 0.16 0.42 0.14', 'round', 'up', stripes),
  lion: beast('1.1 0.7', '#d3a25a', '1.3 0.5 0.48 0.16 0.42 0.16', 'round', 'up', greatMane),
  elephant: beast('2.9 0.8 0.5', '#8d9196', '2.2 1.1 1.4 0.2 0.95 0.1 0.24', 'none', 'down', trunk),
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
  const [length = 0, leg = 0, girth = 0, neck = 0, head = 0, snout = 0, thick = girth * 0.13] =
    numbersOf(sizes);
  const [height = 0, rest = 0, restRoom] = numbersOf(stand);
  const sits = tail === 'around';
  const x = sits ? length * 0.32 : length * 0.44 + neck * 0.55 + head * 0.2;
  const y = (sits ? girth * 1.15 : leg + girth * 0.75) + neck * 0.85 + head * (sits ? 0.62 : 0.12);
  const build: Build = {
    length,
    leg,
    girth,
    head,
    snout,
    thick,
    high: sits ? girth * 1.1 : leg + girth * 0.42,
    at: [x, y, head * 0.1],
  };
  const [coat = '', trim = coat] = colours.split(' ');
  return thing(height, top(land, rest, restRoom), `${coat} cloth, ${trim} cloth`, (main, second) => [
    ...bodyOf(build, ears, tail, main, second, marks === patches ? second : main),
    ...marks(build, main, second),
  ]);
}

function numbersOf(text: string): number[] {
  return text.split(' ').map(Number);
}

function bib({ length, girth, high }: Build, _: Paint, trim: Paint): Part[] {
  const size: Vector = [girth * 0.6, girth * 0.7, girth * 0.6];
  return [ball([length * 0.4, high + girth * 0.02, girth * 0.14], size, trim)];
}

function whiskers({ head, at: [x, y, z] }: Build): Part[] {
  const [cheek, front] = [y - head * 0.16, z + head * 0.42];
  return both((side) =>
    [-0.03, 0, 0.03].map((rise) => {
      const from: Vector = [x + 0.03 + side * 0.04, cheek + rise / 3, front];
      return rod(from, [x + 0.03 + side * 0.17, cheek + rise, front - 0.02], 0.002, '#f6f2ea');
    }),
  );
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

function horned(build: Build, coat: Paint, trim: Paint): Part[] {
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
    ring([along * length, high, 0], girth * 0.452, girth * 0.05, '#2a1c14 cloth', sideways),
  );
}

function pied(build: Build, _: Paint, trim: Paint): Part[] {
  const { length, girth, high } = build;
  const size: Vector = [girth * 0.52, girth * 0.44, girth * 0.3];
  return [
    ball([length * -0.25, high + girth * 0.08, girth * 0.37], size, trim),
    ball([length * 0.05, high - girth * 0.06, girth * 0.37], size, trim),
    ball([length * 0.3, high + girth * 0.12, girth * 0.37], size, trim),
    ...horns(build),
  ];
}

function horns({ head, at: [x, y, z] }: Build): Part[] {
  return both((side) => {
    const horn: Vector = [x + side * head * 0.34, y + head * 0.5, z];
    return post(horn, [0.008, head * 0.08], head * 0.3, '#d8cfb8', [0, 0, -side * 0.6]);
  });
}

function wool({ length, girth, high }: Build, coat: Paint): Part[] {
  return spiral(34, (cos, sin, index) => {
    const along = (index - 16.5) / 17;
    const out = girth * 0.42 * Math.sqrt(1 - along * along * 0.8);
    return ball([along * length * 0.48, high + sin * out, cos * out], girth * 0.4, coat);
  });
}

function muzzle({ head, at: [x, y, z] }: Build, _: Paint, trim: Paint): Part[] {
  const middle: Vector = [x + 0.09, y - head * 0.2, z + head * 0.42];
  return [ball(middle, [head * 0.5, head * 0.36, head * 0.3], trim)];
}

/** Patches of a panda: around the eyes, on the ears and over the shoulders. */
function patches(build: Build, coat: Paint, trim: Paint): Part[] {
  const { length, leg, girth, head, at } = build;
  const [x, y, z] = at;
  return [
    ...eyePatches(build, coat, trim),
    ...both((side) =>
      ball([x + side * head * 0.3, y + head * 0.43, z], times([0.32, 0.32, 0.18], head), trim),
    ),
    ball([length * 0.27, leg + girth * 0.4, 0], times([0.5, 1.06, 1.04], girth), trim),
  ];
}

function mask(build: Build, coat: Paint, trim: Paint): Part[] {
  const { length, leg, girth } = build;
  const rings = [0.62, 0.82, 1].map((along) => {
    const size: Vector = [girth * 0.14, girth * (0.78 - along * 0.2), girth * (0.72 - along * 0.2)];
    return ball([-length * along, leg + girth * (0.56 - along * 0.2), 0], size, trim, [0, 0, 0.25]);
  });
  return [...eyePatches(build, coat, trim), ...rings];
}

function eyePatches({ head, at: [x, y, z] }: Build, _: Paint, trim: Paint): Part[] {
  const size = times([0.24, 0.3, 0.12], head);
  return [
    ball([x - head * 0.16, y + head * 0.09, z + head * 0.4], size, trim, [0, 0, 0.5]),
    ball([x + head * 0.28, y + head * 0.09, z + head * 0.34], size, trim, [0, 0, -0.5]),
  ];
}

function trunk({ head, at: [x, y, z] }: Build, coat: Paint): Part[] {
  const from: Vector = [x + head * 0.15, y - head * 0.1, z + head * 0.42];
  const ear: Vector = [head * 0.75, head * 0.95, head * 0.1];
  return [
    rod(from, [x + head * 0.35, y - head * 1.1, z + head * 0.75], [head * 0.15, head * 0.22], coat),
    ...both((side) => {
      const tusk: Vector = [x + side * head * 0.26 + 0.06, y - head * 0.3, z + head * 0.4];
      const tip: Vector = [x + side * head * 0.3 + 0.1, y - head * 0.55, z + head * 0.85];
      const beside: Vector = [x + side * head * 0.6, y, z - head * 0.1];
      return [
        rod(tusk, tip, [0.02, head * 0.06], '#efe6d0'),
        ball(beside, ear, shaded(coat, -0.1), [0, -side * 0.4, 0]),
      ];
    }),
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

/** Sizes of an animal in metres. */
interface Build {
  length: number;
  leg: number;
  girth: number;
  head: number;
  snout: number;
  /** Thickness of the legs. */
  thick: number;
  /** Height of the centre of the body. */
  high: number;
  /** Centre of the head. */
  at: Vector;
}

type Ears = 'none' | 'points' | 'round' | 'flaps' | 'long' | 'wide';
type Tail = 'around' | 'up' | 'down' | 'bush' | 'curl' | 'stub' | 'plume';

/** Returns a body that stands or sits, with its head turned to the front. */
function bodyOf(build: Build, ears: Ears, tail: Tail, coat: Paint, paws: Paint, legs: Paint): Part[] {
  return [
    ...(tail === 'around' ? sittingOf : standingOf)(build, coat, paws, legs),
    ...headOf(build, coat),
    ...both((side) => earOf(ears, side, build, coat)),
    ...tailOf(tail, build, coat),
  ];
}

function standingOf(
  { length, leg, girth, high, thick, head, at }: Build,
  coat: Paint,
  paws: Paint,
  legs: Paint,
): Part[] {
  const [end, wide] = [length * 0.3, girth * 0.96];
  return [
    bend(`${-end} ${high} 0, 0 ${high - girth * 0.03} 0, ${end} ${high} 0`, wide / 2, coat),
    ...both((side) => ball([side * end, high, 0], wide, coat)),
    rod([length * 0.36, leg + girth * 0.5, 0], at, [head * 0.3, girth * 0.34], coat),
    ...both((side) =>
      both((front) => {
        const [x, z] = [front * length * 0.33, side * girth * 0.25];
        // No two feet are side by side. Front knees bend forwards, hind knees backwards.
        const [knee, foot, sole] = [
          x + front * length * 0.05,
          x + front * side * length * 0.05,
          thick * 0.62,
        ];
        return [
          ball([x, leg + girth * 0.26, z * 1.1], [girth * 0.42, girth * 0.72, girth * 0.4], legs),
          bend(`${x} ${high} ${z}, ${knee} ${leg * 0.62} ${z}, ${foot} ${sole} ${z}`, thick, legs),
          ball([foot + thick * 0.4, sole, z], times([2.5, 1.25, 2.15], thick), paws),
        ];
      }),
    ),
  ];
}

function sittingOf({ length, girth, thick }: Build, coat: Paint, paws: Paint): Part[] {
  return [
    ball([-length * 0.12, girth * 0.5, 0], times([1.25, 1, 1.1], girth), coat),
    ball([length * 0.06, girth * 0.95, 0], times([0.92, 1.5, 0.9], girth), coat, [0, 0, -0.35]),
    ...both((side) => {
      const [thigh, aside, sole] = [side * girth * 0.4, side * girth * 0.2, thick * 0.6];
      return [
        ball([-length * 0.04, girth * 0.36, thigh], times([0.85, 0.72, 0.4], girth), coat),
        ball([length * 0.18, sole, thigh * 1.25], times([3.6, 1.5, 2.4], thick), paws),
        rod([length * 0.33, sole, aside], [length * 0.22, girth * 1.05, aside], thick, coat),
        ball([length * 0.36, sole, aside], times([3.2, 1.5, 2.5], thick), paws),
      ];
    }),
  ];
}

function headOf({ head, snout, at: [x, y, z] }: Build, coat: Paint): Part[] {
  const face: Vector = [x + snout * 0.45, y - head * 0.14, z + head * 0.3 + snout * 0.5];
  const nose: Vector = [face[0] + snout * 0.28, face[1] + head * 0.1, face[2] + (head * 0.24 + snout * 0.45)];
  return [
    ball([x, y, z], [head, head * 0.94, head * 0.96], coat),
    ball(face, [head * 0.56 + snout * 0.2, head * 0.46, head * 0.5 + snout], coat, [0, 0.5, 0]),
    ball(nose, head * 0.16, '#2b1d18 glossy'),
    ball([x - head * 0.16, y + head * 0.1, z + head * 0.43], head * 0.13, '#17130f glossy'),
    ball([x + head * 0.28, y + head * 0.1, z + head * 0.37], head * 0.13, '#17130f glossy'),
  ];
}

function earOf(ears: Ears, side: -1 | 1, { head, at: [x, y, z] }: Build, coat: Paint): Part[] | Part {
  const ear = (out: number, up: number, size: Vector, lean: number): Part =>
    ball([x + side * head * out, y + head * up, z], times(size, head), shaded(coat, -0.12), [
      0,
      0,
      side * lean,
    ]);
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

function tailOf(tail: Tail, { length, leg, girth, thick }: Build, coat: Paint): Part[] {
  const from: Vector = [-length * 0.46, leg + girth * 0.55, 0];
  const [x, y] = from;
  switch (tail) {
    case 'around': {
      const [back, out, tip]: [number, number, Vector] = [
        -length * 0.3,
        girth * 0.72,
        [length * 0.2, thick, girth * 0.8],
      ];
      return [
        bend([[back, thick, 0], [back * 1.5, thick, out * 0.6], [0, thick, out], tip], thick, coat),
        ball(tip, thick * 2, coat),
      ];
    }
    case 'up': {
      const [out, tip]: [number, Vector] = [x - length * 0.2, [x - length * 0.2, y + girth * 1.15, 0]];
      return [
        bend([from, [out, y + girth * 0.25, 0], [out * 1.1, y + girth * 0.75, 0], tip], girth * 0.085, coat),
        ball(tip, girth * 0.17, coat),
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
    case 'plume':
      return [
        ball([x - girth * 0.3, y + girth * 0.75, 0], times([0.7, 2, 0.6], girth), coat, [0, 0, 0.2]),
        ball([x - girth * 0.7, y + girth * 1.55, 0], times([0.8, 0.6, 0.5], girth), coat),
      ];
    case 'curl':
      return [ring([x - girth * 0.06, y, 0], girth * 0.09, girth * 0.03, coat, forward)];
    case 'stub':
      return [ball([x - girth * 0.02, y, 0], girth * 0.28, coat)];
  }
}
