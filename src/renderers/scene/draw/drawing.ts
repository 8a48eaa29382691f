/** Fills a picture band by band: first the surface at each sample, then the light of each pixel. */
import type { PicturePlan } from '../plan-picture.ts';
import { aim, depthOf, rayOf, type Seen } from './eye.ts';
import { shadeGround, shadeWater } from './ground.ts';
import { samplesOfAPixel, fillTriangle, makeSamples, type Samples } from './mesh.ts';
import { shadeTriangle, type Scene, surfaceSize } from './shade.ts';
import type { SkyGrid } from './light.ts';
import { behind, shoreAway } from '../around/backdrops.ts';
import { snap } from '../vector.ts';

const light = new Float64Array(3);
const behindGlass = new Float64Array(3);
const sum = new Float64Array(3);
const ray = new Float64Array(3);

/** A pixel between two pixels that differ by at most this (of 255) gets their mean. */
const alike = 9;

export class Drawing {
  readonly #plan: PicturePlan;
  readonly #scene: Scene;
  readonly #sky: SkyGrid;
  readonly #band: Band;
  /** Surface of each pixel in the band, or `mixed` if its samples differ. */
  readonly #keys: Int32Array;
  readonly #values: Float32Array;
  readonly #bytes: Uint8Array;
  /** Number of samples of each pixel that see the sky. */
  readonly skyShare: Uint8Array;

  constructor(plan: PicturePlan, scene: Scene, sky: SkyGrid) {
    const { width, height } = scene.eye;
    this.#plan = plan;
    this.#scene = scene;
    this.#sky = sky;
    this.#band = new Band(plan, scene);
    this.#keys = new Int32Array(width * linesOfABand);
    this.#values = new Float32Array(width * linesOfABand * 3);
    this.#bytes = new Uint8Array(width * height * 3);
    this.skyShare = new Uint8Array(width * height);
  }

  draw(): Uint8Array {
    const { height } = this.#scene.eye;
    this.#findHaze();
    for (let top = 0; top < height; top += linesOfABand)
      this.#drawBand(top, Math.min(linesOfABand, height - top));
    return this.#bytes;
  }

  #findHaze(): void {
    const { eye, haze } = this.#scene;
    const horizon = eye.height / 2 + (eye.forward[1] / (eye.above[1] || 1)) * eye.focal;
    const y = Math.max(0, Math.min(eye.height, horizon - 4));
    for (let x = 0; x < eye.width; x += 1) {
      this.#sky.at(x, y, light);
      haze.set(light, x * 3);
    }
  }

  /** Shades every second pixel of every second line, and pixels between them whose neighbours differ. */
  #drawBand(top: number, lines: number): void {
    const { width } = this.#scene.eye;
    const hasGlass = this.#band.fill(top);
    this.#findKeys(top, lines, hasGlass);
    const keys = this.#keys;
    const values = this.#values;
    for (let line = 0; line < lines; line += 2) {
      const row = line * width;
      for (let x = 0; x < width; x += 2) this.#shadePixel(row + x, x, top + line, hasGlass);
      for (let x = 1; x < width; x += 2)
        if (x + 1 === width || !isBetween(keys, values, row + x, 1))
          this.#shadePixel(row + x, x, top + line, hasGlass);
    }
    for (let line = 1; line < lines; line += 2) {
      const row = line * width;
      for (let x = 0; x < width; x += 1)
        if (line + 1 === lines || !isBetween(keys, values, row + x, width))
          this.#shadePixel(row + x, x, top + line, hasGlass);
    }
    this.#write(top, lines);
  }

  #findKeys(top: number, lines: number, hasGlass: boolean): void {
    const { width, ids } = this.#band.samples;
    for (let line = 0; line < lines; line += 1) {
      const first = line * samplesOfAPixel * width;
      for (let x = 0; x < width; x += 1) {
        const at = first + x;
        const id = ids[at] ?? 0;
        const isOne = id === ids[at + width] && id === ids[at + 2 * width] && id === ids[at + 3 * width];
        const key = isOne && id < firstTriangle && !hasGlass ? id : this.#wholeKey(at, isOne, hasGlass);
        this.#keys[line * width + x] = key;
        if (key === nothing) this.skyShare[(top + line) * width + x] = samplesOfAPixel;
      }
    }
  }

  /** Surface that all samples of a pixel show, or `mixed`; glass always counts as mixed. */
  #wholeKey(at: number, isOne: boolean, hasGlass: boolean): number {
    const { width } = this.#band.samples;
    const key = this.#keyAt(at, hasGlass);
    if (key >= firstGlass) return mixed;
    if (isOne && !hasGlass) return key;
    for (let other = at + width; other < at + samplesOfAPixel * width; other += width)
      if (this.#keyAt(other, hasGlass) !== key) return mixed;
    return key;
  }

  #shadePixel(pixel: number, x: number, y: number, hasGlass: boolean): void {
    const line = (pixel - x) * samplesOfAPixel;
    if (this.#keys[pixel] === mixed) this.#shadeEdge(line + x, x, y, hasGlass);
    else this.#shadeSample(line + x, x, y, false);
    encode(light, this.#values, pixel * 3);
  }

  #shadeEdge(at: number, x: number, y: number, hasGlass: boolean): void {
    const { width, ids } = this.#band.samples;
    sum.fill(0);
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
    light.set(sum);
  }

  /** Key of a sample; samples with the same key look the same. */
  #keyAt(sample: number, hasGlass: boolean): number {
    const id = this.#band.samples.ids[sample] ?? 0;
    const { patches } = this.#scene.mesh;
    const key =
      id < firstTriangle
        ? id
        : firstTriangle + (patches[(id - firstTriangle) >> 1] ?? 0) * 2 + ((id - firstTriangle) & 1);
    const glass = hasGlass ? this.#glassAt(sample) : nothing;
    return glass === nothing ? key : key + (1 + (patches[(glass - firstTriangle) >> 1] ?? 0)) * firstGlass;
  }

  /** Id of the glass before the sample's surface, or `nothing`. */
  #glassAt(sample: number): number {
    const { samples, glass } = this.#band;
    return (glass.near[sample] ?? 0) > (samples.near[sample] ?? 0) ? (glass.ids[sample] ?? 0) : nothing;
  }

  #shadeSample(sample: number, x: number, y: number, hasGlass: boolean): void {
    this.#shadeFar(this.#band.samples.ids[sample] ?? 0, x + 0.5, y + 0.5);
    const glass = hasGlass ? this.#glassAt(sample) : nothing;
    if (glass !== nothing) {
      behindGlass.set(light);
      const triangle = (glass - firstTriangle) >> 1;
      const opacity = shadeTriangle(this.#scene, triangle, false, x + 0.5, y + 0.5, light);
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

  #write(top: number, lines: number): void {
    const { width, height } = this.#scene.eye;
    const values = this.#values;
    const bytes = this.#bytes;
    for (let line = 0; line < lines; line += 1) {
      const down = (top + line) / height - 0.5;
      let from = line * width * 3;
      let to = (top + line) * width * 3;
      for (let x = 0; x < width; x += 1) {
        const aside = x / width - 0.5;
        const away = aside * aside + down * down;
        const share = 1 - 0.4 * away * away;
        for (const end = to + 3; to < end; to += 1, from += 1) bytes[to] = (values[from] ?? 0) * share + 0.5;
      }
    }
  }
}

/** Sets a pixel to the mean of two neighbours if they show the same surface and are alike. False otherwise. */
function isBetween(keys: Int32Array, values: Float32Array, at: number, step: number): boolean {
  const key = keys[at] ?? mixed;
  if (key === mixed || keys[at - step] !== key || keys[at + step] !== key) return false;
  const before = (at - step) * 3;
  const after = (at + step) * 3;
  const red = values[before] ?? 0;
  const green = values[before + 1] ?? 0;
  const blue = values[before + 2] ?? 0;
  const toRed = (values[after] ?? 0) - red;
  const toGreen = (values[after + 1] ?? 0) - green;
  const toBlue = (values[after + 2] ?? 0) - blue;
  if (toRed * toRed + toGreen * toGreen + toBlue * toBlue > alike * alike) return false;
  values[at * 3] = red + toRed / 2;
  values[at * 3 + 1] = green + toGreen / 2;
  values[at * 3 + 2] = blue + toBlue / 2;
  return true;
}

const mixed = -1;
/** Keys from here on have glass in front. */
const firstGlass = 0x100_0000;

const encodedSteps = 0x1000;
let encoded: Float32Array | undefined;

/** sRGB values for light from 0 to 1, rounded to be the same on every machine. */
function encodedLight(): Float32Array {
  return Float32Array.from({ length: encodedSteps + 2 }, (_, step) => {
    const lit = Math.min(1, step / encodedSteps);
    const share = lit <= 0.0031308 ? lit * 12.92 : 1.055 * lit ** (1 / 2.4) - 0.055;
    return Math.round(share * 255 * 256) / 256;
  });
}

/** Applies Khronos' neutral tone mapping in place; it preserves hues. */
function rollOff(lit: Float64Array): void {
  const red = lit[0] ?? 0;
  const green = lit[1] ?? 0;
  const blue = lit[2] ?? 0;
  const least = Math.min(red, green, blue);
  const offset = least < 0.08 ? least - 6.25 * least * least : 0.04;
  const peak = Math.max(red, green, blue) - offset;
  let by = 1;
  let white = 0;
  let drawn = peak;
  if (peak > 0.76) {
    drawn = 1 - 0.0576 / (peak - 0.52);
    by = drawn / peak;
    white = 1 - 1 / (0.15 * (peak - drawn) + 1);
  }
  const own = by * (1 - white);
  const more = drawn * white;
  lit[0] = (red - offset) * own + more;
  lit[1] = (green - offset) * own + more;
  lit[2] = (blue - offset) * own + more;
}

/** Writes the sRGB values of a light from index `at` on. */
function encode(lit: Float64Array, values: Float32Array, at: number): void {
  encoded ??= encodedLight();
  for (let part = 0; part < 3; part += 1) {
    const place = Math.max(0, Math.min(1, lit[part] ?? 0)) * encodedSteps;
    const step = Math.floor(place);
    const value = encoded[step] ?? 0;
    values[at + part] = value + ((encoded[step + 1] ?? 0) - value) * (place - step);
  }
}

/** Lines of pixels in a band, so that memory doesn't grow with the picture. Must be odd. */
const linesOfABand = 33;

/** Ids of samples. Triangle n has `firstTriangle + 2 * n`, plus 1 for its reflection in water. */
const [nothing, theGround, openWater, firstTriangle] = [0, 1, 2, 3];

class Band {
  readonly #plan: PicturePlan;
  readonly #scene: Scene;
  readonly samples: Samples;
  readonly glass: Samples;
  /** Ids of visible triangles, with the first and the last line of pixels of each. */
  readonly #ids: Int32Array;
  readonly #tops: Int16Array;
  readonly #ends: Int16Array;
  #count = 0;

  constructor(plan: PicturePlan, scene: Scene) {
    this.#plan = plan;
    this.#scene = scene;
    const { seen, seenInWater, mesh, eye } = scene;
    this.samples = makeSamples(eye.width, linesOfABand * samplesOfAPixel);
    this.glass = makeSamples(eye.width, linesOfABand * samplesOfAPixel);
    const room = mesh.triangleCount * (seenInWater === null ? 1 : 2);
    this.#ids = new Int32Array(room);
    this.#tops = new Int16Array(room);
    this.#ends = new Int16Array(room);
    this.#findSeen(seen, 0);
    if (seenInWater !== null) this.#findSeen(seenInWater, 1);
  }

  /** Fills the band that starts at this line of pixels. True if it contains glass. */
  fill(top: number): boolean {
    const { samples, glass } = this;
    samples.top = top * samplesOfAPixel;
    glass.top = top * samplesOfAPixel;
    this.#fillFar();
    glass.near.fill(0);
    let hasGlass = false;
    const { mesh, seen, seenInWater } = this.#scene;
    const { corners } = mesh;
    const end = top + linesOfABand;
    for (let index = 0; index < this.#count; index += 1) {
      if ((this.#tops[index] ?? 0) >= end || (this.#ends[index] ?? 0) < top) continue;
      const id = this.#ids[index] ?? 0;
      const at = ((id - firstTriangle) >> 1) * 3;
      const isGlass = this.#isGlass((id - firstTriangle) >> 1);
      hasGlass ||= isGlass;
      fillTriangle(
        isGlass ? glass : samples,
        ((id - firstTriangle) & 1) === 0 ? seen.places : (seenInWater ?? seen).places,
        (corners[at] ?? 0) * 3,
        (corners[at + 1] ?? 0) * 3,
        (corners[at + 2] ?? 0) * 3,
        id,
      );
    }
    return hasGlass;
  }

  #isGlass(triangle: number): boolean {
    const { mesh, surfaces } = this.#scene;
    const surface = mesh.surfaces[mesh.patches[triangle] ?? 0] ?? 0;
    return (surfaces[surface * surfaceSize + 7] ?? 1) < 1;
  }

  /** Collects visible triangles: no backs of closed parts, and no reflections of glass. */
  #findSeen({ places, facing }: Seen, mirrored: 0 | 1): void {
    const { mesh, eye } = this.#scene;
    const { corners, patches, triangleCount, closed } = mesh;
    for (let triangle = 0; triangle < triangleCount; triangle += 1) {
      const a = corners[triangle * 3] ?? 0;
      const b = corners[triangle * 3 + 1] ?? 0;
      const c = corners[triangle * 3 + 2] ?? 0;
      if (facing[a] === 0 && facing[b] === 0 && facing[c] === 0 && closed[patches[triangle] ?? 0] === true)
        continue;
      if (places[a * 3 + 2] === 0 || places[b * 3 + 2] === 0 || places[c * 3 + 2] === 0) continue;
      const ax = places[a * 3] ?? 0;
      const bx = places[b * 3] ?? 0;
      const cx = places[c * 3] ?? 0;
      const ay = places[a * 3 + 1] ?? 0;
      const by = places[b * 3 + 1] ?? 0;
      const cy = places[c * 3 + 1] ?? 0;
      const top = Math.min(ay, by, cy);
      const end = Math.max(ay, by, cy);
      if (!(end > 0 && top < eye.height)) continue;
      if (!(Math.max(ax, bx, cx) > 0 && Math.min(ax, bx, cx) < eye.width)) continue;
      if (mirrored === 1 && this.#isGlass(triangle)) continue;
      this.#ids[this.#count] = firstTriangle + triangle * 2 + mirrored;
      this.#tops[this.#count] = Math.max(0, Math.floor(top));
      this.#ends[this.#count] = Math.min(eye.height, Math.floor(end));
      this.#count += 1;
    }
  }

  /** Nearness of the edge of a studio's table. Other ground reaches the horizon, at 0. */
  #edge(): number {
    const { eye, air, shadows } = this.#scene;
    if (this.#plan.setting.ground !== 'studio') return 0;
    const [x, y, z] = this.#plan.view.to;
    return 1 / (depthOf(eye, snap(x), snap(y), snap(z)) + shadows.size * (air.daylight.isStudio ? 1.7 : 1));
  }

  /** Fills ground and water up to the horizon. All is level, so each line has one depth. */
  #fillFar(): void {
    const { eye, level } = this.#scene;
    const { width, top, lines, near, ids, asides } = this.samples;
    const { ground, hasWater } = this.#plan.setting;
    const [backX, backZ] = behind(this.#plan, 1).map(snap) as [number, number];
    const edge = this.#edge();
    const shore = snap(shoreAway(this.#plan)) - eye.from[0] * backX - eye.from[2] * backZ;
    const across = (eye.right[0] * backX + eye.right[2] * backZ) / eye.focal;
    for (let line = 0; line < lines; line += 1) {
      const [dx, dy, dz] = rayOf(eye, asides[line & 3] ?? 0, (line + top + 0.5) / samplesOfAPixel);
      const nearness = -dy / (eye.from[1] - level);
      const isGround = nearness > edge && ground !== 'space';
      const [from, to] = [line * width, (line + 1) * width];
      near.fill(isGround && ground !== 'water' ? nearness : 0, from, to);
      ids.fill(!isGround ? nothing : ground === 'water' ? openWater : theGround, from, to);
      if (!isGround || !hasWater) continue;
      const begin = dx * backX + dz * backZ;
      for (let x = 0; x < width; x += 1) {
        if (begin + across * x <= shore * nearness) continue;
        near[from + x] = 0;
        ids[from + x] = openWater;
      }
    }
  }
}
