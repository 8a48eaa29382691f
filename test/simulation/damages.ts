/** Damages that disks and people do to the files of a batch between two starts. */
import { Sqlite } from '../../src/lib/sqlite/database.ts';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { sha256 } from '../account/read-folder.ts';
import type { Chance } from '../faults/chance.ts';
import { pictureOf } from './night-service.ts';

/** A folder in memory if there is one, because fsync takes no time there. */
export const fastFolder = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

export interface Damaged {
  /** Description of the damage. */
  what: string;
  /** Damaged pictures, by path in the folder of pictures. */
  pictures: string[];
  /** SHA-256 of a file that somebody else has added. */
  stranger?: string;
  /** A job in flight whose recorded id was changed. `id` is the real one. */
  job?: { attempt: number; id: string };
}

interface Place {
  out: string;
  /** Copies of the checkpoint after earlier starts. */
  olds: string[];
  /** Names that pictures of the list will have. */
  names: string[];
  chance: Chance;
}

/** Does a damage and describes it. Returns undefined if the batch has nothing that can be damaged in this way. */
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

/** Returns a flipped bit, or a byte with another value. */
export function drawFlip(size: number, { between, hits }: Chance): FileDamage {
  return { flipAt: between(0, size - 1), by: hits(0.5) ? 1 << between(0, 7) : between(1, 255) };
}

/** Returns a damage of one file, in one of the given ways at random. */
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

/**
 * Changes one letter of text in the checkpoint: in an input, or in the id of a job in flight. Everything else stays
 * valid.
 */
const letter: Damage = ({ out, chance }) => {
  const path = join(out, 'checkpoint.sqlite');
  if (!existsSync(path) || statSync(path).size === 0) return undefined;
  const db = new Sqlite(path);
  try {
    if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'scenes'").get() === undefined) return undefined;
    const inputs = db.prepare<[], Stored>(
      "SELECT 'scenes' AS tbl, 'input' AS name, scene AS key, input AS text FROM scenes",
    );
    const ids = db.prepare<[], Stored>(
      "SELECT 'attempts' AS tbl, 'job_id' AS name, attempt AS key, job_id AS text FROM attempts WHERE state = 'submitted'",
    );
    const open = ids.all();
    const stored = open.length > 0 && chance.hits(0.5) ? open : inputs.all();
    if (stored.length === 0) return undefined;
    const { tbl, name, key, text } = chance.pick(stored);
    const at = tbl === 'scenes' ? text.indexOf('"scene ') + 7 : text.length - 1;
    const changed = String.fromCharCode(text.charCodeAt(at) ^ (1 << chance.between(0, 2)));
    db.prepare(`UPDATE OR IGNORE ${tbl} SET ${name} = ? WHERE rowid = ?`).run(
      text.slice(0, at) + changed + text.slice(at + 1),
      key,
    );
    const job = tbl === 'attempts' ? { job: { attempt: key, id: text } } : {};
    return { what: `letter ${at} of ${text}: ${changed}`, pictures: [], ...job };
  } finally {
    db.close();
  }
};

interface Stored {
  tbl: 'scenes' | 'attempts';
  name: 'input' | 'job_id';
  key: number;
  text: string;
}

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

/** Adds a file of somebody else, at times under a name that a picture will have. */
const stranger: Damage = ({ out, names, chance }) => {
  const name = chance.hits(0.3) ? 'notes.txt' : chance.pick(names);
  const path = join(out, 'images', name);
  if (existsSync(path)) return undefined;
  mkdirSync(dirname(path), { recursive: true });
  const own = `a stranger's file ${chance.draw()}`;
  writeFileSync(path, own);
  return { what: `a stranger's ${name}`, pictures: [name], stranger: sha256(own) };
};

export const damages = {
  log: file('checkpoint.sqlite-wal', 'missing', 'empty', 'cut', 'flipped'),
  index: file('checkpoint.sqlite-shm', 'missing', 'empty', 'cut', 'flipped'),
  checkpoint: file('checkpoint.sqlite', 'empty', 'cut', 'flipped', 'flipped'),
  letter,
  checkpointGone: file('checkpoint.sqlite', 'missing'),
  older,
  mark: file('.checkpoint.json', 'missing', 'empty', 'cut', 'flipped'),
  crashMarkers: file('.in-hand', 'missing', 'empty', 'cut', 'flipped'),
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

/** Copies the present checkpoint. */
export function keepCheckpoint(out: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of ['checkpoint.sqlite', 'checkpoint.sqlite-wal'])
    if (existsSync(join(out, name))) copyFileSync(join(out, name), join(to, name));
}

export function copyFolder(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  copyTree(from, to, (name) => name !== '.reserve');
}

/** Copies a folder of files and folders with their times. `cpSync` takes several times as long. */
export function copyTree(from: string, to: string, isCopied: (name: string) => boolean): void {
  mkdirSync(to, { mode: statSync(from).mode });
  for (const entry of readdirSync(from, { withFileTypes: true }).filter(({ name }) => isCopied(name))) {
    const [path, copy] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) copyTree(path, copy, isCopied);
    else {
      copyFileSync(path, copy);
      const { atime, mtime } = statSync(path);
      utimesSync(copy, atime, mtime);
    }
  }
}
