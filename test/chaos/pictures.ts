/** A real picture for each job, different from all others, and the failures that damaged ones are to be taken for. */
import { chance } from '../../src/service/faults/chance.ts';
import { pictureDamages } from '../../src/service/faults/picture-damages.ts';
import { png, rowsOf } from '../../src/service/faults/picture-damages.ts';

const width = 24;
const height = 16;

/** A whole PNG of noise, different for each job number and each other name. */
export function pictureOf(seed: number, name: number | string): Buffer {
  const { draw } = chance(seed, 'picture', name);
  return png(
    width,
    height,
    rowsOf(width, height, () => [draw() * 256, draw() * 256, draw() * 256]),
  );
}

interface Damage {
  /** The failure that it is to be taken for. */
  kind: string;
  /** Gives what stands in the place of a picture's base64. */
  of: (picture: Buffer, job: number) => string;
}

const kinds: Record<string, string> = {
  'picture-one-colour': 'blank-picture',
  'picture-tiny': 'picture-too-small',
  'picture-path': 'failed-inside',
};

/** The one is good, the other stops a run. */
const noDamages: ReadonlySet<string> = new Set(['picture-data-uri', 'picture-url']);

export const damages: Record<string, Damage> = Object.fromEntries(
  Object.entries(pictureDamages)
    .filter(([name]) => !noDamages.has(name))
    .map(([name, { damaged }]) => [name, { kind: kinds[name] ?? 'bad-picture', of: damaged }]),
);

/** For a damage that comes again as it came before. */
export function sameDamage(picture: Buffer): string {
  return damages['picture-flipped-bit']?.of(picture, 0) ?? '';
}
