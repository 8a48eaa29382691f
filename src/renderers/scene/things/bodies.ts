/** The body of an animal with four legs, standing or sitting: its head is turned to the front. */
import { times, type Vector } from '../vector.ts';
import { ball, bend, post, ring, rod, shaded, type Paint, type Part } from './parts.ts';
import { both, forward } from './placing.ts';

/** In metres. */
export interface Build {
  length: number;
  leg: number;
  girth: number;
  head: number;
  snout: number;
  /** Of its legs. */
  thick: number;
  /** The height of its body's middle. */
  high: number;
  /** The middle of its head. */
  at: Vector;
}

export type Ears = 'none' | 'points' | 'round' | 'flaps' | 'long' | 'wide';
export type Tail = 'around' | 'up' | 'down' | 'bush' | 'curl' | 'stub' | 'plume';

export function bodyOf(build: Build, ears: Ears, tail: Tail, coat: Paint, paws: Paint, legs: Paint): Part[] {
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
        // No two feet are side by side; the knees of forelegs are bent forwards, those of hind legs backwards.
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
