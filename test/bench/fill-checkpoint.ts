/** Makes a batch nearly complete without rendering: records scenes as saved, directly in the checkpoint. */
import { join } from 'node:path';
import { Sqlite } from '../../src/lib/sqlite/database.ts';
import {
  CommitMarkFile,
  type Reached,
  readReached,
  sha256OfFile,
} from '../../src/runner/checkpoint/find-loss.ts';

/** Records scenes as saved in the order of the list, until `saved` of them are. No run may use the folder. */
export function fillCheckpoint(dir: string, baseUrl: string, saved: number): void {
  const file = join(dir, 'checkpoint.sqlite');
  const db = new Sqlite(file);
  let reached: Reached;
  try {
    db.transaction(() => {
      const at = Date.now();
      const counted = db.prepare<[], { n: number }>("SELECT count(*) AS n FROM scenes WHERE state = 'saved'");
      const missing = Math.max(0, saved - (counted.get()?.n ?? 0));
      db.prepare(addAttempts).run({ baseUrl, at, missing });
      db.prepare(addPictures).run();
      db.prepare(saveScenes).run();
    })();
    reached = readReached(db);
  } finally {
    db.close();
  }
  const mark = new CommitMarkFile(dir);
  mark.writeDurably({ ...reached, sha256: sha256OfFile(file) });
  mark.close();
}

const addAttempts = `
  INSERT INTO attempts (scene, number, run, state, base_url, endpoint_id, version, job_id, status,
    intended_at, submitted_at, completed_at, settled_at, delay_time_ms, execution_time_ms, polls)
  SELECT scene, attempts + 1, (SELECT max(run) FROM runs), 'saved', @baseUrl, 'scene-renderer', 'v2',
    'filled-' || scene, 'COMPLETED', @at, @at, @at, @at, 0, 0, 1
  FROM scenes WHERE state = 'waiting' ORDER BY position LIMIT @missing`;

const addPictures = `
  INSERT INTO pictures (attempt, number, name, file, file_key, width, height, bytes, sha256, seed)
  SELECT attempt, 1, id || '.png', id || '.png', upper(id) || '.PNG', 26, 26, 1000, hex(randomblob(32)), attempt
  FROM attempts JOIN scenes USING (scene) WHERE job_id LIKE 'filled-%'`;

const saveScenes = `
  UPDATE scenes SET state = 'saved', attempts = attempts + 1
  WHERE scene IN (SELECT scene FROM attempts WHERE job_id LIKE 'filled-%')`;
