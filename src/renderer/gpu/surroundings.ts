/** What is around the things: the ground, far hills and towns, and grass. */
import { rgb } from '../../painter/colour.ts';
import { createRandom } from '../../painter/random.ts';
import type { Backdrop, Ground } from '../language/setting-words.ts';
import { blend, linear, times, type Daylight, type Light } from '../picture/daylight.ts';
import { cloudNoise } from '../picture/noise.ts';
import type { Bounds } from '../things/bounds.ts';
import type { Materials } from './materials.ts';
import type { Mesh, Object3D, ShaderNode, Three } from './three-module.ts';

export interface Place {
  materials: Materials;
  ground: Ground;
  /** Behind the things. */
  hasWater: boolean;
  groundColour: Light | null;
  backdrops: readonly Backdrop[];
  daylight: Daylight;
  /** Of all things; grass leaves room for them. */
  box: Bounds;
  /** How far the camera is turned around y. */
  facing: number;
  seed: string;
}

const soils: Record<Ground, string> = {
  studio: '#aeaba5',
  grass: '#5f8f3e',
  sand: '#dcc391',
  snow: '#eef3fa',
  water: '#2c6f94',
  floor: '#a9794c',
  road: '#6f7074',
  stone: '#b1aba1',
  field: '#c8a850',
  space: '#6b675f',
};

export function surroundings(three: Three, place: Place): Object3D {
  const around = new three.Group();
  around.add(groundOf(three, place));
  if (place.hasWater) around.add(waterBehind(three, place));
  if (place.ground === 'grass' || place.ground === 'field') around.add(blades(three, place));
  for (const backdrop of place.backdrops) around.add(backdropOf(three, place, backdrop));
  if (place.ground === 'floor') around.add(roomOf(three, place));
  return around;
}

function groundOf(three: Three, { ground, groundColour, materials }: Place): Mesh {
  const colour = groundColour ?? linear(rgb(soils[ground]));
  const isWater = ground === 'water';
  const material = materials.kept(`ground ${ground} ${colour.join()}`, () => {
    const made = new three.MeshStandardNodeMaterial({
      color: new three.Color().setRGB(...colour),
      roughness: isWater ? 0.12 : 0.95,
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

function groundShade(TSL: Three['TSL'], ground: Ground): ShaderNode {
  const { positionWorld: at } = TSL;
  switch (ground) {
    case 'studio':
      return TSL.vec3(1, 1, 1);
    case 'grass':
    case 'field':
      return TSL.mx_fractal_noise_float(at.mul(0.9), 3)
        .mul(0.3)
        .add(TSL.mx_noise_float(at.mul(9)).mul(0.14))
        .add(0.92);
    case 'sand': {
      const ripple = TSL.sin(at.z.mul(11).add(TSL.mx_noise_float(at.mul(0.8)).mul(5)));
      return ripple
        .mul(0.045)
        .add(TSL.mx_fractal_noise_float(at.mul(1.3), 3).mul(0.12))
        .add(0.98);
    }
    case 'snow':
      return TSL.mx_fractal_noise_float(at.mul(0.7), 3).mul(0.07).add(0.97);
    case 'water': {
      const wave = TSL.mx_fractal_noise_float(TSL.vec3(at.x.mul(0.9), 0.5, at.z.mul(3.4)), 3);
      return wave.mul(0.75).add(0.95);
    }
    case 'floor': {
      const board = at.x.mul(3.2);
      const tone = TSL.mx_noise_float(
        TSL.vec3(TSL.floor(board).mul(7.3), 0.5, TSL.floor(at.z.mul(0.5).add(TSL.floor(board).mul(0.37)))),
      ).mul(0.22);
      const grain = TSL.mx_noise_float(TSL.vec3(at.x.mul(46), 0.5, at.z.mul(2.4))).mul(0.13);
      return TSL.step(0.025, TSL.fract(board)).mul(0.45).add(0.5).mul(tone.add(grain).add(1.02));
    }
    case 'road':
    case 'stone':
    case 'space':
      return TSL.mx_fractal_noise_float(at.mul(2.2), 3)
        .mul(0.16)
        .add(TSL.mx_noise_float(at.mul(24)).mul(0.1))
        .add(0.96);
  }
}

/** From a shore behind the things to the horizon. */
function waterBehind(three: Three, place: Place): Mesh {
  const water = groundOf(three, { ...place, ground: 'water', groundColour: null });
  const [x, z] = behind(place, shoreAway(place) + 220);
  water.position.set(x, 0.03, z);
  return water;
}

function shoreAway({ box }: Place): number {
  return 0.6 + 0.75 * Math.max(box.high[0] - box.low[0], box.high[2] - box.low[2], box.high[1]);
}

function behind({ facing }: Place, away: number): [x: number, z: number] {
  return [-Math.sin(facing) * away, -Math.cos(facing) * away];
}

/** Thin cones in the wind, thick around the things and thinning out. */
function blades(three: Three, place: Place): Mesh {
  const { box, seed, ground, groundColour, materials } = place;
  const [backX, backZ] = behind(place, 1);
  const shore = place.hasWater ? shoreAway(place) : Infinity;
  const random = createRandom(`blades ${seed}`);
  const size = Math.max(box.high[0] - box.low[0], box.high[1], box.high[2] - box.low[2], 1);
  const count = 14_000;
  const colour = groundColour ?? linear(rgb(soils[ground]));
  const tall = (ground === 'field' ? 0.1 : 0.045) * Math.min(3, 0.6 + size * 0.25);
  const mesh = new three.InstancedMesh(
    new three.CylinderGeometry(0.001, tall * 0.13, tall, 3, 1),
    materials.kept('blades', () => new three.MeshStandardNodeMaterial({ roughness: 0.9 })),
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

function backdropOf(three: Three, place: Place, backdrop: Backdrop): Object3D {
  switch (backdrop) {
    case 'mountains':
      return relief(three, place, 11, 0.1, '#6d7076', true);
    case 'hills':
      return relief(three, place, 5, 0.05, place.ground === 'snow' ? '#dfe8f2' : '#5f8f42', false);
    case 'shore':
      return relief(three, place, 2, 0.06, '#7d8a58', false);
    case 'forest':
      return crowd(three, place, 240, false);
    case 'city':
      return crowd(three, place, 70, true);
  }
}

/** A ring of land far away, seen through air. */
function relief(
  three: Three,
  { daylight, facing, seed, materials }: Place,
  high: number,
  detail: number,
  earth: string,
  isRocky: boolean,
): Object3D {
  const [columns, rows] = [170, 34];
  const offset = createRandom(`relief ${seed}`).between(0, 900);
  const [positions, colours, index]: [number[], number[], number[]] = [[], [], []];
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
      positions.push(x, y, z);
      colours.push(...reliefColour(daylight, earth, isRocky ? y / high - 0.48 + rough * 0.3 : -1, away));
      if (row < rows && column < columns) {
        const at = row * (columns + 1) + column;
        index.push(at, at + columns + 1, at + 1, at + 1, at + columns + 1, at + columns + 2);
      }
    }
  }
  const geometry = new three.BufferGeometry();
  geometry.setAttribute('position', new three.Float32BufferAttribute(positions, 3));
  geometry.setAttribute('color', new three.Float32BufferAttribute(colours, 3));
  geometry.setIndex(index);
  geometry.computeVertexNormals();
  return new three.Mesh(
    geometry,
    materials.kept(
      'relief',
      () => new three.MeshStandardNodeMaterial({ vertexColors: true, roughness: 1, side: three.DoubleSide }),
    ),
  );
}

/** Sharp where the noise changes its sign, and higher here than there. */
function ridge(rough: number, broad: number): number {
  return Math.max(0.08, (1 - Math.abs(rough) * 2.1) ** 2 * (0.72 + broad * 1.3));
}

function reliefColour(daylight: Daylight, earth: string, snow: number, away: number): Light {
  const ground =
    snow > 0 ? blend(linear(rgb(earth)), [0.92, 0.95, 1], Math.min(1, snow * 7)) : linear(rgb(earth));
  return blend(
    ground,
    blend(daylight.zenith, daylight.horizon, 0.6),
    // Moonlight shows what is far; air that is dark would hide it.
    (0.75 - 0.5 * daylight.stars) * Math.min(0.85, (away - 12) / 105),
  );
}

/** Pines or towers, by the hundred. */
function crowd(
  three: Three,
  { facing, seed, box, materials, daylight }: Place,
  count: number,
  isCity: boolean,
): Object3D {
  const random = createRandom(`crowd ${seed}`);
  const near = Math.max(6, box.high[0] - box.low[0] + 3);
  const geometry = isCity ? new three.BoxGeometry(1, 1, 1) : new three.CylinderGeometry(0.01, 0.42, 1, 9);
  const isLit = isCity && daylight.stars > 0;
  const material = materials.kept(isLit ? 'lit city' : isCity ? 'city' : 'forest', () => {
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
    const tone = random.between(0.7, 1.25);
    mesh.setColorAt(
      index,
      isCity
        ? new three.Color().setRGB(0.3 * tone, 0.34 * tone, 0.4 * tone)
        : new three.Color().setRGB(0.045 * tone, 0.14 * tone, 0.06 * tone),
    );
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

/** The wall behind a floor. */
function roomOf(three: Three, { box, materials }: Place): Object3D {
  const size = Math.max(box.high[0] - box.low[0], box.high[1], 1.5);
  const room = new three.Group();
  const paints = [
    { colour: rgb('#cfc8ba'), material: 'matt' },
    { colour: rgb('#efece4'), material: 'plastic' },
  ] as const;
  const wall = new three.Mesh(new three.BoxGeometry(120, 60, 0.2), materials.of(paints[0]));
  wall.position.set(0, 29.9, box.low[2] - size * 0.9);
  const skirting = new three.Mesh(new three.BoxGeometry(120, size * 0.07, 0.26), materials.of(paints[1]));
  skirting.position.set(0, size * 0.035, box.low[2] - size * 0.9);
  for (const part of [wall, skirting]) part.receiveShadow = true;
  room.add(wall, skirting);
  return room;
}
