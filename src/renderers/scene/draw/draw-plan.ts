/** Draws a plan with a depth buffer on the CPU. The bytes are the same on every machine. */
import { hashOf } from '../../random.ts';
import type { PicturePlan } from '../plan-picture.ts';
import { buildMesh, placementOf, turned } from './build.ts';
import { Drawing } from './drawing.ts';
import { depthOf, eyeOf, nearest, projected } from './eye.ts';
import { airOf, exactDaylight, type Lamp, orbOf, SkyGrid, skyToward, skyViewOf, wallAt } from './light.ts';
import { drawLampShine, drawOrb, drawStars, drawWeather, type Picture, drawClouds } from './overlays.ts';
import { backdropsOf, behind, type Piece, shoreAway } from '../around/backdrops.ts';
import { lengthOf, minus, plus, snap, snapped } from '../vector.ts';
import type { Scene } from './shade.ts';
import { Shadows } from './shadows.ts';
import { surfaceSize, Surfaces } from './surfaces.ts';
import { boundsOf, sizeOf } from '../things/bounds.ts';
import { windowPane } from '../things/buildings.ts';
import { paintOf, type Part } from '../things/parts.ts';

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
  const sky = new SkyGrid(eye, (toward, x, y) =>
    daylight.isStudio ? wallAt(x / width, y / width, seed) : skyToward(daylight, toward, skyView),
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
  if (daylight.stars > 0) drawStars(picture, daylight.stars, plan.seed);
  if (!daylight.isStudio && plan.setting.weather === 'clear' && daylight.clouds > 0)
    drawClouds(picture, eye, plan.setting.time, plan.seed);
  if (scene.orb !== null) drawOrb(picture, eye, scene.orb);
  drawLampShine(picture, eye, scene.lamps);
  drawWeather(picture, plan.setting.weather, plan.seed);
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
