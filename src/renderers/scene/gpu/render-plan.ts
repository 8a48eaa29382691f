/** Renders a plan on the GPU: passes with the lamps and the pixels' grid moved a little, summed up and developed. */
import { mix } from '../../colour.ts';
import type { PicturePlan } from '../plan-picture.ts';
import { develop } from '../picture/develop.ts';
import type { Gpu, Stage } from './open-gpu.ts';
import type { Backdrop } from '../layout/setting-of.ts';
import { times, type Light } from '../picture/daylight.ts';
import { skyLight, type SkyDetail } from '../picture/sky.ts';
import { hashOf } from '../../random.ts';
import { each } from '../things/bounds.ts';
import type { Vector } from '../things/parts.ts';
import type { Geometries } from './geometry.ts';
import { light } from './lamps.ts';
import type { Materials } from './materials.ts';
import { fillSkies } from './sky-textures.ts';
import { surroundings } from './surroundings.ts';
import type { Camera, Fog, Object3D, Three } from './three-module.ts';

/** Of one pass: what the GPU takes at each pixel by itself. */
export const samplesOfAPass = 4;

/** Three bytes a pixel. */
export async function renderPlan(
  gpu: Gpu,
  plan: PicturePlan,
  width: number,
  height: number,
  samples: number,
): Promise<Buffer> {
  const { three, renderer } = gpu;
  const { scene, camera } = gpu.stage;
  const passes = Math.max(1, Math.round(samples / samplesOfAPass));
  const built = buildScene(gpu.stage, plan, width, height);
  const target = new three.RenderTarget(width, height, {
    type: three.HalfFloatType,
    samples: samples === 1 ? 0 : samplesOfAPass,
  });
  const sum = new Float32Array(width * height * 4);
  const lightOf = lightTable(three.DataUtils.fromHalfFloat);
  try {
    renderer.setSize(width, height, false);
    for (let pass = 0; pass < passes; pass += 1) {
      built.aim(pass, passes);
      const [x, y] = [halton(pass, 2) - 0.5, halton(pass, 3) - 0.5];
      if (passes > 1) camera.setViewOffset(width, height, x, y, width, height);
      gpu.tick();
      renderer.setRenderTarget(target);
      renderer.render(scene, camera);
      addTo(sum, await renderer.readRenderTargetPixelsAsync(target, 0, 0, width, height), lightOf, width);
    }
  } finally {
    target.dispose();
    built.clear();
  }
  return develop(sum, width, height, passes, plan);
}

/** Rows may be longer than the picture is wide: they are aligned for copying. */
function addTo(sum: Float32Array, read: Uint16Array, lightOf: Float32Array, width: number): void {
  const height = sum.length / 4 / width;
  const stride = height > 1 ? Math.max(width * 4, Math.ceil((width * 8) / 256) * 128) : width * 4;
  const isPadded = read.length > sum.length || read.length >= stride * (height - 1) + width * 4;
  const row = isPadded ? stride : width * 4;
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width * 4; x += 1) {
      const at = y * width * 4 + x;
      sum[at] = (sum[at] ?? 0) + (lightOf[read[y * row + x] ?? 0] ?? 0);
    }
  }
}

let table: Float32Array | undefined;

/** Every half number there is; lamps in mirrors are cut off, or single pixels would outshine all passes. */
function lightTable(fromHalfFloat: (value: number) => number): Float32Array {
  table ??= Float32Array.from({ length: 65_536 }, (_, half) => {
    const value = fromHalfFloat(half);
    return Number.isFinite(value) ? Math.max(0, Math.min(6, value)) : 0;
  });
  return table;
}

/** Numbers from 0 to 1 that fill the range evenly. */
function halton(index: number, base: number): number {
  let [result, share, rest] = [0, 1 / base, index + 1];
  while (rest > 0) {
    result += (rest % base) * share;
    rest = Math.floor(rest / base);
    share /= base;
  }
  return result;
}

/** The light of one picture put into a pass, and the end of the picture. */
interface BuiltScene {
  aim(pass: number, passes: number): void;
  clear(): void;
}

/** Puts a plan on the stage, until it is cleared. */
function buildScene(stage: Stage, plan: PicturePlan, width: number, height: number): BuiltScene {
  const { three, scene, geometries, materials } = stage;
  const { view, daylight, setting, box } = plan;
  const facing = Math.atan2(view.from[0] - view.to[0], view.from[2] - view.to[2]);
  const things = thingsOf(three, plan, geometries, materials);
  const around = surroundings(three, {
    materials,
    ground: setting.ground,
    hasWater: setting.hasWater,
    groundColour: plan.groundColour,
    backdrops: backdropsOf(plan),
    daylight,
    box,
    facing,
    seed: plan.seed,
  });
  const detail = skyDetail(plan, facing);
  fillSkies(three, stage.skies, daylight, {
    view,
    aspect: width / height,
    ground: groundLight(plan),
    detail,
  });
  scene.environmentIntensity = daylight.isStudio ? 0.55 : 0.5;
  setFog(scene.fog, plan, hazeOf(plan, facing, detail));
  setCamera(stage.camera, plan, width / height);
  if (setting.ground !== 'space') scene.add(around);
  scene.add(things);
  const clear = (): void => {
    scene.remove(around, things);
    around.traverse(({ geometry }) => geometry?.dispose());
    geometries.trim();
    materials.trim();
  };
  return { aim: light(stage.lamps, plan), clear };
}

/** Open land rises far away, unless the words say what is there. */
function backdropsOf({ setting }: PicturePlan): readonly Backdrop[] {
  const isOpen = setting.ground === 'grass' || setting.ground === 'field' || setting.ground === 'snow';
  return setting.backdrops.length === 0 && isOpen ? ['hills'] : setting.backdrops;
}

function setCamera(camera: Camera, { view }: PicturePlan, aspect: number): void {
  Object.assign(camera, { fov: view.fieldOfView, aspect });
  camera.clearViewOffset();
  camera.updateProjectionMatrix();
  camera.position.set(...view.from);
  camera.lookAt(...view.to);
}

function thingsOf(
  three: Three,
  { things }: PicturePlan,
  geometries: Geometries,
  materials: Materials,
): Object3D {
  const all = new three.Group();
  for (const { parts, at, yaw, lean, scale } of things) {
    const group = new three.Group();
    for (const part of parts) {
      const mesh = new three.Mesh(geometries.of(part.shape), materials.of(part.paint));
      mesh.position.set(...part.at);
      mesh.rotation.set(...part.turn);
      mesh.castShadow = part.paint.material !== 'glass' && part.paint.material !== 'glow';
      mesh.receiveShadow = true;
      group.add(mesh);
    }
    group.position.set(...at);
    group.rotation.set(0, yaw, lean);
    group.scale.setScalar(scale);
    all.add(group);
  }
  return all;
}

/** The moon stands where the camera sees it. */
function skyDetail({ seed, view }: PicturePlan, facing: number): SkyDetail {
  const away = Math.hypot(view.from[0] - view.to[0], view.from[2] - view.to[2]);
  const [around, up] = [facing + Math.PI + 0.15, Math.atan2(view.to[1] - view.from[1], away) + 0.19];
  const moonAt: Vector = [Math.sin(around) * Math.cos(up), Math.sin(up), Math.cos(around) * Math.cos(up)];
  return { isSeen: true, seed: hashOf(seed) % 1000, moonAt };
}

function hazeOf({ daylight }: PicturePlan, facing: number, detail: SkyDetail): Light {
  const at: Vector = [-Math.sin(facing), 0, -Math.cos(facing)];
  return skyLight(daylight, at, detail);
}

function setFog(fog: Fog, { daylight, view, box, setting }: PicturePlan, haze: Light): void {
  fog.color.setRGB(...haze);
  const away = Math.hypot(view.from[0] - view.to[0], view.from[1] - view.to[1], view.from[2] - view.to[2]);
  const size = Math.max(...each((axis) => box.high[axis] - box.low[axis]));
  const [near, far] = fogOf(daylight, size);
  const isAirless = setting.ground === 'space' || setting.ground === 'floor';
  [fog.near, fog.far] = isAirless ? [1000, 2000] : [away + near, away + far];
}

/** Where it begins and where nothing more is seen, from the things on. */
function fogOf({ isStudio, haze }: PicturePlan['daylight'], size: number): [near: number, far: number] {
  if (isStudio) return [size * 0.9, size * 4.5];
  return haze > 4 ? [-size * 0.3, 14] : [12 / haze, 115 / haze];
}

/** What the ground throws back onto what stands on it. */
function groundLight({ daylight, setting }: PicturePlan): Light {
  const lit = mix(daylight.sky, daylight.sun, 0.12);
  return times(lit, setting.ground === 'snow' ? 0.7 : setting.ground === 'space' ? 0.02 : 0.32);
}
