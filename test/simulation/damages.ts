/** What disks and people do to the files of a batch between two starts. */
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Chance } from '../../src/server/faults/chance.ts';
import { pictureOf } from './night-service.ts';

/** Where writes that last take no time. */
export const fastFolder = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

export interface Damaged {
  /** In words. */
  what: string;
  /** Pictures, by their paths in the folder of pictures. */
  pictures: string[];
  /** A file of somebody else's that is there now. */
  stranger?: Buffer;
}

interface Place {
  out: string;
  /** The checkpoint as starts before left it. */
  olds: string[];
  /** Jobs in flight by what is on record. */
  openJobs: string[];
  /** Names that pictures of the list will have. */
  names: string[];
  chance: Chance;
}

/** Undefined where there is nothing to be damaged so. */
export type Damage = (place: Place) => Damaged | undefined;

export type FileDamage = 'missing' | 'empty' | { cutAt: number } | { flipAt: number; by: number };

export function damageFile(path: string, damage: FileDamage): void {
  if (damage === 'missing') rmSync(path, { recursive: true });
  else if (damage === 'empty') truncateSync(path);
  else if ('cutAt' in damage) truncateSync(path, damage.cutAt);
  else {
    const bytes = readFileSync(path);
    bytes[damage.flipAt] = (bytes[damage.flipAt] ?? 0) ^ damage.by;
    writeFileSync(path, bytes);
  }
}

/** A flipped bit, or a byte that is another letter. */
export function drawFlip(size: number, { between, hits }: Chance): FileDamage {
  return { flipAt: between(0, size - 1), by: hits(0.5) ? 1 << between(0, 7) : between(1, 255) };
}

/** `ways` are drawn from. */
const file =
  (name: string, ...ways: ('missing' | 'empty' | 'cut' | 'flipped')[]): Damage =>
  ({ out, chance }) => {
    const path = join(out, name);
    if (!existsSync(path)) return undefined;
    const { size } = statSync(path);
    const way = chance.pick(ways);
    if (size === 0 && way !== 'missing') return undefined;
    const damage =
      way === 'cut' ? { cutAt: chance.between(1, size) } : way === 'flipped' ? drawFlip(size, chance) : way;
    damageFile(path, damage);
    return { what: `${name} ${way} ${JSON.stringify(damage)}`, pictures: [] };
  };

const older: Damage = ({ out, olds, chance }) => {
  if (olds.length === 0 || !existsSync(join(out, 'checkpoint.sqlite'))) return undefined;
  const old = chance.pick(olds);
  for (const end of ['', '-wal', '-shm']) rmSync(join(out, `checkpoint.sqlite${end}`), { force: true });
  for (const name of readdirSync(old)) copyFileSync(join(old, name), join(out, name));
  return { what: 'checkpoint older', pictures: [] };
};

/** One letter of what is stored as text: of an input, or of a job's id. */
const letter: Damage = ({ out, openJobs, chance }) => {
  const path = join(out, 'checkpoint.sqlite');
  if (!existsSync(path)) return undefined;
  const bytes = readFileSync(path);
  const job = openJobs.length > 0 && chance.hits(0.5) ? chance.pick(openJobs) : undefined;
  const needle = job ?? '{"scene":"scene ';
  const places: number[] = [];
  for (let at = bytes.indexOf(needle); at !== -1; at = bytes.indexOf(needle, at + 1))
    places.push(job === undefined ? at + needle.length : at + needle.length - 1);
  if (places.length === 0) return undefined;
  const flipAt = chance.pick(places);
  damageFile(path, { flipAt, by: 1 << chance.between(0, 2) });
  return { what: `a letter behind ${needle} at ${flipAt}`, pictures: [] };
};

const picture: Damage = ({ out, chance }) => {
  const files = picturesIn(out);
  if (files.length === 0) return undefined;
  const name = chance.pick(files);
  const path = join(out, 'images', name);
  const { size } = statSync(path);
  const way = chance.pick(['missing', 'empty', 'cut', 'flipped', 'another'] as const);
  if (way === 'another') writeFileSync(path, pictureOf(`a stranger ${chance.draw()}`));
  else if (way === 'cut') damageFile(path, { cutAt: chance.between(1, size - 1) });
  else damageFile(path, way === 'flipped' ? drawFlip(size, chance) : way);
  return { what: `picture ${name} ${way}`, pictures: [name] };
};

const folderOfPictures: Damage = ({ out, chance }) => {
  const files = picturesIn(out);
  if (files.length === 0) return undefined;
  if (chance.hits(0.5)) rmSync(join(out, 'images'), { recursive: true });
  else for (const name of files) rmSync(join(out, 'images', name));
  return { what: 'all pictures gone', pictures: files };
};

/** Other people's files, some under names that pictures will have. */
const stranger: Damage = ({ out, names, chance }) => {
  const name = chance.hits(0.3) ? 'notes.txt' : chance.pick(names);
  const path = join(out, 'images', name);
  if (existsSync(path)) return undefined;
  mkdirSync(dirname(path), { recursive: true });
  const own = Buffer.from(`a stranger's file ${chance.draw()}`);
  writeFileSync(path, own);
  return { what: `a stranger's ${name}`, pictures: [name], stranger: own };
};

export const damages = {
  log: file('checkpoint.sqlite-wal', 'missing', 'empty', 'cut', 'flipped'),
  index: file('checkpoint.sqlite-shm', 'missing', 'empty', 'cut', 'flipped'),
  checkpoint: file('checkpoint.sqlite', 'empty', 'cut', 'flipped', 'flipped'),
  letter,
  checkpointGone: file('checkpoint.sqlite', 'missing'),
  older,
  mark: file('.checkpoint.json', 'missing', 'empty', 'cut', 'flipped'),
  inHand: file('.in-hand', 'missing', 'empty', 'cut', 'flipped'),
  reserve: file('.reserve', 'missing', 'empty', 'cut', 'flipped'),
  lock: file('.lock.sqlite', 'missing', 'empty', 'cut', 'flipped'),
  holder: file('.lock.json', 'missing', 'empty', 'cut', 'flipped'),
  picture,
  folderOfPictures,
  stranger,
} satisfies Record<string, Damage>;

function picturesIn(out: string): string[] {
  const images = join(out, 'images');
  if (!existsSync(images)) return [];
  return readdirSync(images, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.png') && statSync(join(images, name)).isFile())
    .toSorted();
}

/** Puts down the checkpoint as it is now. */
export function keepCheckpoint(out: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of ['checkpoint.sqlite', 'checkpoint.sqlite-wal'])
    if (existsSync(join(out, name))) copyFileSync(join(out, name), join(to, name));
}

export function copyFolder(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  cpSync(from, to, { recursive: true, filter: (path) => !path.endsWith('.reserve') });
}
