/** What is seen far behind the things: mountains, hills, a shore, a forest, a town. */
import { mix, rgb } from '../../colour.ts';
import { createRandom } from '../../random.ts';
import type { Backdrop } from '../layout/setting-of.ts';
import { linear, type Daylight, type Light } from '../picture/daylight.ts';
import { cloudNoise } from '../picture/noise.ts';
import type { PicturePlan } from '../plan-picture.ts';
import { times } from '../vector.ts';
import type { Materials } from './materials.ts';
import { streetOf } from './street.ts';
import type { Object3D, ShaderNode, Three } from './three-module.ts';

export function backdropOf(
  three: Three,
  materials: Materials,
  plan: PicturePlan,
  backdrop: Backdrop,
): Object3D {
  switch (backdrop) {
    case 'mountains':
      return relief(three, materials, plan, 11, 0.1, '#6d7076', true);
    case 'hills':
      return relief(
        three,
        materials,
        plan,
        5,
        0.05,
        plan.setting.ground === 'snow' ? '#dfe8f2' : '#5f8f42',
        false,
      );
    case 'shore':
      return relief(three, materials, plan, 2, 0.06, '#7d8a58', false);
    case 'forest':
      return crowd(three, materials, plan, 240, false);
    case 'street':
      return streetOf(three, materials, plan);
    case 'city':
      return crowd(three, materials, plan, 70, true);
  }
}

/** A ring of land far away, seen through air. */
function relief(
  three: Three,
  materials: Materials,
  { daylight, view: { facing }, seed }: PicturePlan,
  high: number,
  detail: number,
  earth: string,
  isRocky: boolean,
): Object3D {
  const [columns, rows] = [170, 34];
  const offset = createRandom(`relief ${seed}`).between(0, 900);
  const colours: number[] = [];
  const geometry = new three.PlaneGeometry(1, 1, columns, rows);
  for (let row = 0; row <= rows; row += 1) {
    for (let column = 0; column <= columns; column += 1) {
      const angle = facing + Math.PI + (column / columns - 0.5) * 2.4;
      const away = 42 + (row / rows) * 48;
      const [x, z] = [Math.sin(angle) * away, Math.cos(angle) * away];
      const rough = cloudNoise(x * detail + offset, 0.5, z * detail, 5);
      const rise = Math.sin(Math.min(1, row / rows / 0.72) * Math.PI * 0.5) ** 1.4;
      const y =
        high *
          rise *
          (isRocky ? ridge(rough, cloudNoise(x * 0.045, offset, z * 0.045, 2)) : 0.6 + rough * 1.1) -
        0.25;
      geometry.attributes.position.setXYZ(row * (columns + 1) + column, x, y, z);
      colours.push(...reliefColour(daylight, earth, isRocky ? y / high - 0.48 + rough * 0.3 : -1, away));
    }
  }
  geometry.setAttribute('color', new three.Float32BufferAttribute(colours, 3));
  geometry.computeVertexNormals();
  return new three.Mesh(
    geometry,
    materials.of(
      'relief',
      () => new three.MeshStandardNodeMaterial({ vertexColors: true, roughness: 1, side: three.DoubleSide }),
    ),
  );
}

/** Sharp where the noise changes its sign, and higher here than there. */
export function ridge(rough: number, broad: number): number {
  return Math.max(0.08, (1 - Math.abs(rough) * 2.1) ** 2 * (0.72 + broad * 1.3));
}

function reliefColour(daylight: Daylight, earth: string, snow: number, away: number): Light {
  const ground =
    snow > 0 ? mix(linear(rgb(earth)), [0.92, 0.95, 1], Math.min(1, snow * 7)) : linear(rgb(earth));
  return mix(
    ground,
    mix(daylight.zenith, daylight.horizon, 0.6),
    // Moonlight shows what is far; air that is dark would hide it.
    (0.75 - 0.5 * daylight.stars) * Math.min(0.85, (away - 12) / 105),
  );
}

/** Pines or towers, by the hundred. */
function crowd(
  three: Three,
  materials: Materials,
  { view: { facing }, seed, box, daylight }: PicturePlan,
  count: number,
  isCity: boolean,
): Object3D {
  const random = createRandom(`crowd ${seed}`);
  const near = Math.max(6, box.high[0] - box.low[0] + 3);
  const geometry = isCity ? new three.BoxGeometry(1, 1, 1) : new three.CylinderGeometry(0.01, 0.42, 1, 9);
  const isLit = isCity && daylight.stars > 0;
  const material = materials.of(isLit ? 'lit city' : isCity ? 'city' : 'forest', () => {
    const made = new three.MeshStandardNodeMaterial({ roughness: isCity ? 0.45 : 0.95 });
    if (isCity) made.colorNode = three.TSL.materialColor.mul(windows(three.TSL).mul(-0.5).add(1));
    if (isLit) made.emissiveNode = lamplight(three.TSL);
    return made;
  });
  const mesh = new three.InstancedMesh(geometry, material, count);
  const stand = new three.Object3D();
  for (let index = 0; index < count; index += 1) {
    const angle = facing + Math.PI + random.between(-0.9, 0.9);
    const away = near + random.between(isCity ? 14 : 1, isCity ? 38 : 26);
    const high = isCity ? random.between(3, 12) : random.between(1.8, 3.6);
    const wide = isCity ? random.between(1.6, 3) : high * 0.7;
    stand.position.set(Math.sin(angle) * away, high / 2, Math.cos(angle) * away);
    stand.rotation.set(0, isCity ? facing : random.between(0, 6), 0);
    stand.scale.set(wide, high, wide);
    stand.updateMatrix();
    mesh.setMatrixAt(index, stand.matrix);
    const colour: Light = isCity ? [0.3, 0.34, 0.4] : [0.045, 0.14, 0.06];
    mesh.setColorAt(index, new three.Color().setRGB(...times(colour, random.between(0.7, 1.25))));
  }
  mesh.castShadow = true;
  mesh.receiveShadow = true;
  return mesh;
}

function windows(TSL: Three['TSL']): ShaderNode {
  const { positionWorld: at } = TSL;
  return TSL.step(0.4, TSL.fract(at.y.mul(2.2))).mul(TSL.step(0.35, TSL.fract(at.x.add(at.z).mul(2))));
}

/** Behind one pane here and there. */
function lamplight(TSL: Three['TSL']): ShaderNode {
  const { positionWorld: at } = TSL;
  const row = TSL.floor(at.y.mul(2.2)).mul(3.7);
  const which = TSL.mx_noise_float(TSL.vec3(row, TSL.floor(at.x.add(at.z).mul(2)).mul(5.3), 0.5));
  return TSL.vec3(1, 0.72, 0.36).mul(windows(TSL).mul(TSL.step(0.05, which)));
}
