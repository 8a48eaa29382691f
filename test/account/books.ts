/**
 * The books of a batch: the checkpoint's records of scenes, attempts and pictures, read without the program's own code.
 */
import type { Database } from '../../src/lib/sqlite/database.ts';

export interface Attempt {
  attempt: number;
  /** Number of this attempt within its scene, from 1. */
  number: number;
  /** Key of the scene and id of its row, as of `Books.scenes`. */
  scene: string;
  id: string;
  state: string;
  job_id: string | null;
  kind: string | null;
  text: string | null;
  /** Digest of the answer that is kept for a job while it waits for a setting. */
  answer: string | null;
  base_url: string;
  /** Epoch ms of the program's clock. */
  settled_at: number | null;
}

export interface Scene {
  /** Key of the scene: what it sends. Two rows of the list may send the same. */
  scene: string;
  id: string;
  input: string;
  state: string;
  kind: string | null;
  /** Number of crashes that count against the scene. */
  deaths: number;
}

interface Picture {
  attempt: number;
  scene: string;
  id: string;
  /** Null for a picture that was adopted by its name. */
  job_id: string | null;
  /** Number of this picture within its attempt, from 1. */
  number: number;
  file: string;
  /** New name of the picture. A move may be in progress, so the file has one of the two names. */
  move_to: string | null;
  bytes: number;
  sha256: string;
}

export interface Books {
  attempts: Attempt[];
  scenes: Scene[];
  pictures: Picture[];
  /** Submissions that a person has accepted as lost. */
  lost: number;
}

export const noBooks: Books = { attempts: [], scenes: [], pictures: [], lost: 0 };

/** SQL expressions that identify a scene: all of its input, only its text (which a test can read), or its id. */
const keys = { fingerprint: 's.fingerprint', text: "json_extract(s.input, '$.scene')", id: 's.id' };

export type SceneKey = keyof typeof keys;

/** Throws `SqliteError` if the checkpoint cannot be read. */
export function readBooks(db: Database, key: SceneKey): Books {
  const read = <Row>(sql: string): Row[] => db.prepare<[], Row>(sql).all();
  const scene = `${keys[key]} AS scene`;
  return {
    attempts: read<Attempt>(
      `SELECT attempt, number, ${scene}, id, a.state, job_id, a.failure_kind AS kind, a.failure_text AS text,
         failure_digest AS answer, base_url, settled_at
       FROM attempts a JOIN scenes s USING (scene) ORDER BY attempt`,
    ),
    scenes: read<Scene>(
      `SELECT ${scene}, id, input, state, failure_kind AS kind, deaths FROM scenes s ORDER BY s.scene`,
    ),
    pictures: read<Picture>(
      `SELECT attempt, ${scene}, id, job_id, p.number, file, move_to, bytes, sha256
       FROM pictures p JOIN attempts USING (attempt) JOIN scenes s USING (scene) ORDER BY picture`,
    ),
    lost: read<{ n: number }>('SELECT lost_submissions AS n FROM commits')[0]?.n ?? 0,
  };
}
