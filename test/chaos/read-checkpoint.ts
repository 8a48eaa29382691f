/** What the program itself says of the batch: its checkpoint and its images folder, read by nothing of its own. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Sqlite } from '../../src/lib/sqlite/database.ts';

export interface SceneRow {
  id: string;
  state: string;
  failure_kind: string | null;
}

export interface AttemptRow {
  attempt: number;
  scene: string;
  state: string;
  job_id: string | null;
  failure_kind: string | null;
  failure_text: string | null;
}

export interface PictureRow {
  attempt: number;
  file: string;
  sha256: string;
}

export interface Declared {
  quickCheck: string;
  scenes: SceneRow[];
  attempts: AttemptRow[];
  pictures: PictureRow[];
  /** The sha256 of every file in the images folder, by its name. */
  files: Map<string, string>;
}

/** `dir` is the output folder; no run may be up. */
export function readDeclared(dir: string): Declared {
  const db = new Sqlite(join(dir, 'checkpoint.sqlite'), { readonly: true });
  try {
    return {
      quickCheck: String(db.pragma('quick_check', { simple: true })),
      scenes: db.prepare<[], SceneRow>('SELECT id, state, failure_kind FROM scenes').all(),
      attempts: db
        .prepare<[], AttemptRow>(
          `SELECT a.attempt, s.id AS scene, a.state, a.job_id, a.failure_kind, a.failure_text
           FROM attempts a JOIN scenes s USING (scene) ORDER BY a.attempt`,
        )
        .all(),
      pictures: db.prepare<[], PictureRow>('SELECT attempt, file, sha256 FROM pictures').all(),
      files: readFiles(join(dir, 'images')),
    };
  } finally {
    db.close();
  }
}

function readFiles(dir: string): Map<string, string> {
  const entries = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return new Map(
    entries.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [path.slice(dir.length + 1), createHash('sha256').update(readFileSync(path)).digest('hex')];
    }),
  );
}
