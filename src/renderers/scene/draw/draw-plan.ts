/** Draws a plan on the CPU: builds one mesh of its things and their surroundings, and draws that with a depth buffer. The bytes are the same on every machine. */
import { mix, rgb, type Colour } from '../../colour.ts';
import { hashOf, createRandom, type Random } from '../../random.ts';
import type { Standing } from '../layout/cluster.ts';
import type { PicturePlan } from '../plan-picture.ts';
import { Drawing } from './drawing.ts';
import { depthOf, eyeOf, nearest, projected, type Eye } from './eye.ts';
import { airOf, exactDaylight, type Lamp, orbOf, SkyGrid, skyToward, skyViewOf, wallAt } from './light.ts';
import { Mesh, type Extent, pointSize } from './mesh.ts';
import { drawOverlays, type Picture } from './overlays.ts';
import { backdropsOf, behind, type Piece, shoreAway, type AnyPart, soilOf } from '../around/backdrops.ts';
import { lengthOf, minus, plus, snap, snapped, cosine, sine, toward, type Vector } from '../vector.ts';
import { type Scene, Surfaces, surfaceSize } from './shade.ts';
import { Shadows } from './shadows.ts';
import { addSolid, Builder, type Placement } from './solids.ts';
import { windowPane } from '../things/buildings.ts';
import { boundsOf, sizeOf, paintOf, type Part, ball, post, straight } from '../things/parts.ts';

export function drawPlan(given: PicturePlan, width: number, height: number): Uint8Array {
  const plan = withLitWindows(given);
  const around = backdropsOf(plan);
  const eye = eyeOf(plan.view, width, height);
  const daylight = exactDaylight(plan.daylight);
  const surfaces = new Surfaces();
  const { mesh, things } = buildMesh(plan, around, eye, surfaces);
  surfaces.finish();
  const isOpaque = (patch: number): boolean => {
    const at = (mesh.surfaces[patch] ?? 0) * surfaceSize;
    return surfaces.values[at + 5] === 0 && surfaces.values[at + 7] === 1;
  };
  const shadows = new Shadows(mesh, plan, things, width, isOpaque);
  const level = plan.setting.ground === 'water' ? 0.1 : 0;
  const hasWater = plan.setting.ground === 'water' || plan.setting.hasWater;
  if (hasWater) mesh.clip((_, y) => y - level);
  mesh.clip((x, y, z) => depthOf(eye, x, y, z) - nearest);
  const seed = hashOf(plan.seed) % 1000;
  const skyView = skyViewOf(eye, seed, true);
  const sky = new SkyGrid(eye, (direction, x, y) =>
    daylight.isStudio ? wallAt(x / width, y / width, seed) : skyToward(daylight, direction, skyView),
  );
  const scene: Scene = {
    eye,
    air: airOf(plan, daylight),
    mesh,
    surfaces: surfaces.values,
    shadows,
    seen: projected(mesh, eye, null),
    seenInWater: hasWater ? projected(mesh, eye, level) : null,
    level,
    orb: orbOf(plan, width / height),
    road: roadOf(plan),
    shore: shoreOf(plan),
    lamps: lampsOf(plan, around),
    haze: new Float32Array(width * 3),
  };
  const drawing = new Drawing(plan, scene, sky);
  const picture: Picture = { bytes: drawing.draw(), skyShare: drawing.skyShare, width, height };
  drawOverlays(picture, plan, scene);
  return picture.bytes;
}

function roadOf({ setting, box }: PicturePlan): Scene['road'] {
  if (
    setting.ground !== 'road' ||
    setting.groundColour !== null ||
    setting.backdrops.some((name) => name === 'street' || name === 'city')
  )
    return null;
  const [near, far] = [snap(box.high[2]) + 0.9, snap(box.low[2]) - 0.9];
  return { middle: (near + far) / 2, half: Math.max(1.6, (near - far) / 2) };
}

function shoreOf(plan: PicturePlan): Scene['shore'] {
  if (!plan.setting.hasWater) return null;
  const [x, z] = behind(plan, 1);
  return { x: snap(x), z: snap(z), away: snap(shoreAway(plan)) };
}

function isDark({ daylight }: PicturePlan): boolean {
  return !daylight.isStudio && (daylight.stars > 0 || Math.max(...daylight.sun) < 1.1);
}

function withLitWindows(plan: PicturePlan): PicturePlan {
  if (!isDark(plan)) return plan;
  const things = plan.things.map((thing) => ({
    ...thing,
    parts: thing.parts.map((part) => (isPane(part) ? { ...part, paint: litPane } : part)),
  }));
  return { ...plan, things };
}

const [pane, litPane] = [paintOf(windowPane), paintOf('#ffc878 glow')];

function isPane({ paint }: Part): boolean {
  return (
    paint.material === pane.material && paint.colour.every((value, index) => value === pane.colour[index])
  );
}

function lampsOf(plan: PicturePlan, around: readonly Piece[]): Lamp[] {
  if (!isDark(plan) || plan.setting.ground === 'space') return [];
  const own = plan.things.flatMap((thing) => {
    const place = placementOf(thing);
    return thing.parts.filter(isGlowing).map((part): Lamp => {
      const size = Math.max(...sizeOf(boundsOf([part]))) * place.scale;
      return {
        at: plus(turned(place.rows, snapped(part.at)), place.at),
        size: snap(size),
        power: snap(size) * 1.6,
        colour: part.paint.colour,
      };
    });
  });
  const away = ({ at }: { at: Lamp['at'] }): number => lengthOf(minus(at, plan.view.from));
  const street = around
    .flatMap(({ name, parts }) => (name === 'street' ? parts : []))
    .filter((part) => isGlowing(part) && part.shape.kind === 'box' && part.shape.size[0] === lanternSize)
    .map(({ at, paint }): Lamp => ({ at: snapped(at), size: 0.42, power: 3.2, colour: paint.colour }));
  return [
    ...own.toSorted((one, other) => other.size - one.size),
    ...street.toSorted((one, other) => away(one) - away(other)),
  ].slice(0, maxLamps);
}

function isGlowing({ paint }: { paint: { material: string } }): boolean {
  return paint.material === 'glow';
}

const lanternSize = 0.2;
const maxLamps = 8;

type Rows = Placement['rows'];

/** Builds the mesh. Things come first; `things` is their extent. */
function buildMesh(
  plan: PicturePlan,
  around: readonly Piece[],
  eye: Eye,
  surfaces: Surfaces,
): { mesh: Mesh; things: Extent } {
  const mesh = new Mesh();
  for (const thing of plan.things) {
    const place = placementOf(thing);
    for (const part of thing.parts) addPart(mesh, part, place, eye, surfaces);
  }
  const things = { points: mesh.pointCount, triangles: mesh.triangleCount };
  const here: Placement = { rows: product(turnOf([0, 0, 0]), turnOf([0, 0, 0]), 1), at: [0, 0, 0], scale: 1 };
  for (const { name, parts } of around) {
    for (const part of parts) {
      if (name !== 'city') addPart(mesh, part, here, eye, surfaces);
      // Windows of distant towers are a pattern of their walls.
      else if (part.paint.material === 'matt')
        addPart(mesh, { ...part, paint: { ...part.paint, material: 'tower' } }, here, eye, surfaces);
    }
  }
  for (const part of farTrees(plan)) addPart(mesh, part, here, eye, surfaces);
  addGrass(mesh, plan, soilOf(plan), surfaces, eye.width);
  return { mesh, things };
}

function placementOf({ at, yaw, lean, scale }: Standing): Placement {
  const rows = product(turnOf([0, yaw, 0]), turnOf([0, 0, lean]), snap(scale));
  return { rows, at: snapped(at), scale: snap(scale) };
}

function addPart(mesh: Mesh, part: AnyPart, whole: Placement, eye: Eye, surfaces: Surfaces): void {
  const at = plus(turned(whole.rows, snapped(part.at)), whole.at);
  const placement = { rows: product(whole.rows, turnOf(part.turn), 1), at, scale: whole.scale };
  const depth = Math.max(0.3, depthOf(eye, ...at));
  const surface = surfaces.of(part.paint.colour, part.paint.material);
  const isClosed = closed.has(part.shape.kind) && part.paint.material !== 'glass';
  addSolid(new Builder(mesh, placement, (eye.focal / depth) * whole.scale, surface, isClosed), part.shape);
}

const closed: ReadonlySet<string> = new Set(['box', 'ball', 'post', 'ring', 'slab', 'lump']);

function turnOf(turn: Vector): Rows {
  const [[a, b], [c, d], [e, f]] = snapped(turn).map(
    (angle) => [cosine(angle), sine(angle)] as const,
  ) as unknown as [[number, number], [number, number], [number, number]];
  return [
    [c * e, -c * f, d],
    [a * f + b * e * d, a * e - b * f * d, -b * c],
    [b * f - a * e * d, b * e + a * f * d, a * c],
  ];
}

function turned([a, b, c]: Rows, [x, y, z]: Vector): Vector {
  return [a[0] * x + a[1] * y + a[2] * z, b[0] * x + b[1] * y + b[2] * z, c[0] * x + c[1] * y + c[2] * z];
}

function product(left: Rows, right: Rows, scale: number): Rows {
  const column = (axis: 0 | 1 | 2): Vector => turned(left, [right[0][axis], right[1][axis], right[2][axis]]);
  const [x, y, z] = [column(0), column(1), column(2)];
  const row = (axis: 0 | 1 | 2): Vector => [x[axis] * scale, y[axis] * scale, z[axis] * scale];
  return [row(0), row(1), row(2)];
}

function farTrees({ setting, view, box, seed }: PicturePlan): Part[] {
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

/** Adds blades and flowers, lit as the ground, as many as a picture of this width can show. */
function addGrass(mesh: Mesh, plan: PicturePlan, soil: Colour, surfaces: Surfaces, width: number): void {
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
