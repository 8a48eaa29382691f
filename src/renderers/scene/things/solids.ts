/** Balls, cubes and what else has a plain form. */
import type { Look } from './look.ts';
import { ball, box, post, ring, slab, turned, type Part } from './parts.ts';

export function sphere(look: Look): Part[] {
  return [ball([0, 0.5, 0], 1, look.main('#d8402f', 'plastic'))];
}

export function cube(look: Look): Part[] {
  return [box([0, 0.5, 0], [1, 1, 1], look.main('#c8463a', 'plastic'), [0, 0, 0], 0.045)];
}

export function baseball(look: Look): Part[] {
  const seam = look.trim('#c4372c');
  return [
    ball([0, 0.5, 0], 1, look.main('#f4f1e8', 'matt')),
    ...[-1, 1].map((side) => ring([side * 0.3, 0.5, 0], 0.4, 0.012, seam, [0, 0, Math.PI / 2])),
  ];
}

export function tennisBall(look: Look): Part[] {
  const seam = look.trim('#f6f7ea');
  return [
    ball([0, 0.5, 0], 1, look.main('#cfe23c', 'cloth')),
    ...[-1, 1].map((side) => ring([side * 0.28, 0.5, 0], 0.412, 0.018, seam, [0, 0, Math.PI / 2])),
  ];
}

export function solidPyramid(look: Look): Part[] {
  return [post([0, 0.5, 0], [0.005, 0.71], 1, look.main('#d9a13a', 'plastic'), [0, Math.PI / 4, 0], 4)];
}

export function cone(look: Look): Part[] {
  return [post([0, 0.6, 0], [0.005, 0.5], 1.2, look.main('#e8932c', 'plastic'), [0, 0, 0], 64)];
}

export function cylinder(look: Look): Part[] {
  return [post([0, 0.6, 0], 0.42, 1.2, look.main('#4f8ac0', 'plastic'), [0, 0, 0], 64)];
}

export function torus(look: Look): Part[] {
  return [ring([0, 0.6, 0], 0.42, 0.18, look.main('#d87aa0', 'plastic'), [Math.PI / 2, 0, 0])];
}

export function heart(look: Look): Part[] {
  const outline = Array.from({ length: 48 }, (_, index) => {
    const t = (index / 48) * Math.PI * 2;
    const y = 13 * Math.cos(t) - 5 * Math.cos(2 * t) - 2 * Math.cos(3 * t) - Math.cos(4 * t);
    return [(16 * Math.sin(t) ** 3) / 32, (y + 17) / 30] as const;
  });
  // Its edges are rounded, which a point as sharp as that would not bear.
  const blunt = outline.filter(([x, y]) => y > 0.09 || Math.abs(x) < 1e-6);
  return [slab([0, 0, 0], blunt, 0.34, look.main('#d8283c', 'glossy'))];
}

export function diamond(look: Look): Part[] {
  return [turned([0, 0, 0], '0 0, 0.5 0.5, 0.34 0.72, 0 0.72', look.main('#bfe6f2', 'silver'))];
}

export function triangle(look: Look): Part[] {
  return [slab([0, 0, 0], '-0.55 0, 0.55 0, 0 0.95', 0.3, look.main('#4f9a6a', 'plastic'))];
}

export function disc(look: Look): Part[] {
  return [post([0, 0.5, 0], 0.5, 0.2, look.main('#e0a23a', 'plastic'), [Math.PI / 2, 0, 0], 64)];
}

export function basketball(look: Look): Part[] {
  const line = look.trim('#2a1c14');
  return [
    ball([0, 0.5, 0], 1, look.main('#e07a2c', 'plastic')),
    ring([0, 0.5, 0], 0.494, 0.014, line),
    ring([0, 0.5, 0], 0.494, 0.014, line, [Math.PI / 2, 0, 0]),
    ring([0, 0.5, 0], 0.494, 0.014, line, [0, 0, Math.PI / 2]),
  ];
}

export function football(look: Look): Part[] {
  const golden = (1 + Math.sqrt(5)) / 2;
  const corners = [-1, 1].flatMap((one) =>
    [-golden, golden].flatMap((other) => [
      [0, one, other],
      [one, other, 0],
      [other, 0, one],
    ]),
  );
  const patches = corners.map(([x = 0, y = 0, z = 0]) => {
    const out = 0.4 / Math.hypot(x, y, z);
    return ball([x * out, 0.5 + y * out, z * out], 0.33, look.trim('#1f2124', 'plastic'));
  });
  return [ball([0, 0.5, 0], 1, look.main('#f6f5f0', 'plastic')), ...patches];
}
