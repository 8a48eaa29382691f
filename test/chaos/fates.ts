/** How jobs end at the hostile service: most with a picture, some in each of the bad ways that are known. */
import { badEnds } from '../faults/bad-ends.ts';
import { type Chance, chance } from '../faults/chance.ts';
import { pictureDamages as damages, png, rowsOf } from '../faults/picture-damages.ts';

/** Of an ended job. */
export interface End {
  /** By which a status answer tells of it. */
  fields: Record<string, unknown>;
  /** What stands in the place of a picture. */
  image?: string;
}

export const good = 'good';
/** The service took it on, and does not know it any more a moment later. */
export const lost = 'lost by the service';
const stalls: readonly string[] = ['stalls in the queue', 'stalls in execution'];
/** The fate of all jobs of a scene that is cursed so. */
export const sameAgain = 'the same damage each time';

export function drawFate(random: Chance, badShare: number): string {
  return random.hits(badShare) ? random.pick(badFates) : good;
}

/** Undefined where it never ends. */
export function endOf(fate: string, seed: number, job: number, scene: string): End | undefined {
  if (fate === good) return rendered(pictureOf(seed, job).toString('base64'), job);
  const isAgain = fate === sameAgain;
  const damage = damages[isAgain ? 'picture-flipped-bit' : fate];
  if (damage !== undefined) return rendered(damage.of(pictureOf(seed, isAgain ? scene : job), job), job);
  const fields = badEnds[fate]?.fields(job);
  return fields && { fields };
}

/** A whole PNG of noise, different for each job number and each other name. */
export function pictureOf(seed: number, name: number | string): Buffer {
  const { draw } = chance(seed, 'picture', name);
  const rows = rowsOf(width, height, () => [draw() * 256, draw() * 256, draw() * 256]);
  return png(width, height, rows);
}

const width = 24;
const height = 16;

/** The failure that a job of this fate is to be taken for. */
export function kindOf(fate: string): string | null {
  if (stalls.includes(fate)) return 'job-overdue';
  if (fate === sameAgain) return 'bad-picture';
  return damages[fate]?.kind ?? badEnds[fate]?.kind ?? null;
}

const badFates: readonly string[] = [...Object.keys(badEnds), ...Object.keys(damages), ...stalls, lost];

function rendered(image: string, seed: number): End {
  return { fields: { status: 'COMPLETED', output: [{ rendered_image: image, seed }] }, image };
}
