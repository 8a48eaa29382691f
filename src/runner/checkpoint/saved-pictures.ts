/** The pictures that the checkpoint knows, for whoever looks whether they are still there. */
import type { RecordedPicture } from '../core/verification.ts';
import { asFatalFailure } from './full-disk.ts';
import type { Database } from '../../lib/sqlite/database.ts';

/** Read so many at a time: a reader that stayed in one place for hours would keep a run's journal from being tidied. */
const pageSize = 500;

const recorded = `
  SELECT p.attempt, p.number, s.id AS sceneId, s.state AS sceneState, p.file, p.move_to AS moveTo,
         p.width, p.height, p.bytes, p.sha256
  FROM pictures p JOIN attempts USING (attempt) JOIN scenes s USING (scene)`;

/** The pictures of a job together; those that are recorded meanwhile may come or not. */
export function* readSavedJobs(db: Database): Generator<RecordedPicture[]> {
  const page = db.prepare<[number, number], RecordedPicture>(
    `${recorded} WHERE (p.attempt, p.number) > (?, ?) ORDER BY p.attempt, p.number LIMIT ${pageSize}`,
  );
  let job: RecordedPicture[] = [];
  let last = { attempt: 0, number: 0 };
  for (let rows = page.all(0, 0); rows.length > 0; rows = page.all(last.attempt, last.number)) {
    for (const row of rows) {
      if (job[0] !== undefined && job[0].attempt !== row.attempt) {
        yield job;
        job = [];
      }
      job.push(row);
      last = row;
    }
  }
  if (job.length > 0) yield job;
}

/** Those of saved scenes; read as they are asked for. */
export function* readPicturesOfSaved(db: Database): Generator<RecordedPicture> {
  try {
    for (const job of readSavedJobs(db)) if (job[0]?.sceneState === 'saved') yield* job;
  } catch (error) {
    throw asFatalFailure(error);
  }
}

export function recordedReader(db: Database): (attempt: number) => RecordedPicture[] {
  const ofAttempt = db.prepare<[number], RecordedPicture>(
    `${recorded} WHERE p.attempt = ? ORDER BY p.number`,
  );
  return (attempt) => ofAttempt.all(attempt);
}

export function countPictures(db: Database): number {
  return db.prepare<[], { n: number }>('SELECT count(*) AS n FROM pictures').get()?.n ?? 0;
}
