/** The pictures on record: reads them, and removes the record of those that are missing or damaged. */
import type { RecordedPicture } from '../core/verification.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import { splitFiles, type PictureOutput, type SavedPicture } from '../core/picture.ts';
import { nameKey } from '../core/naming.ts';
import type { PictureMove } from '../pipeline/ports.ts';
import { asFatalFailure } from './journal.ts';
import { forgetPictures } from './read-totals.ts';
import { prepareStatements } from './statements.ts';

/** Read so many at a time: a reader that stayed in one place for hours would keep a run's journal from being tidied. */
const pageSize = 500;

const recorded = `
  SELECT p.attempt, p.number, p.label, s.id AS sceneId, s.state AS sceneState, p.file, p.move_to AS moveTo,
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

/** Of all that is on record, files besides pictures included. */
export function countSaved(db: Database): number {
  return db.prepare<[], { n: number }>('SELECT count(*) AS n FROM pictures').get()?.n ?? 0;
}

type SavedRow = Omit<SavedPicture, 'seed' | 'label' | 'output'> &
  Record<'seed' | 'label' | 'output', string | null>;

/** Pictures, and files besides. */
export function savedReader(db: Database): (attempt: number) => ReturnType<typeof splitFiles> {
  const saved = db.prepare<[number], SavedRow>(
    `SELECT file, width, height, bytes, sha256, seed, label, output
     FROM pictures WHERE attempt = ? ORDER BY number`,
  );
  return (attempt) =>
    splitFiles(
      saved.all(attempt).map(({ seed, label, output, ...picture }) => ({
        ...picture,
        ...(seed !== null && { seed }),
        ...(label !== null && { label }),
        ...(output !== null && outputOf(output)),
      })),
    );
}

/** None where it cannot be read: a picture is as good without it. */
function outputOf(text: string): { output?: PictureOutput } {
  try {
    return { output: JSON.parse(text) as PictureOutput };
  } catch {
    return {};
  }
}

/** Returns SQL of `pictures`: true if a picture has this list, or has something in it. Reads it as text, which may be damaged. */
export function hasList(name: keyof PictureOutput, isFilled: boolean): string {
  return `instr(output, '"${name}":[${isFilled ? '"' : ''}') > 0`;
}

/** Lists of words that the table of results has as columns, where the service brings them. */
export function readListNames(db: Database) {
  const names = ['labelled_words', 'ignored_words'] as const;
  return names.filter(
    (name) => db.prepare(`SELECT 1 FROM pictures WHERE ${hasList(name, false)} LIMIT 1`).get() !== undefined,
  );
}

/** What files besides pictures are called, in the order of `output.files`. */
export function readLabels(db: Database): string[] {
  const labels = db.prepare<[], string>(
    'SELECT label FROM pictures WHERE label IS NOT NULL GROUP BY label ORDER BY min(number), label',
  );
  return labels.pluck().all();
}

export interface PictureRepair {
  /** Renames that a dead run had decided, in the order to do them in. */
  pendingMoves: () => PictureMove[];
  recordMoved: (move: PictureMove) => Promise<void>;
  /** Forgets every picture of the attempt; resolves to whether its scene now waits, as it does unless it is withdrawn. */
  putBack: (attempt: number) => Promise<boolean>;
}

/** Only for whoever holds the batch's lock. */
export function pictureRepair(db: Database): PictureRepair {
  const sql = prepareStatements(db);
  const wait = db.prepare<[number]>(`
    UPDATE scenes SET state = 'waiting', due_at = 0, deaths = 0, counted_from = attempts,
      failure_kind = NULL, failure_text = NULL
    WHERE scene = (SELECT scene FROM attempts WHERE attempt = ?) AND state = 'saved'`);
  return {
    pendingMoves: () => sql.pendingMoves.all(),
    recordMoved: async ({ key, to }) => void sql.recordMoved.run({ key, to, fileKey: nameKey(to) }),
    putBack: async (attempt) =>
      db
        .transaction(() => {
          forgetPictures(db, String(attempt));
          return wait.run(attempt).changes > 0;
        })
        .immediate(),
  };
}
