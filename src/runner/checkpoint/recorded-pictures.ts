/** Reads the recorded pictures, and finds their scenes and ids. */
import type { RecordedPicture } from '../core/scene-record.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import { type ClipColumn, clipColumnNames } from '../core/clip.ts';
import {
  formatOfFile,
  type LackingFile,
  type ListName,
  listNames,
  type NamedFile,
  type PictureOutput,
  type SavedPicture,
  splitFiles,
} from '../core/picture.ts';
import { nameKey } from '../core/naming.ts';
import { readBatch } from './batch-identity.ts';
import { sentBy } from './damage.ts';

/** Pictures per query. A query that stayed open for hours would keep a run from truncating its log. */
const pageSize = 500;

const recorded = `
  SELECT p.attempt, p.number, p.label, s.id AS sceneId, s.state AS sceneState, p.file, p.move_to AS moveTo,
         p.width, p.height, p.bytes, p.sha256
  FROM pictures p JOIN attempts USING (attempt) JOIN scenes s USING (scene)`;

/** Yields the pictures of each job together. Pictures that are recorded meanwhile may be included or not. */
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

export function recordedReader(db: Database): (attempt: number) => RecordedPicture[] {
  const ofAttempt = db.prepare<[number], RecordedPicture>(
    `${recorded} WHERE p.attempt = ? ORDER BY p.number`,
  );
  return (attempt) => ofAttempt.all(attempt);
}

type NamedFileRow = Record<'key' | 'attempt' | 'bytes', number> &
  Record<'name' | 'at' | 'sha256' | 'id' | 'fingerprint' | 'columns' | 'input', string> &
  Record<'seed' | 'label' | 'sceneSeed', string | null>;

/** Files of a job by their names, or the names that they get in a rename, and what decides on the names. */
export type NamedJob = ReturnType<typeof namedJob>;

/** Yields the jobs of saved scenes, while nothing is written. Throws `DamagedCheckpoint`. */
export function* readNamedJobs(db: Database): Generator<NamedJob> {
  const all = db.prepare<[], NamedFileRow>(`
    SELECT p.picture AS key, p.attempt, p.name, p.file AS at, p.bytes, p.sha256, p.seed, p.label,
           s.id, s.fingerprint, s.columns, s.input, s.seed AS sceneSeed
    FROM pictures p JOIN attempts USING (attempt) JOIN scenes s USING (scene)
    WHERE s.state = 'saved' ORDER BY p.attempt, p.number`);
  let rows: NamedFileRow[] = [];
  for (const row of all.iterate()) {
    const [first] = rows;
    if (first !== undefined && first.attempt !== row.attempt) {
      yield namedJob(first, rows);
      rows = [];
    }
    rows.push(row);
  }
  const [first] = rows;
  if (first !== undefined) yield namedJob(first, rows);
}

function namedJob(
  { attempt, id, fingerprint, columns, input, sceneSeed }: NamedFileRow,
  rows: NamedFileRow[],
) {
  return {
    ...sentBy({ id, columns, input, seed: sceneSeed }),
    key: attempt,
    sceneId: id,
    fingerprint,
    isReplaced: false,
    files: rows.map(({ key, name, at, bytes, sha256, seed, label }) => ({
      key,
      file: name,
      at,
      bytes,
      sha256,
      ...(seed !== null && { seed }),
      ...(label !== null && { label }),
    })),
  };
}

/** Counts everything that was saved, including files besides pictures. */
export function countSaved(db: Database): number {
  return db.prepare<[], { n: number }>('SELECT count(*) AS n FROM pictures').get()?.n ?? 0;
}

type SavedRow = Omit<SavedPicture, 'seed' | 'label' | 'output'> &
  Record<'seed' | 'label' | 'output', string | null>;

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

/** Returns nothing if the JSON is damaged, because the picture is as good without it. */
function outputOf(text: string): { output?: PictureOutput } {
  try {
    return { output: JSON.parse(text) as PictureOutput };
  } catch {
    return {};
  }
}

/** Returns an SQL condition: the picture has this list, or a filled one. Searches text, as JSON may be damaged. */
export function hasList(name: keyof PictureOutput, isFilled: boolean): string {
  return `instr(output, '"${name}":[${isFilled ? '"' : ''}') > 0`;
}

/** Returns the columns of the results with word lists from the service, and with facts about clips, if there are any. */
export function readOutputColumns(db: Database): (ListName | ClipColumn)[] {
  const isAny = (condition: string): boolean =>
    db.prepare(`SELECT 1 FROM pictures WHERE ${condition} LIMIT 1`).get() !== undefined;
  // The kept part of a worker's output may contain such a key too, so the JSON decides.
  const isClip = `CASE WHEN instr(output, '"clip":') > 0 AND json_valid(output) THEN json_type(output, '$.clip') END`;
  return [
    ...listNames.filter((name) => isAny(hasList(name, false))),
    ...(isAny(`label IS NULL AND ${isClip} = 'object'`) ? clipColumnNames : []),
  ];
}

/** Returns the names of files besides pictures, in the order of `output.files`. */
export function readLabels(db: Database): string[] {
  const labels = db.prepare<[], string>(
    'SELECT label FROM pictures WHERE label IS NOT NULL GROUP BY label ORDER BY min(number), label',
  );
  return labels.pluck().all();
}

/** Gives pictures that wait for their names these names, unless other pictures have them. Returns their number. */
export function restoreNames(db: Database): number {
  const restored = db
    .prepare<[], { picture: number; name: string }>(
      `SELECT p.picture, p.name FROM pictures p JOIN attempts a USING (attempt) JOIN scenes s USING (scene)
       WHERE p.file <> p.name AND p.move_to IS NULL AND s.state <> 'withdrawn'`,
    )
    .all();
  if (restored.length === 0) return 0;
  const move = db.prepare<[string, number]>('UPDATE pictures SET move_to = ? WHERE picture = ?');
  const staying = db.prepare<[string]>('SELECT 1 FROM pictures WHERE file_key = ? AND move_to IS NULL');
  const pending = db.prepare<[], { picture: number; to: string }>(
    'SELECT picture, move_to AS "to" FROM pictures WHERE move_to IS NOT NULL',
  );
  // If several pictures have one name, the first takes it, and the others keep their current names.
  const takers = new Map(pending.all().map(({ picture, to }) => [nameKey(to), picture]));
  let moves = 0;
  for (const { picture, name } of restored) {
    const key = nameKey(name);
    if ((takers.get(key) ?? picture) !== picture || staying.get(key) !== undefined) continue;
    takers.set(key, picture);
    move.run(name, picture);
    moves += 1;
  }
  return moves;
}

/** Returns the id of the scene that a picture is of. `file` is relative to the folder of pictures. */
export function readOwner(db: Database, file: string): string | undefined {
  return db
    .prepare<[string], string>(
      `SELECT s.id FROM pictures p JOIN attempts a USING (attempt) JOIN scenes s USING (scene) WHERE p.file_key = ?`,
    )
    .pluck()
    .get(nameKey(file));
}

/** True if exactly this file is a picture of the batch. */
export function isRecorded(db: Database, file: string): boolean {
  const known = db
    .prepare<[string], string>('SELECT file FROM pictures WHERE file_key = ?')
    .pluck()
    .get(nameKey(file));
  return known !== undefined && formatOfFile(known) === formatOfFile(file);
}

/**
 * Returns a function that makes the id of a scene's picture; `index` is 0 for the first. The first picture
 * has the id of its scene `x`, the second has `x.2`. If there is also a scene `x.2`, the id belongs to the
 * scene that had pictures in an earlier run, so that no stage renders its picture again. Within one run it
 * belongs to the scene of that name. The other picture gets a `~` at the end, and more until no scene has
 * that id. A scene without pictures takes no id.
 */
export function pictureIds(db: Database): (sceneId: string, index: number) => string {
  const firstRun = db.prepare<[string], number | null>(
    "SELECT min(a.run) FROM scenes s JOIN attempts a USING (scene) WHERE s.id = ? AND a.state = 'saved'",
  );
  const picture = db.prepare<[string, number]>(`
    SELECT 1 FROM scenes s JOIN attempts a USING (scene) JOIN pictures p USING (attempt)
    WHERE s.id = ? AND p.number = ? AND p.label IS NULL LIMIT 1`);
  const scene = db.prepare<[string]>('SELECT 1 FROM scenes WHERE id = ? LIMIT 1');
  const runOf = (id: string): number => firstRun.pluck().get(id) ?? Infinity;
  return (sceneId, index) => {
    const id = index === 0 ? sceneId : `${sceneId}.${index + 1}`;
    const [, other = '', number = 0] = /^(.+)\.([2-9]|[1-9]\d+)$/s.exec(id) ?? [];
    const isTaken =
      index === 0
        ? picture.get(other, Number(number)) !== undefined && runOf(other) < runOf(id)
        : runOf(id) < Infinity && runOf(id) <= runOf(sceneId);
    if (!isTaken) return id;
    let free = `${id}~`;
    while (scene.get(free) !== undefined) free += '~';
    return free;
  };
}

/** Returns how many saved scenes lack each file that was added to `output.files` later. Fast if none was added. */
export function readLacking(db: Database): LackingFile[] {
  const later = readBatch(db)?.files?.filter(({ isLater }) => isLater === true) ?? [];
  if (later.length === 0) return [];
  const count = db.prepare<[object], number>(`SELECT count(*) FROM scenes s WHERE ${lacks}`).pluck();
  return later
    .map(({ label, kind }) => ({ label, scenes: count.get({ label, kind }) ?? 0 }))
    .filter(({ scenes }) => scenes > 0);
}

export function readIdsLacking(db: Database, files: readonly NamedFile[]): string[] {
  const ids = db.prepare<[object], string>(`SELECT id FROM scenes s WHERE ${lacks}`).pluck();
  return [...new Set(files.flatMap(({ label, kind }) => ids.all({ label, kind })))];
}

/** SQL: a saved scene lacks the file. If the kind of the file has changed, a file of the old kind does not count. */
const lacks = `s.state = 'saved' AND NOT EXISTS (
  SELECT 1 FROM attempts a JOIN pictures p USING (attempt)
  WHERE a.scene = s.scene AND p.label = @label AND substr(p.file, -length(@kind) - 1) = '.' || @kind)`;
