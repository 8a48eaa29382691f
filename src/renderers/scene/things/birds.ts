/** Birds and what swims. */
import { ball, post, rod, slab, type Part } from './parts.ts';
import type { Look } from './look.ts';

export function bird(look: Look): Part[] {
  const coat = look.main('#4f86c6', 'cloth');
  return [
    ball([0, 0.16, 0], [0.3, 0.2, 0.19], coat, [0, 0, 0.35]),
    ball([0.13, 0.28, 0.02], 0.15, coat),
    ball([0.06, 0.15, 0.05], [0.18, 0.15, 0.14], look.trim('#f0d9b8', 'cloth')),
    post([0.225, 0.275, 0.05], [0.002, 0.025], 0.08, look.own('#e59a2c'), [0.4, 0, -Math.PI / 2]),
    ball([0.15, 0.3, 0.085], 0.03, look.own('#15110e', 'glossy')),
    ball([-0.04, 0.17, 0.09], [0.24, 0.13, 0.05], coat, [0, 0, 0.45]),
    ball([-0.04, 0.17, -0.09], [0.24, 0.13, 0.05], coat, [0, 0, 0.45]),
    ball([-0.19, 0.1, 0], [0.2, 0.035, 0.09], coat, [0, 0, 0.5]),
    ...[-0.04, 0.04].map((z) => rod([0.01, 0, z], [0, 0.1, z], 0.009, look.own('#d98a2c'))),
  ];
}

export function duck(look: Look): Part[] {
  const coat = look.main('#f5f2ea', 'cloth');
  return [
    ball([0, 0.17, 0], [0.6, 0.32, 0.36], coat),
    ball([-0.28, 0.27, 0], [0.26, 0.12, 0.16], coat, [0, 0, -0.6]),
    rod([0.2, 0.2, 0], [0.24, 0.52, 0.02], [0.05, 0.09], coat),
    ball([0.25, 0.54, 0.03], [0.17, 0.16, 0.16], coat),
    ball([0.36, 0.52, 0.07], [0.16, 0.05, 0.09], look.trim('#e88a1a', 'plastic'), [0, -0.4, 0]),
    ball([0.29, 0.57, 0.1], 0.03, look.own('#15110e', 'glossy')),
    ...[-1, 1].map((side) => ball([-0.06, 0.23, side * 0.16], [0.4, 0.22, 0.08], coat, [0, 0, -0.1])),
  ];
}

export function owl(look: Look): Part[] {
  const coat = look.main('#8b6b4a', 'cloth');
  return [
    ball([0, 0.26, 0], [0.36, 0.52, 0.32], coat),
    ball([0, 0.5, 0.02], [0.34, 0.28, 0.3], coat),
    ball([0, 0.24, 0.06], [0.26, 0.38, 0.24], look.trim('#d9c3a0', 'cloth')),
    ...[-1, 1].flatMap((side) => [
      ball([side * 0.08, 0.52, 0.14], [0.14, 0.14, 0.06], look.own('#e8d8b8')),
      ball([side * 0.08, 0.52, 0.165], [0.075, 0.075, 0.04], look.own('#f0a818', 'glossy')),
      ball([side * 0.08, 0.52, 0.183], 0.04, look.own('#120d0a', 'glossy')),
      post([side * 0.12, 0.66, 0.02], [0.004, 0.05], 0.13, coat, [0, 0, -side * 0.3]),
      ball([side * 0.18, 0.27, 0], [0.08, 0.4, 0.24], coat, [0, 0, side * 0.12]),
      ball([side * 0.07, 0.015, 0.1], [0.09, 0.04, 0.1], look.own('#c98a2a')),
    ]),
    post([0, 0.47, 0.18], [0.025, 0.003], 0.07, look.own('#c98a2a'), [-0.3, 0, 0]),
  ];
}

export function penguin(look: Look): Part[] {
  const coat = look.main('#23262d', 'cloth');
  return [
    ball([0, 0.36, 0], [0.42, 0.7, 0.38], coat),
    ball([0, 0.34, 0.06], [0.34, 0.6, 0.32], look.trim('#f6f3ec', 'cloth')),
    ball([0, 0.76, 0.01], [0.28, 0.28, 0.27], coat),
    ...[-1, 1].flatMap((side) => [
      ball([side * 0.065, 0.77, 0.095], [0.11, 0.13, 0.08], look.own('#f6f3ec', 'cloth')),
      ball([side * 0.065, 0.785, 0.13], 0.035, look.own('#0f0d0c', 'glossy')),
      ball([side * 0.22, 0.38, 0], [0.07, 0.42, 0.18], coat, [0, 0, side * 0.28]),
      ball([side * 0.09, 0.025, 0.12], [0.14, 0.06, 0.22], look.own('#ee9a22', 'plastic')),
    ]),
    post([0, 0.73, 0.17], [0.004, 0.035], 0.11, look.own('#ee9a22', 'plastic'), [Math.PI / 2, 0, 0]),
  ];
}

const fin = [
  [0, 0],
  [-0.2, 0.17],
  [-0.17, 0],
  [-0.2, -0.17],
] as const;

export function fish(look: Look): Part[] {
  const coat = look.main('#ee7f2a', 'glossy');
  return [
    ball([0, 0.2, 0], [0.56, 0.3, 0.17], coat),
    slab([-0.23, 0.2, 0], fin, 0.03, look.trim('#f7b267', 'glossy')),
    slab([0.02, 0.34, 0], '-0.12 -0.02, 0.1 -0.02, -0.1 0.1', 0.02, look.trim('#f7b267', 'glossy')),
    ...[-1, 1].map((side) => ball([0.17, 0.23, side * 0.07], 0.045, look.own('#101010', 'glossy'))),
  ];
}

export function whale(look: Look): Part[] {
  const coat = look.main('#4a6788', 'glossy');
  return [
    ball([0.3, 0.9, 0], [4, 1.7, 1.7], coat),
    ball([0.5, 0.7, 0], [3.4, 1.3, 1.6], look.trim('#dfe6ea', 'glossy')),
    rod([-1.2, 1, 0], [-2.4, 1.5, 0], [0.12, 0.5], coat),
    ...[-1, 1].flatMap((side) => [
      ball([-2.6, 1.6, side * 0.4], [0.5, 0.12, 0.9], coat, [0, side * 0.5, 0]),
      ball([0.8, 0.4, side * 0.9], [0.7, 0.14, 0.8], coat, [side * 0.5, side * 0.5, 0]),
      ball([1.7, 0.95, side * 0.66], 0.12, look.own('#0e0e10', 'glossy')),
    ]),
  ];
}

export function butterfly(look: Look): Part[] {
  const wing = look.main('#e8932c');
  return [
    ball([0, 0.4, 0.02], [0.05, 0.34, 0.05], look.own('#2a201a')),
    ...[-1, 1].flatMap((side) => [
      ball([side * 0.17, 0.49, 0], [0.3, 0.26, 0.02], wing, [0, side * 0.3, side * 0.5]),
      ball([side * 0.13, 0.29, 0], [0.22, 0.2, 0.02], look.trim('#f3c04a'), [0, side * 0.3, -side * 0.4]),
      rod([0, 0.56, 0.02], [side * 0.07, 0.68, 0.04], 0.006, look.own('#2a201a')),
    ]),
  ];
}
