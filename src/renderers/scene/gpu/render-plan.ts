/** Renders a plan on the GPU: passes with the lamps and the pixels' grid moved a little, summed up and developed. */
import type { PicturePlan } from '../plan-picture.ts';
import { develop } from '../picture/develop.ts';
import { fallingOver } from '../picture/falling.ts';
import { buildScene } from './build-scene.ts';
import type { Gpu } from './open-gpu.ts';

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
  return fallingOver(develop(sum, width, height, passes), width, height, plan);
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
    const light = fromHalfFloat(half);
    return Number.isFinite(light) ? Math.max(0, Math.min(6, light)) : 0;
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
