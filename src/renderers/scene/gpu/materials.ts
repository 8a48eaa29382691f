/** Paints as materials that answer to light: wood has grain, bricks have joints, metal mirrors. */
import { linear } from '../picture/daylight.ts';
import type { Paint } from '../things/parts.ts';
import type { Kept } from './kept.ts';
import type { ShaderNode, SurfaceMaterial, Three } from './three-module.ts';

export type Materials = Kept<SurfaceMaterial>;

export function materialFor(three: Three, materials: Materials, paint: Paint): SurfaceMaterial {
  const key = `${paint.material} ${paint.colour.map(Math.round).join()}`;
  return materials.of(key, () => materialOf(three, paint));
}

const surfaces: Record<Paint['material'], Record<string, unknown>> = {
  matt: { roughness: 0.82 },
  plastic: { roughness: 0.34 },
  metal: { roughness: 0.24, metalness: 1 },
  gold: { roughness: 0.2, metalness: 1 },
  silver: { roughness: 0.14, metalness: 1 },
  glass: { roughness: 0.04, metalness: 0, transparent: true, opacity: 0.34 },
  wood: { roughness: 0.6 },
  stone: { roughness: 0.92 },
  brick: { roughness: 0.92 },
  cloth: { roughness: 0.95, sheen: 0.5, sheenRoughness: 0.6 },
  glossy: { roughness: 0.2, clearcoat: 0.8, clearcoatRoughness: 0.08 },
  glow: { roughness: 0.5 },
};

function materialOf(three: Three, { colour, material }: Paint): SurfaceMaterial {
  const color = new three.Color().setRGB(...linear(colour));
  const isCoated = material === 'cloth' || material === 'glossy';
  const options = { color, side: three.DoubleSide, ...surfaces[material] };
  const glow = material === 'glow' ? { emissive: color, emissiveIntensity: 1.5 } : {};
  const made = isCoated
    ? new three.MeshPhysicalNodeMaterial(options)
    : new three.MeshStandardNodeMaterial({ ...options, ...glow });
  const shade = shades[material]?.(three.TSL);
  if (shade !== undefined) made.colorNode = three.TSL.materialColor.mul(shade);
  return made;
}

/** What the colour is multiplied with from place to place. */
const shades: Partial<Record<Paint['material'], (TSL: Three['TSL']) => ShaderNode>> = {
  wood: (TSL) => {
    const { positionLocal: at } = TSL;
    const bent = TSL.mx_noise_float(at.mul(TSL.vec3(1.4, 5, 5)));
    const grain = TSL.vec3(at.x.mul(2.2), at.y.mul(34).add(bent.mul(2.4)), at.z.mul(34));
    return TSL.mx_noise_float(grain).mul(0.2).add(bent.mul(0.12)).add(0.95);
  },
  stone: (TSL) => TSL.mx_fractal_noise_float(TSL.positionLocal.mul(5), 4).mul(0.28).add(0.96),
  brick: bricks,
  cloth: (TSL) => TSL.mx_noise_float(TSL.positionLocal.mul(26)).mul(0.09).add(0.98),
  matt: (TSL) => TSL.mx_fractal_noise_float(TSL.positionLocal.mul(3.4), 2).mul(0.12).add(0.99),
};

function bricks(TSL: Three['TSL']): ShaderNode {
  const { positionLocal: at } = TSL;
  const row = at.y.mul(7);
  const along = at.x
    .add(at.z)
    .mul(2.6)
    .add(TSL.mod(TSL.floor(row), 2).mul(0.5));
  const joint = TSL.step(0.1, TSL.fract(row)).mul(TSL.step(0.05, TSL.fract(along)));
  const tone = TSL.mx_noise_float(TSL.vec3(TSL.floor(along).mul(3.7), TSL.floor(row).mul(5.3), 0.5))
    .mul(0.22)
    .add(0.98);
  return joint.mul(tone).add(TSL.vec3(1.25, 1.45, 1.6).mul(joint.mul(-1).add(1)));
}
