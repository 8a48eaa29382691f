/** What a batch folder says, read without touching it: the checkpoint from a copy, and every file of a picture. */
import { type Database, Sqlite } from '../../src/lib/sqlite/database.ts';
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';

export interface AttemptRow {
  attempt: number;
  number: number;
  fingerprint: string;
  state: string;
  job_id: string | null;
  kind: string | null;
  /** Which answer is kept of a job that waits for a setting. */
  answer: string | null;
}

export interface SceneRow {
  id: string;
  fingerprint: string;
  input: string;
  state: string;
  kind: string | null;
}

export interface PictureRow {
  /** Null of one that was adopted by its name. */
  job_id: string | null;
  fingerprint: string;
  file: string;
  /** Where it may be already. */
  move_to: string | null;
  bytes: number;
}

/** What the folder says: undefined where there is no checkpoint that can be read. */
export interface Folder {
  state: FolderState | undefined;
  /** Every file below the folder of pictures, by its path within it. */
  files: Map<string, Buffer>;
  /** Attempts whose answers are kept. */
  kept: Set<number>;
}

export interface FolderState {
  attempts: AttemptRow[];
  scenes: SceneRow[];
  pictures: PictureRow[];
  /** Submissions that a person has accepted as lost. */
  lost: number;
}

const parts = ['', '-wal'];

export function readFolder(out: string): Folder {
  return { state: readState(out), files: readPictures(out), kept: readKept(out) };
}

function readState(out: string): FolderState | undefined {
  const copy = `${out}.read.sqlite`;
  for (const part of parts)
    if (existsSync(join(out, `checkpoint.sqlite${part}`)))
      copyFileSync(join(out, `checkpoint.sqlite${part}`), copy + part);
  let db: Database | undefined;
  try {
    db = new Sqlite(copy, { fileMustExist: true });
    return {
      attempts: db
        .prepare<[], AttemptRow>(
          `SELECT attempt, number, fingerprint, a.state, job_id, a.failure_kind AS kind, failure_digest AS answer
           FROM attempts a JOIN scenes USING (scene) ORDER BY attempt`,
        )
        .all(),
      scenes: db
        .prepare<[], SceneRow>(
          'SELECT id, fingerprint, input, state, failure_kind AS kind FROM scenes ORDER BY scene',
        )
        .all(),
      pictures: db
        .prepare<[], PictureRow>(
          `SELECT job_id, fingerprint, file, move_to, bytes FROM pictures JOIN attempts USING (attempt) JOIN scenes USING (scene)
           ORDER BY picture`,
        )
        .all(),
      lost: db.prepare<[], { n: number }>('SELECT lost_submissions AS n FROM commits').get()?.n ?? 0,
    };
  } catch (error) {
    if (error instanceof Sqlite.SqliteError) return undefined;
    throw error;
  } finally {
    db?.close();
    for (const part of [...parts, '-shm']) rmSync(copy + part, { force: true });
  }
}

function readKept(out: string): Set<number> {
  const folder = join(out, 'kept-answers');
  return new Set(existsSync(folder) ? readdirSync(folder).map((name) => Number.parseInt(name)) : []);
}

function readPictures(out: string): Map<string, Buffer> {
  const images = join(out, 'images');
  if (!existsSync(images) || !statSync(images).isDirectory()) return new Map();
  const paths = readdirSync(images, { recursive: true, encoding: 'utf8' }).toSorted();
  return new Map(
    paths
      .map((path) => join(images, path))
      .filter((path) => statSync(path).isFile())
      .map((path) => [relative(images, path), readFileSync(path)]),
  );
}

/** The part of a PNG that is its pixels, whatever texts are beside them. */
export function pixelsOf(png: Buffer): string {
  return png.subarray(Math.max(0, png.indexOf('IDAT'))).toString('base64');
}
