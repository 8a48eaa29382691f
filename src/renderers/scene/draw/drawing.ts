/** Fills a picture band by band: which triangle is at each sample, then the light of each pixel. */
import type { PicturePlan } from '../plan-picture.ts';
import { aim } from './eye.ts';
import { shadeGround, shadeWater } from './ground.ts';
import { rollOff, writeLine } from './develop.ts';
import { Band, firstTriangle, linesOfABand, nothing, openWater, theGround } from './band.ts';
import { samplesOfAPixel, type Samples } from './raster.ts';
import { shadeTriangle, type Scene } from './shade.ts';
import type { SkyGrid } from './sky.ts';

const light = new Float64Array(3);
const behindGlass = new Float64Array(3);
const sum = new Float64Array(3);
const ray = new Float64Array(3);

export class Drawing {
  readonly #plan: PicturePlan;
  readonly #scene: Scene;
  readonly #sky: SkyGrid;
  readonly #band: Band;
  readonly #samples: Samples;
  readonly #glass: Samples;
  readonly #bytes: Uint8Array;
  /** The light of the line of pixels that is worked on. */
  readonly #line: Float64Array;
  /** Of each pixel how many samples see the sky. */
  readonly skyShare: Uint8Array;

  constructor(plan: PicturePlan, scene: Scene, sky: SkyGrid) {
    const { width, height } = scene.eye;
    this.#plan = plan;
    this.#scene = scene;
    this.#sky = sky;
    this.#band = new Band(plan, scene);
    this.#samples = this.#band.samples;
    this.#glass = this.#band.glass;
    this.#line = new Float64Array(width * 3);
    this.#bytes = new Uint8Array(width * height * 3);
    this.skyShare = new Uint8Array(width * height);
  }

  draw(): Uint8Array {
    const { height } = this.#scene.eye;
    this.#findHaze();
    for (let top = 0; top < height; top += linesOfABand) {
      const hasGlass = this.#band.fill(top);
      for (let y = top; y < Math.min(height, top + linesOfABand); y += 1) {
        this.#finishLine(y, hasGlass);
      }
    }
    return this.#bytes;
  }

  /** The sky at the horizon. */
  #findHaze(): void {
    const { eye, haze } = this.#scene;
    const horizon = eye.height / 2 + (eye.forward[1] / (eye.above[1] || 1)) * eye.focal;
    const y = Math.max(0, Math.min(eye.height, horizon - 4));
    for (let x = 0; x < eye.width; x += 1) {
      this.#sky.at(x, y, light);
      haze.set(light, x * 3);
    }
  }

  /** Of what is far and level every second pixel is worked out, and the one between is their mean. */
  #finishLine(y: number, hasGlass: boolean): void {
    const { width, ids } = this.#samples;
    const line = this.#line;
    const top = (y * samplesOfAPixel - this.#samples.top) * width;
    for (let x = 0; x < width; x += 2) this.#finishPixel(top + x, x, y, hasGlass);
    for (let x = 1; x < width; x += 2) {
      const at = top + x;
      const id = ids[at] ?? 0;
      const isLevel = id < firstTriangle && x + 1 < width && !hasGlass;
      if (isLevel && this.#isWhole(at - 1, id) && this.#isWhole(at, id) && this.#isWhole(at + 1, id)) {
        for (let part = x * 3; part < x * 3 + 3; part += 1)
          line[part] = ((line[part - 3] ?? 0) + (line[part + 3] ?? 0)) / 2;
        if (id === nothing) this.skyShare[y * width + x] = samplesOfAPixel;
      } else this.#finishPixel(at, x, y, hasGlass);
    }
    writeLine(this.#bytes, y, line, width, this.#scene.eye.height);
  }

  #isWhole(at: number, id: number): boolean {
    const { width, ids } = this.#samples;
    return (
      id === ids[at] && id === ids[at + width] && id === ids[at + 2 * width] && id === ids[at + 3 * width]
    );
  }

  #finishPixel(at: number, x: number, y: number, hasGlass: boolean): void {
    const id = this.#samples.ids[at] ?? 0;
    if (hasGlass || !this.#isWhole(at, id)) return this.#finishEdge(at, x, y, hasGlass);
    this.#shadeSample(at, x, y, false);
    if (id === nothing) this.skyShare[y * this.#samples.width + x] = samplesOfAPixel;
    this.#keep(x, light);
  }

  #keep(x: number, own: Float64Array): void {
    this.#line[x * 3] = own[0] ?? 0;
    this.#line[x * 3 + 1] = own[1] ?? 0;
    this.#line[x * 3 + 2] = own[2] ?? 0;
  }

  #finishEdge(at: number, x: number, y: number, hasGlass: boolean): void {
    const { width, ids } = this.#samples;
    sum[0] = 0;
    sum[1] = 0;
    sum[2] = 0;
    let done = 0;
    for (let sample = 0; sample < samplesOfAPixel; sample += 1) {
      if ((done >> sample) & 1) continue;
      const own = this.#keyAt(at + sample * width, hasGlass);
      let count = 0;
      for (let other = sample; other < samplesOfAPixel; other += 1) {
        if (this.#keyAt(at + other * width, hasGlass) !== own) continue;
        done |= 1 << other;
        count += 1;
      }
      this.#shadeSample(at + sample * width, x, y, hasGlass);
      if (ids[at + sample * width] === nothing) this.skyShare[y * width + x] = count;
      for (let part = 0; part < 3; part += 1)
        sum[part] = (sum[part] ?? 0) + ((light[part] ?? 0) * count) / samplesOfAPixel;
    }
    this.#keep(x, sum);
  }

  /** Equal for samples that look the same. */
  #keyAt(sample: number, hasGlass: boolean): number {
    const id = this.#samples.ids[sample] ?? 0;
    const { patches } = this.#scene.mesh;
    const key =
      id < firstTriangle
        ? id
        : firstTriangle + (patches[(id - firstTriangle) >> 1] ?? 0) * 2 + ((id - firstTriangle) & 1);
    const glass = hasGlass ? this.#glassAt(sample) : nothing;
    return glass === nothing ? key : key + (1 + (patches[(glass - firstTriangle) >> 1] ?? 0)) * 0x100_0000;
  }

  /** Glass before all else. */
  #glassAt(sample: number): number {
    const isSeen = (this.#glass.near[sample] ?? 0) > (this.#samples.near[sample] ?? 0);
    return isSeen ? (this.#glass.ids[sample] ?? 0) : nothing;
  }

  #shadeSample(sample: number, x: number, y: number, hasGlass: boolean): void {
    const id = this.#samples.ids[sample] ?? 0;
    this.#shadeFar(id, x + 0.5, y + 0.5);
    const glass = hasGlass ? this.#glassAt(sample) : nothing;
    if (glass !== nothing) {
      behindGlass.set(light);
      const opacity = shadeTriangle(
        this.#scene,
        (glass - firstTriangle) >> 1,
        false,
        x + 0.5,
        y + 0.5,
        light,
      );
      for (let part = 0; part < 3; part += 1) {
        const back = behindGlass[part] ?? 0;
        light[part] = back + ((light[part] ?? 0) - back) * opacity;
      }
    }
    rollOff(light);
  }

  #shadeFar(id: number, x: number, y: number): void {
    const scene = this.#scene;
    if (id === nothing) return this.#sky.at(x, y, light);
    const isMirrored = id >= firstTriangle && ((id - firstTriangle) & 1) === 1;
    if (id >= firstTriangle) shadeTriangle(scene, (id - firstTriangle) >> 1, isMirrored, x, y, light);
    if (!isMirrored && id >= firstTriangle) return;
    aim(scene.eye, x, y, ray);
    if (id === theGround) {
      const near = -(ray[1] ?? 0) / scene.eye.from[1];
      shadeGround(scene, this.#plan.setting.ground, near, ray, x, light);
    } else shadeWater(scene, id === openWater, ray, x, light);
  }
}
