/** Far trees, tufts of grass and flowers, so that open land is not empty; the towers of a city. */
import { mix, rgb, type Colour } from '../../colour.ts';
import { createRandom, type Random } from '../../random.ts';
import type { PicturePlan } from '../plan-picture.ts';
import { ball, post, straight, type Part } from '../things/parts.ts';

import { lengthOf, minus, toward, type Vector } from '../vector.ts';
import { snap, snapped } from '../exact.ts';
import { pointSize, type Mesh } from './mesh.ts';
import type { Surfaces } from './surfaces.ts';

/** Round trees here and there before the hills. */
export function farTrees({ setting, view, box, seed }: PicturePlan): Part[] {
  if (
    !setting.backdrops.includes('hills') ||
    setting.ground === 'snow' ||
    setting.ground === 'sand' ||
    setting.ground === 'water'
  )
    return [];
  const random = createRandom(`trees ${seed}`);
  const away = lengthOf(minus(view.from, view.to));
  const shore = setting.hasWater ? 60 : 0;
  return Array.from({ length: 11 }).flatMap(() => {
    const distance = shore + 13 + away * 0.5 + random.between(0, 24) + 0.5 * (box.high[0] - box.low[0]);
    const [x, , z] = toward(view.facing + Math.PI + random.between(-0.62, 0.62), 0);
    return roundTree([x * distance, 0, z * distance], random.between(1.5, 2.6), random);
  });
}

function roundTree([x, y, z]: Vector, high: number, random: Random): Part[] {
  const leaves = { colour: mix([70, 122, 62], [112, 150, 76], random.next()), material: 'matt' } as const;
  const puff = (dx: number, up: number, wide: number): Part =>
    ball([x + dx * high, y + up * high, z], [wide * high, wide * high * 0.86, wide * high], leaves);
  return [
    post([x, y + high * 0.2, z], [high * 0.045, high * 0.07], high * 0.4, '#75543a', straight, 8),
    puff(0, 0.66, 0.66),
    puff(-0.22, 0.5, 0.46),
    puff(0.23, 0.52, 0.44),
  ];
}

/** Blades and flowers as triangles that stand on the ground, lit as it is; as many as can be seen in a picture so wide. */
export function addGrass(
  mesh: Mesh,
  plan: PicturePlan,
  soil: Colour,
  surfaces: Surfaces,
  width: number,
): void {
  const { setting, view, box, seed } = plan;
  const isGrass = setting.ground === 'grass' || setting.ground === 'field';
  if (!isGrass) return;
  const random = createRandom(`grass ${seed}`);
  const size = Math.max(box.high[0] - box.low[0], box.high[1], 1);
  const shore = setting.hasWater ? 0.6 + 0.6 * size : Infinity;
  const tones = [-0.16, 0.05, 0.16].map((by) =>
    surfaces.of(mix(soil, by < 0 ? [30, 70, 20] : [226, 230, 130], Math.abs(by) * 1.6), 'matt'),
  );
  const petals = ['#f4f0e2', '#f2cf5a', '#e8a0b4'].map((colour) => surfaces.of(rgb(colour), 'matt'));
  const [backX, , backZ] = toward(view.facing + Math.PI, 0);
  const tufts = Math.min(420, width);
  for (let tuft = 0; tuft < tufts; tuft += 1) {
    const angle = random.between(-Math.PI, Math.PI);
    const [ox, , oz] = toward(angle, 0);
    const out = size * (0.35 + 1.9 * Math.sqrt(random.next()));
    const [x, z] = snapped([ox * out, 0, oz * out]).filter((_, axis) => axis !== 1) as [number, number];
    if (x * backX + z * backZ > shore) continue;
    const tall = snap(size * random.between(0.018, 0.04));
    for (let blade = 0; blade < 4; blade += 1) {
      mesh.beginPatch(tones[random.whole(0, 2)] ?? 0);
      addBlade(
        mesh,
        [x + tall * random.between(-0.9, 0.9), 0, z + tall * random.between(-0.9, 0.9)],
        tall * random.between(0.6, 1.1),
        tall * random.between(-0.5, 0.5),
      );
    }
    if (tuft % 9 !== 0) continue;
    mesh.beginPatch(petals[random.whole(0, 2)] ?? 0);
    addBlade(mesh, [x, tall * 0.9, z], tall * 0.42, 0, tall * 0.24);
    addBlade(mesh, [x, tall * 1.2, z], -tall * 0.42, 0, tall * 0.24);
  }
}

function addBlade(mesh: Mesh, [x, y, z]: Vector, tall: number, lean: number, half = tall * 0.13): void {
  for (const [dx, dy] of [
    [-half, 0],
    [half, 0],
    [lean, tall],
  ] as const) {
    const at = mesh.addPoint() * pointSize;
    mesh.points.set([x + dx, y + dy, z, 0, 1, 0, dx, dy, 0], at);
  }
  mesh.addTriangle(mesh.pointCount - 3, mesh.pointCount - 2, mesh.pointCount - 1);
}
