/** A plan → a picture, by a depth buffer on the CPU: the same bytes on every machine. */
import { hashOf } from '../../random.ts';
import type { PicturePlan } from '../plan-picture.ts';
import { buildMesh } from './build.ts';
import { Drawing } from './drawing.ts';
import { depthOf, eyeOf, nearest, projected } from './eye.ts';
import { lampsOf, withLitWindows } from './lamps.ts';
import { airOf, orbOf } from './light.ts';
import { drawClouds } from './clouds.ts';
import { drawLampShine, drawOrb, drawStars, drawWeather, type Picture } from './overlays.ts';
import { backdropsOf } from '../around/backdrops.ts';
import { snap } from '../exact.ts';

import type { Scene } from './shade.ts';
import { Shadows } from './shadows.ts';
import { exactDaylight, SkyGrid, skyToward, skyViewOf, wallAt } from './sky.ts';
import { behind, shoreAway } from '../around/ground.ts';
import { surfaceSize, Surfaces } from './surfaces.ts';

/** Three bytes a pixel. */
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

/** Where no street is, a road leads along the things. */
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
