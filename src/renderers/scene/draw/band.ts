/** Finds the nearest surface at each sample of some lines: sky, ground, water or a triangle, and glass before it. */
import { behind, shoreAway } from '../around/backdrops.ts';
import { snap } from '../vector.ts';
import type { PicturePlan } from '../plan-picture.ts';
import { depthOf, rayOf, type Seen } from './eye.ts';
import { fillTriangle, makeSamples, samplesOfAPixel, type Samples } from './mesh.ts';
import type { Scene } from './shade.ts';
import { surfaceSize } from './surfaces.ts';

/** Lines of pixels in a band, so that memory doesn't grow with the picture. Must be odd. */
export const linesOfABand = 33;

/** Ids of samples. Triangle n has `firstTriangle + 2 * n`, plus 1 for its reflection in water. */
export const [nothing, theGround, openWater, firstTriangle] = [0, 1, 2, 3];

export class Band {
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
