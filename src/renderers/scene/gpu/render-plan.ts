/** Renders a plan on the GPU: passes with the lamps and the pixels' grid moved a little, summed up and developed. */
import { mix } from '../../colour.ts';
import type { PicturePlan } from '../plan-picture.ts';
import { develop } from '../picture/develop.ts';
import type { Gpu, Stage } from './open-gpu.ts';
import type { Light } from '../picture/daylight.ts';
import { skyLight, type SkyDetail } from '../picture/sky.ts';
import { hashOf } from '../../random.ts';
import { sizeOf } from '../things/bounds.ts';
import { lengthOf, minus, times, toward } from '../vector.ts';
import { geometryOf } from './geometry.ts';
import { light } from './lamps.ts';
import { materialFor } from './materials.ts';
import { fillSkies } from './sky-textures.ts';
import { surroundings } from './surroundings.ts';
import type { Camera, Fog, Object3D } from './three-module.ts';

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
  const { three, scene, materials } = stage;
  const { view, daylight } = plan;
  const things = thingsOf(stage, plan);
  const around = surroundings(three, materials, plan);
  const detail = skyDetail(plan);
  const aspect = width / height;
  fillSkies(three, stage.skies, daylight, { view, aspect, ground: groundLight(plan), detail });
  scene.environmentIntensity = daylight.isStudio ? 0.55 : 0.5;
  setFog(scene.fog, plan, skyLight(daylight, toward(view.facing + Math.PI, 0), detail));
  setCamera(stage.camera, plan, aspect);
  if (plan.setting.ground !== 'space') scene.add(around);
  scene.add(things);
  const clear = (): void => {
    scene.remove(around, things);
    around.traverse(({ geometry }) => geometry?.dispose());
    stage.geometries.trim();
    materials.trim();
  };
  return { aim: light(stage.lamps, plan), clear };
}

function setCamera(camera: Camera, { view }: PicturePlan, aspect: number): void {
  Object.assign(camera, { fov: view.fieldOfView, aspect });
  camera.clearViewOffset();
  camera.updateProjectionMatrix();
  camera.position.set(...view.from);
  camera.lookAt(...view.to);
}

function thingsOf({ three, geometries, materials }: Stage, { things }: PicturePlan): Object3D {
  const all = new three.Group();
  for (const { parts, at, yaw, lean, scale } of things) {
    const group = new three.Group();
    for (const part of parts) {
      const mesh = new three.Mesh(
        geometries.of(JSON.stringify(part.shape), () => geometryOf(three, part.shape)),
        materialFor(three, materials, part.paint),
      );
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
export function skyDetail({ seed, view }: PicturePlan): SkyDetail {
  const [x, y, z] = minus(view.to, view.from);
  const moonAt = toward(view.facing + Math.PI + 0.15, Math.atan2(y, Math.hypot(x, z)) + 0.19);
  return { isSeen: true, seed: hashOf(seed) % 1000, moonAt };
}

function setFog(fog: Fog, { daylight, view, box, setting }: PicturePlan, haze: Light): void {
  fog.color.setRGB(...haze);
  const away = lengthOf(minus(view.from, view.to));
  const [near, far] = fogOf(daylight, Math.max(...sizeOf(box)));
  const isAirless = setting.ground === 'space' || setting.ground === 'floor';
  [fog.near, fog.far] = isAirless ? [1000, 2000] : [away + near, away + far];
}

/** Where it begins and where nothing more is seen, from the things on. */
export function fogOf(
  { isStudio, haze }: PicturePlan['daylight'],
  size: number,
): [near: number, far: number] {
  if (isStudio) return [size * 0.9, size * 4.5];
  return haze > 4 ? [-size * 0.3, 14] : [12 / haze, 115 / haze];
}

/** What the ground throws back onto what stands on it. */
export function groundLight({ daylight, setting }: PicturePlan): Light {
  const lit = mix(daylight.sky, daylight.sun, 0.12);
  return times(lit, setting.ground === 'snow' ? 0.7 : setting.ground === 'space' ? 0.02 : 0.32);
}
