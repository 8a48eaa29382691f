/** How jobs of the hostile service end: most with a picture, some in each known bad way. */
import { badEnds } from '../faults/bad-ends.ts';
import { type Chance, chance } from '../faults/chance.ts';
import { pictureDamages as damages, png, rowsOf } from '../faults/picture-damages.ts';

/** The end of a job. */
export interface End {
  /** Fields of the status answer. */
  fields: Record<string, unknown>;
  /** Data of the picture in the answer, complete or damaged. */
  image?: string;
}

export const good = 'good';
/** The service accepts the job and forgets it a moment later. */
export const lost = 'lost by the service';
const stalls: readonly string[] = ['stalls in the queue', 'stalls in execution'];
/** Fate of all jobs of a scene with this curse. */
export const sameAgain = 'the same damage each time';

export function drawFate(random: Chance, badShare: number): string {
  return random.hits(badShare) ? random.pick(badFates) : good;
}

/** Returns how a job of this fate ends. Undefined if it never ends. */
export function endOf(fate: string, seed: number, job: number, scene: string): End | undefined {
  if (fate === good) return rendered(pictureOf(seed, job).toString('base64'), job);
  const isAgain = fate === sameAgain;
  const damage = damages[isAgain ? 'picture-flipped-bit' : fate];
  if (damage !== undefined) return rendered(damage.of(pictureOf(seed, isAgain ? scene : job), job), job);
  const fields = badEnds[fate]?.fields(job);
  return fields && { fields };
}

/** Returns a complete PNG of noise that differs for each number or name. */
export function pictureOf(seed: number, name: number | string): Buffer {
  const { draw } = chance(seed, 'picture', name);
  const rows = rowsOf(width, height, () => [draw() * 256, draw() * 256, draw() * 256]);
  return png(width, height, rows);
}

const width = 24;
const height = 16;

/** Returns the kind of failure that the program must record for a job of this fate. */
export function kindOf(fate: string): string | null {
  if (stalls.includes(fate)) return 'job-overdue';
  if (fate === sameAgain) return 'bad-picture';
  return damages[fate]?.kind ?? badEnds[fate]?.kind ?? null;
}

const badFates: readonly string[] = [...Object.keys(badEnds), ...Object.keys(damages), ...stalls, lost];

function rendered(image: string, seed: number): End {
  return { fields: { status: 'COMPLETED', output: [{ rendered_image: image, seed }] }, image };
}
