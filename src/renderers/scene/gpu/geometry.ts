/** Shapes of parts as three's geometry. */
import { clamp } from '../../colour.ts';
import { cloudNoise } from '../picture/noise.ts';
import type { Shape } from '../things/parts.ts';
import { each, lengthOf, minus, plus, times, unit, type Vector } from '../vector.ts';
import type { Geometry, Three } from './three-module.ts';

export function geometryOf(three: Three, shape: Shape): Geometry {
  switch (shape.kind) {
    case 'box':
      return roundedBox(three, shape.size, shape.rounding);
    case 'ball':
      return stretched(new three.SphereGeometry(0.5, 40, 28), shape.size);
    case 'post':
      return new three.CylinderGeometry(shape.top, shape.bottom, shape.height, shape.sides, 1);
    case 'ring':
      return new three.TorusGeometry(shape.radius, shape.thickness, 18, 48).rotateX(Math.PI / 2);
    case 'turned':
      return new three.LatheGeometry(
        shape.profile.map(([out, up]) => new three.Vector2(out, up)),
        48,
      );
    case 'slab':
      return slab(three, shape.outline, shape.depth);
    case 'bend': {
      const curve = new three.CatmullRomCurve3(shape.points.map(([x, y, z]) => new three.Vector3(x, y, z)));
      return new three.TubeGeometry(curve, 40, shape.radius, 16);
    }
    case 'lump':
      return lump(three, shape.size, shape.bumps, shape.seed);
  }
}

/** A box whose points beyond an inner box are drawn onto a ball around its corner. */
function roundedBox(three: Three, size: Vector, rounding: number): Geometry {
  const [x, y, z] = size;
  const radius = Math.min(rounding, x / 2, y / 2, z / 2) * 0.999;
  const steps = 6;
  const geometry = new three.BoxGeometry(1, 1, 1, steps, steps, steps);
  const { position, normal } = geometry.attributes;
  const placed = (value: number, long: number): number => {
    // Edge steps within the rounding, one long step between.
    const inner = long / 2 - radius;
    const step = Math.round((value + 0.5) * steps) - steps / 2;
    const share = [0, 0.0, 0.5, 1][Math.abs(step)] ?? 1;
    return Math.sign(step) * (Math.abs(step) <= 1 ? inner * Math.abs(step) : inner + radius * share);
  };
  for (let index = 0; index < position.count; index += 1) {
    const at: Vector = [
      placed(position.getX(index), x),
      placed(position.getY(index), y),
      placed(position.getZ(index), z),
    ];
    const inner = each((axis) => clamp(at[axis], radius - size[axis] / 2, size[axis] / 2 - radius));
    const out = minus(at, inner);
    const isFlat = lengthOf(out) < 1e-9;
    const toward: Vector = isFlat ? [normal.getX(index), normal.getY(index), normal.getZ(index)] : unit(out);
    position.setXYZ(index, ...plus(inner, times(toward, radius)));
    normal.setXYZ(index, ...toward);
  }
  return geometry;
}

function stretched(geometry: Geometry, [x, y, z]: Vector): Geometry {
  const { position, normal } = geometry.attributes;
  for (let index = 0; index < position.count; index += 1) {
    position.setXYZ(index, position.getX(index) * x, position.getY(index) * y, position.getZ(index) * z);
    normal.setXYZ(index, ...unit([normal.getX(index) / x, normal.getY(index) / y, normal.getZ(index) / z]));
  }
  return geometry;
}

function slab(three: Three, outline: readonly (readonly [number, number])[], depth: number): Geometry {
  const bevel = Math.min(depth * 0.25, 0.04);
  const shape = new three.Shape(outline.map(([x, y]) => new three.Vector2(x, y)));
  const options = {
    depth: depth - 2 * bevel,
    bevelEnabled: true,
    bevelSize: bevel,
    bevelOffset: -bevel,
    bevelThickness: bevel,
    bevelSegments: 3,
    curveSegments: 12,
  };
  return new three.ExtrudeGeometry(shape, options).translate(0, 0, -depth / 2 + bevel);
}

function lump(three: Three, size: Vector, bumps: number, seed: number): Geometry {
  const geometry = new three.SphereGeometry(0.5, 40, 30);
  const { position } = geometry.attributes;
  for (let index = 0; index < position.count; index += 1) {
    const [x, y, z] = [position.getX(index), position.getY(index), position.getZ(index)];
    const by = 1 + bumps * 1.6 * cloudNoise(x * 4 + seed * 7.3, y * 4, z * 4, 3);
    position.setXYZ(index, x * by * size[0], y * by * size[1], z * by * size[2]);
  }
  geometry.computeVertexNormals();
  return geometry;
}
