/** What is at each sample of a band of lines: sky, ground, water or a triangle, and glass before it. */
import { behind, shoreAway } from '../around/ground.ts';
import { snap } from '../exact.ts';
import type { PicturePlan } from '../plan-picture.ts';
import { depthOf, rayOf, type Seen } from './eye.ts';
import { fillTriangle, makeSamples, samplesOfAPixel, type Samples } from './raster.ts';
import type { Scene } from './shade.ts';
import { surfaceSize } from './surfaces.ts';

/** Lines of pixels that are worked on at a time, so that the memory does not grow with the picture. */
export const linesOfABand = 16;

/** What is at a sample: one of these, or from `firstTriangle` on a triangle twice, plus one where water mirrors it. */
export const [nothing, theGround, openWater, firstTriangle] = [0, 1, 2, 3];

export class Band {
  readonly #plan: PicturePlan;
  readonly #scene: Scene;
  readonly samples: Samples;
  readonly glass: Samples;

  constructor(plan: PicturePlan, scene: Scene) {
    this.#plan = plan;
    this.#scene = scene;
    this.samples = makeSamples(scene.eye.width, linesOfABand * samplesOfAPixel);
    this.glass = makeSamples(scene.eye.width, linesOfABand * samplesOfAPixel);
  }

  /** From a line of pixels on; answers whether there is glass. */
  fill(top: number): boolean {
    this.samples.top = top * samplesOfAPixel;
    this.glass.top = top * samplesOfAPixel;
    this.#fillFar();
    this.glass.ids.fill(nothing);
    this.glass.near.fill(0);
    const { seen, seenInWater } = this.#scene;
    const hasGlass = this.#fillFrom(seen, 0);
    if (seenInWater !== null) this.#fillFrom(seenInWater, 1);
    return hasGlass;
  }

  /** How far away the table of a studio ends; all other ground reaches the horizon. */
  #edge(): number {
    const { eye, air, shadows } = this.#scene;
    if (this.#plan.setting.ground !== 'studio') return 0;
    const [x, y, z] = this.#plan.view.to;
    return 1 / (depthOf(eye, snap(x), snap(y), snap(z)) + shadows.size * (air.daylight.isStudio ? 1.7 : 1));
  }

  /** Ground and water reach to the horizon; they are level, and so is the eye: each line is at one depth. */
  #fillFar(): void {
    const { eye, level } = this.#scene;
    const { width, top, lines, near, ids, asides } = this.samples;
    const { ground } = this.#plan.setting;
    const [backX, backZ] = behind(this.#plan, 1).map(snap) as [number, number];
    const edge = this.#edge();
    const shore = snap(shoreAway(this.#plan)) - eye.from[0] * backX - eye.from[2] * backZ;
    for (let line = 0; line < lines; line += 1) {
      const y = (line + top + 0.5) / samplesOfAPixel;
      const [dx, dy, dz] = rayOf(eye, asides[line & 3] ?? 0, y);
      const nearness = -dy / (eye.from[1] - level);
      const isGround = nearness > edge && ground !== 'space';
      near.fill(isGround && ground !== 'water' ? nearness : 0, line * width, (line + 1) * width);
      ids.fill(
        !isGround ? nothing : ground === 'water' ? openWater : theGround,
        line * width,
        (line + 1) * width,
      );
      if (!isGround || !this.#plan.setting.hasWater) continue;
      const across = (eye.right[0] * backX + eye.right[2] * backZ) / eye.focal;
      const begin = dx * backX + dz * backZ;
      for (let x = 0; x < width; x += 1) {
        if (begin + across * x <= shore * nearness) continue;
        near[line * width + x] = 0;
        ids[line * width + x] = openWater;
      }
    }
  }

  #fillFrom({ places, facing }: Seen, mirrored: 0 | 1): boolean {
    const { mesh, surfaces } = this.#scene;
    const { corners, patches, triangleCount, closed } = mesh;
    const top = this.samples.top / samplesOfAPixel;
    const end = top + linesOfABand;
    let hasGlass = false;
    for (let triangle = 0; triangle < triangleCount; triangle += 1) {
      const a = corners[triangle * 3] ?? 0;
      const b = corners[triangle * 3 + 1] ?? 0;
      const c = corners[triangle * 3 + 2] ?? 0;
      const ay = places[a * 3 + 1] ?? 0;
      const by = places[b * 3 + 1] ?? 0;
      const cy = places[c * 3 + 1] ?? 0;
      if ((ay < top && by < top && cy < top) || (ay > end && by > end && cy > end)) continue;
      const patch = patches[triangle] ?? 0;
      const isBack = facing[a] === 0 && facing[b] === 0 && facing[c] === 0;
      if (
        (isBack && closed[patch] === true) ||
        places[a * 3 + 2] === 0 ||
        places[b * 3 + 2] === 0 ||
        places[c * 3 + 2] === 0
      )
        continue;
      const isGlass = (surfaces[(mesh.surfaces[patch] ?? 0) * surfaceSize + 7] ?? 1) < 1;
      if (isGlass && mirrored === 1) continue;
      hasGlass ||= isGlass;
      fillTriangle(
        isGlass ? this.glass : this.samples,
        places,
        a * 3,
        b * 3,
        c * 3,
        firstTriangle + triangle * 2 + mirrored,
      );
    }
    return hasGlass;
  }
}
