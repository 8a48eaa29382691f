/** What is around the things: the ground, far hills and towns, and grass. */
import { namedColours, rgb } from '../../colour.ts';
import { createRandom } from '../../random.ts';
import type { Ground, Setting } from '../layout/setting-of.ts';
import { linear, type Light } from '../picture/daylight.ts';
import type { PicturePlan } from '../plan-picture.ts';
import { paintOf } from '../things/parts.ts';
import { times } from '../vector.ts';
import { backdropOf } from './backdrops.ts';
import { materialFor, type Materials } from './materials.ts';
import type { Mesh, Object3D, ShaderNode, Three } from './three-module.ts';

export const soils: Record<Ground, string> = {
  studio: '#aeaba5',
  grass: '#5f8f3e',
  sand: '#dcc391',
  snow: '#fbfbfb',
  water: '#2c6f94',
  floor: '#a9794c',
  road: '#6f7074',
  stone: '#b1aba1',
  field: '#c8a850',
  space: '#6b675f',
};

export function surroundings(three: Three, materials: Materials, plan: PicturePlan): Object3D {
  const { setting } = plan;
  const around = new three.Group();
  around.add(groundOf(three, materials, setting, soilOf(setting)));
  if (setting.hasWater) around.add(waterBehind(three, materials, plan));
  if (setting.ground === 'grass' || setting.ground === 'field') around.add(blades(three, materials, plan));
  for (const backdrop of setting.backdrops) around.add(backdropOf(three, materials, plan, backdrop));
  if (setting.ground === 'floor') around.add(roomOf(three, materials, plan));
  return around;
}

function soilOf({ ground, groundColour }: Setting): Light {
  return linear(groundColour === null ? rgb(soils[ground]) : namedColours[groundColour]);
}

function groundOf(
  three: Three,
  materials: Materials,
  { ground, weather }: Pick<Setting, 'ground' | 'weather'>,
  colour: Light,
): Mesh {
  const isWater = ground === 'water';
  const isWet = (weather === 'rain' || weather === 'storm') && (ground === 'road' || ground === 'stone');
  const material = materials.of(`ground ${ground} ${isWet ? 'wet ' : ''}${colour.join()}`, () => {
    const made = new three.MeshStandardNodeMaterial({
      color: new three.Color().setRGB(...(isWet ? times(colour, 0.55) : colour)),
      roughness: isWater ? 0.12 : isWet ? 0.22 : 0.95,
      metalness: isWater ? 0.35 : 0,
    });
    made.colorNode = three.TSL.materialColor.mul(groundShade(three.TSL, ground));
    return made;
  });
  const mesh = new three.Mesh(new three.CircleGeometry(220, 64).rotateX(-Math.PI / 2), material);
  mesh.receiveShadow = true;
  mesh.position.set(0, isWater ? 0.1 : 0, 0);
  return mesh;
}

/** What the ground's colour is multiplied with from place to place. */
function groundShade(TSL: Three['TSL'], ground: Ground): ShaderNode {
  const { positionWorld: at } = TSL;
  const broad = (size: number): ShaderNode => TSL.mx_fractal_noise_float(at.mul(size), 3);
  const fine = (size: number): ShaderNode => TSL.mx_noise_float(at.mul(size));
  switch (ground) {
    case 'studio':
      return TSL.vec3(1, 1, 1);
    case 'grass':
    case 'field':
      return broad(0.9).mul(0.3).add(fine(9).mul(0.14)).add(0.92);
    case 'sand': {
      const ripple = TSL.sin(at.z.mul(11).add(fine(0.8).mul(5)));
      return ripple.mul(0.045).add(broad(1.3).mul(0.12)).add(0.98);
    }
    case 'snow':
      return broad(0.7).mul(0.07).add(0.97);
    case 'water':
      return TSL.mx_fractal_noise_float(TSL.vec3(at.x.mul(0.9), 0.5, at.z.mul(3.4)), 3)
        .mul(0.75)
        .add(0.95);
    case 'floor': {
      const board = TSL.floor(at.x.mul(3.2));
      const along = TSL.floor(at.z.mul(0.5).add(board.mul(0.37)));
      const tone = TSL.mx_noise_float(TSL.vec3(board.mul(7.3), 0.5, along)).mul(0.22);
      const grain = TSL.mx_noise_float(TSL.vec3(at.x.mul(46), 0.5, at.z.mul(2.4))).mul(0.13);
      const joint = TSL.step(0.025, TSL.fract(at.x.mul(3.2)));
      return joint.mul(0.45).add(0.5).mul(tone.add(grain).add(1.02));
    }
    case 'road':
    case 'stone':
    case 'space':
      return broad(2.2).mul(0.16).add(fine(24).mul(0.1)).add(0.96);
  }
}

/** From a shore behind the things to the horizon. */
function waterBehind(three: Three, materials: Materials, plan: PicturePlan): Mesh {
  const water = groundOf(three, materials, { ...plan.setting, ground: 'water' }, linear(rgb(soils.water)));
  const [x, z] = behind(plan, shoreAway(plan) + 220);
  water.position.set(x, 0.03, z);
  return water;
}

export function shoreAway({ box }: PicturePlan): number {
  return 0.6 + 0.75 * Math.max(box.high[0] - box.low[0], box.high[2] - box.low[2], box.high[1]);
}

export function behind({ view: { facing } }: PicturePlan, away: number): [x: number, z: number] {
  return [-Math.sin(facing) * away, -Math.cos(facing) * away];
}

/** Thin cones in the wind, thick around the things and thinning out. */
function blades(three: Three, materials: Materials, plan: PicturePlan): Mesh {
  const { box, seed, setting } = plan;
  const [backX, backZ] = behind(plan, 1);
  const shore = setting.hasWater ? shoreAway(plan) : Infinity;
  const random = createRandom(`blades ${seed}`);
  const size = Math.max(box.high[0] - box.low[0], box.high[1], box.high[2] - box.low[2], 1);
  const count = 14_000;
  const colour = soilOf(setting);
  const tall = (setting.ground === 'field' ? 0.1 : 0.045) * Math.min(3, 0.6 + size * 0.25);
  const mesh = new three.InstancedMesh(
    new three.CylinderGeometry(0.001, tall * 0.13, tall, 3, 1),
    materials.of('blades', () => new three.MeshStandardNodeMaterial({ roughness: 0.9 })),
    count,
  );
  const stand = new three.Object3D();
  for (let index = 0; index < count; index += 1) {
    const [angle, out] = [random.between(0, Math.PI * 2), size * 1.9 * random.next() ** 0.6];
    const high = random.between(0.3, 1.1);
    const [x, z] = [Math.cos(angle) * out, Math.sin(angle) * out];
    const isAshore = x * backX + z * backZ < shore;
    stand.position.set(x, isAshore ? (tall * high) / 2 - 0.003 : -1, z);
    stand.rotation.set(random.between(-0.5, 0.5), angle, random.between(-0.5, 0.5));
    stand.scale.set(1, high, 1);
    stand.updateMatrix();
    mesh.setMatrixAt(index, stand.matrix);
    const [red, green, blue] = times(colour, random.between(1.1, 2.1));
    mesh.setColorAt(index, new three.Color().setRGB(red * random.between(0.8, 1.1), green, blue));
  }
  mesh.receiveShadow = true;
  return mesh;
}

/** The wall behind a floor. */
function roomOf(three: Three, materials: Materials, { box }: PicturePlan): Object3D {
  const size = Math.max(box.high[0] - box.low[0], box.high[1], 1.5);
  const room = new three.Group();
  const plank = (high: number, thick: number, y: number, paint: string): void => {
    const mesh = new three.Mesh(
      new three.BoxGeometry(120, high, thick),
      materialFor(three, materials, paintOf(paint)),
    );
    mesh.position.set(0, y, box.low[2] - size * 0.9);
    mesh.receiveShadow = true;
    room.add(mesh);
  };
  plank(60, 0.2, 29.9, '#cfc8ba');
  plank(size * 0.07, 0.26, size * 0.035, '#efece4 plastic');
  return room;
}
