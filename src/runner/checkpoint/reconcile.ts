/** Brings the batch's scenes in line with its manifest, by id and fingerprint, never by position. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database } from '../../lib/sqlite/database.ts';
import { withSuffix } from '../core/naming.ts';
import { isCutOff, ListCutOff, type Plan } from '../core/batch-plan.ts';
import { type ListedScene, replacedSuffix } from '../core/scene.ts';
import type { ManifestScenes } from '../pipeline/ports.ts';
import {
  type ComparedList,
  isNamedByAttempt,
  listedScenes,
  readComparedList,
  rememberComparedList,
} from './batch-identity.ts';
import { deferSeeds } from './recorded-batch.ts';
import { restoreNames } from './recorded-pictures.ts';
import type { SceneRow } from './checkpoint-schema.ts';

/** `isEdited`: rows of unchanged scenes have other texts or places than before, or some rows are or were invalid. */
type Reconciled = Plan & { isEdited: boolean };

/**
 * Runs in the caller's transaction over many turns of the event loop. Throws `ListCutOff` and the reason of
 * `signal`.
 */
export async function reconcile(
  db: Database,
  manifest: ManifestScenes,
  signal: AbortSignal,
): Promise<Reconciled> {
  if (manifest.refusal !== undefined) throw manifest.refusal;
  const compared = readComparedList(db);
  const isSame = compared !== undefined && manifest.digest === compared.digest;
  const changes = isSame ? samePlan(db, compared) : await compare(db, manifest, signal);
  putBackRefused(db);
  const heldSeeds = await deferInPages(db, signal);
  const plan = { ...changes, ...(heldSeeds > 0 && { heldSeeds }) };
  await overTable(db, 'temp.withdrawn', signal, forgetter(db));
  if (isNamedByAttempt(db)) return plan;
  await overTable(db, 'temp.withdrawn', signal, renameReplaced(db));
  // Also finishes a rename of `verify --rename` that was interrupted.
  restoreNames(db);
  return plan;
}

/** Decides anew which seeds are needed, because seeds, values and the condition may have changed since the last run. */
async function deferInPages(db: Database, signal: AbortSignal): Promise<number> {
  const pages = deferSeeds(db);
  let page = pages.next();
  for (; page.done !== true; page = pages.next()) await breathe(signal);
  return page.value;
}

/** Plans an unchanged list: every listed scene is recorded, and no other. */
function samePlan(db: Database, compared: ComparedList): Reconciled {
  listWithdrawn(db);
  return { ...planOfSame(compared), isEdited: false };
}

/** Puts back scenes that earlier programs failed for a refused workflow; no job had begun. */
function putBackRefused(db: Database): void {
  db.exec(`
    UPDATE scenes SET state = 'waiting', due_at = 0, failure_kind = NULL, failure_text = NULL WHERE ${isRefusedBefore}`);
}

const isRefusedBefore = `state = 'failed' AND failure_kind = 'input-refused'
  AND (failure_text LIKE 'ComfyUI refused the workflow: %' OR failure_text LIKE 'ComfyUI refused a part of the workflow: %')`;

export function planOfSame({ scenes, repeated }: ComparedList): Plan {
  return { added: 0, changed: 0, unchanged: scenes, withdrawn: 0, ...(repeated && { repeated }) };
}

async function compare(db: Database, manifest: ManifestScenes, signal: AbortSignal): Promise<Reconciled> {
  // Its rows come in order, so a page or two of it are enough.
  db.pragma('temp.cache_size = -500');
  db.exec('CREATE TEMP TABLE IF NOT EXISTS listed (scene INTEGER PRIMARY KEY); DELETE FROM temp.listed');
  const [known, before] = [lastKey(db, 'scenes'), listedScenes(db)];
  const plan = { added: 0, changed: 0, unchanged: 0, withdrawn: 0 };
  const list = lister(db, known);
  await inSlices(manifest.scenes(), signal, (scene) => (plan[list.add(scene)] += 1));
  list.flush();
  const leftOut = countListed(db, manifest.leftOut?.() ?? []);
  const withdraw = withdrawer(db, known);
  let first: Gone | undefined;
  const withdrawSlice = (slice: Slice): void => {
    const gone = withdraw(slice);
    plan.withdrawn += gone.scenes;
    if (gone.scenes > 0) first ??= gone;
  };
  await overTable(db, 'scenes', signal, withdrawSlice, known);
  const isEdited = (): boolean => isOneEdited(db, known, plan.unchanged > 0);
  const unforeseen = { ...plan, withdrawn: plan.withdrawn - leftOut };
  if (manifest.allowsFewer !== true && isCutOff(unforeseen, before - leftOut, isEdited))
    throw new ListCutOff(plan, before, first);
  listWithdrawn(db);
  await overTable(db, 'temp.withdrawn', signal, restorer(db));
  const hasBadRows = await replaceBadRows(db, manifest, signal);
  const { digest, repeated } = manifest;
  const scenes = plan.added + plan.changed + plan.unchanged;
  rememberComparedList(db, digest, { scenes, ...(repeated && { repeated }) });
  return { ...plan, ...(repeated && { repeated }), isEdited: list.isEdited() || hasBadRows };
}

interface Lister {
  /** Records one listed scene and returns how it relates to the batch. */
  add(scene: ListedScene): 'added' | 'changed' | 'unchanged';
  /** True if a row of an unchanged scene has another text or place than before. */
  isEdited(): boolean;
  /** Call after the last scene. */
  flush(): void;
}

/** `known`: last scene key before the comparison. Later ones are listed; earlier ones if in `temp.listed`. */
function lister(db: Database, known: number): Lister {
  const find = finder(db, known);
  const insert = insertGrouped(
    db,
    'scenes (id, fingerprint, position, source, input, columns, state)',
    "(?, ?, ?, ?, ?, ?, 'waiting')",
  );
  const update = db.prepare<[object]>(
    `UPDATE scenes SET position = @position, source = @source, input = @input, columns = @columns
     WHERE scene = @scene`,
  );
  const list = insertGrouped(db, 'temp.listed', '(?)');
  let isEdited = false;
  return {
    isEdited: () => isEdited,
    add: ({ id, fingerprint, input, columns, position, source }) => {
      const found = find(id, fingerprint);
      if (found === 'added' || found === 'changed') {
        insert.add([id, fingerprint, position, source, input, columns]);
        return found;
      }
      const { scene } = found;
      // Equal inputs may be spelled in several ways, and a file that is sent may have been moved.
      const isSame =
        found.position === position &&
        found.source === source &&
        found.input === input &&
        found.columns === columns;
      if (!isSame) update.run({ scene, position, source, input, columns });
      isEdited ||= !isSame;
      list.add([scene]);
      return 'unchanged';
    },
    flush: () => {
      insert.flush();
      list.flush();
    },
  };
}

type KnownScene = Pick<SceneRow, 'scene' | 'position' | 'source' | 'input' | 'columns'>;

/** Returns a lookup of listed scenes. A scene that is not in the batch is `changed` if the batch knows its id. */
function finder(
  db: Database,
  known: number,
): (id: string, fingerprint: string) => KnownScene | 'added' | 'changed' {
  if (known === 0) return () => 'added';
  const same = db.prepare<[string, string], KnownScene>(
    'SELECT scene, position, source, input, columns FROM scenes WHERE id = ? AND fingerprint = ?',
  );
  const sameId = db.prepare<[string]>('SELECT 1 FROM scenes WHERE id = ? LIMIT 1');
  return (id, fingerprint) =>
    same.get(id, fingerprint) ?? (sameId.get(id) === undefined ? 'added' : 'changed');
}

/** Counts how many of these ids are in the list as it was last compared. */
function countListed(db: Database, ids: Iterable<string>): number {
  const isListed = db.prepare<[string]>("SELECT 1 FROM scenes WHERE id = ? AND state <> 'withdrawn'");
  let count = 0;
  for (const id of ids) if (isListed.get(id) !== undefined) count += 1;
  return count;
}

/** Rows per turn of the event loop: enough to be fast, few enough that a signal never waits for them. */
const sliceRows = 500;

async function inSlices<T>(items: Iterable<T>, signal: AbortSignal, work: (item: T) => void): Promise<void> {
  let count = 0;
  for (const item of items) {
    work(item);
    count += 1;
    if (count % sliceRows === 0) await breathe(signal);
  }
}

/** Range of row keys, both ends included. */
interface Slice {
  from: number;
  to: number;
}

/** Scenes per turn of the event loop in statements that SQLite runs by itself. */
const sliceScenes = 20_000;

async function overTable(
  db: Database,
  table: 'scenes' | 'temp.withdrawn',
  signal: AbortSignal,
  work: (slice: Slice) => void,
  last = lastKey(db, table),
): Promise<void> {
  for (let from = 1; from <= last; from += sliceScenes) {
    work({ from, to: from + sliceScenes - 1 });
    await breathe(signal);
  }
}

function lastKey(db: Database, table: 'scenes' | 'temp.withdrawn'): number {
  return db.prepare<[], { key: number | null }>(`SELECT max(rowid) AS key FROM ${table}`).get()?.key ?? 0;
}

async function breathe(signal: AbortSignal): Promise<void> {
  await nextTurn();
  signal.throwIfAborted();
}

interface Gone {
  scenes: number;
  /** Id of the scene that came first in the list. */
  id: string;
  source: string;
}

/** Returns a function that withdraws the unlisted scenes of a slice. It counts those whose id no other row has taken. */
function withdrawer(db: Database, known: number): (slice: Slice) => Gone {
  const gone = `scene BETWEEN @from AND @to AND scene <= ${known} AND state <> 'withdrawn'
    AND scene NOT IN (SELECT scene FROM temp.listed)`;
  const count = db.prepare<[Slice], Gone>(`
    SELECT count(*) AS scenes, min(position), id, source FROM scenes s WHERE ${gone} AND NOT EXISTS (SELECT 1 FROM scenes l
      WHERE l.id = s.id AND (l.scene > ${known} OR EXISTS (SELECT 1 FROM temp.listed t WHERE t.scene = l.scene)))`);
  const withdraw = db.prepare<[Slice]>(
    `UPDATE scenes SET state = 'withdrawn', position = NULL WHERE ${gone}`,
  );
  return (slice) => {
    const withdrawn = count.get(slice) ?? { scenes: 0, id: '', source: '' };
    withdraw.run(slice);
    return withdrawn;
  };
}

/**
 * True if all new scenes are of one row that replaces a withdrawn row. Either the list was cut off within
 * that row, so only the beginning is left. Or, if `isPlaced`, the row was edited at its place in a list
 * without ids.
 */
function isOneEdited(db: Database, known: number, isPlaced: boolean): boolean {
  const begins = '(w.columns, 1, length(n.columns) - 2)';
  const torn = `length(w.columns) > length(n.columns) AND substr${begins} = substr${begins.replace('w.', 'n.')}`;
  const edited = "w.source = n.source AND n.columns ->> '$.id' IS NULL";
  // Scenes of one multiplied row differ only after the bracket: `list.csv:4 (style ink)`.
  const found = db.prepare(`
    SELECT 1 FROM scenes n JOIN scenes w ON w.state = 'withdrawn' AND (${torn}${isPlaced ? ` OR ${edited}` : ''})
    WHERE n.scene = (SELECT min(scene) FROM scenes WHERE scene > ${known}) AND 1 = (
      SELECT count(DISTINCT substr(source, 1, instr(source || ' (', ' ('))) FROM scenes WHERE scene > ${known}) LIMIT 1`);
  return found.get() !== undefined;
}

/** Collects the withdrawn scenes. Most often there are none, and no other scene has to be read again. */
function listWithdrawn(db: Database): void {
  db.exec(`
    CREATE TEMP TABLE IF NOT EXISTS withdrawn (n INTEGER PRIMARY KEY, scene INTEGER NOT NULL);
    DELETE FROM temp.withdrawn;
    INSERT INTO temp.withdrawn (scene) SELECT scene FROM scenes WHERE state = 'withdrawn'`);
}

const withdrawnInSlice = '(SELECT scene FROM temp.withdrawn WHERE n BETWEEN @from AND @to)';

/** Returns a function that gives scenes that came back the state of their attempts. */
function restorer(db: Database): (slice: Slice) => void {
  const has = (state: string): string =>
    `EXISTS (SELECT 1 FROM attempts a WHERE a.scene = scenes.scene AND a.state IN (${state}))`;
  const restore = db.prepare<[Slice]>(`
    UPDATE scenes SET due_at = 0, state = CASE
      WHEN ${has("'intended', 'submitted'")} THEN 'active'
      WHEN EXISTS (SELECT 1 FROM attempts a JOIN pictures USING (attempt) WHERE a.scene = scenes.scene) THEN 'saved'
      WHEN failure_kind IS NOT NULL THEN 'failed'
      ELSE 'waiting' END
    WHERE scene IN ${withdrawnInSlice}
      AND EXISTS (SELECT 1 FROM temp.listed l WHERE l.scene = scenes.scene)`);
  return (slice) => void restore.run(slice);
}

/** SQL: the scene left the list before anything was sent for it. Nothing refers to it, so it can be deleted. */
const isForgettable = `state = 'withdrawn' AND attempts = 0
  AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.scene = scenes.scene)`;

/** True if an earlier program kept scenes that are now forgotten, or failed scenes that are now put back. */
export function hasOldOutcomes(db: Database): boolean {
  const text = `SELECT 1 FROM scenes WHERE ${isForgettable} OR ${isRefusedBefore} LIMIT 1`;
  return db.prepare(text).get() !== undefined;
}

/** Returns a function that deletes withdrawn scenes without attempts, which would count as withdrawn forever. */
function forgetter(db: Database): (slice: Slice) => void {
  const forget = db.prepare<[Slice]>(
    `DELETE FROM scenes WHERE scene IN ${withdrawnInSlice} AND +${isForgettable}`,
  );
  return (slice) => void forget.run(slice);
}

/** Returns a function that frees the names of edited rows' pictures. The unary plus avoids a scan. */
function renameReplaced(db: Database): (slice: Slice) => void {
  const replaced = db.prepare<[Slice], { picture: number; name: string; fingerprint: string }>(`
    SELECT p.picture, p.name, s.fingerprint
    FROM scenes s JOIN attempts a USING (scene) JOIN pictures p USING (attempt)
    WHERE s.scene IN ${withdrawnInSlice} AND +s.state = 'withdrawn' AND p.file = p.name
      AND EXISTS (SELECT 1 FROM scenes l WHERE l.id = s.id AND l.state <> 'withdrawn')`);
  const move = db.prepare<[string, number]>('UPDATE pictures SET move_to = ? WHERE picture = ?');
  return (slice) => {
    for (const { picture, name, fingerprint } of replaced.all(slice))
      move.run(withSuffix(name, replacedSuffix(fingerprint)), picture);
  };
}

/** Replaces the recorded invalid rows. Returns true if there were any, or are any now. */
async function replaceBadRows(db: Database, manifest: ManifestScenes, signal: AbortSignal): Promise<boolean> {
  let isAny = db.prepare('DELETE FROM bad_rows').run().changes > 0;
  const insert = db.prepare<[number, string, string | null, string]>(
    'INSERT INTO bad_rows VALUES (?, ?, ?, ?)',
  );
  await inSlices(manifest.badRows(), signal, ({ position, source, id, problem }) => {
    insert.run(position, source, id ?? null, problem);
    isAny = true;
  });
  return isAny;
}

type Value = string | number | null;

export interface GroupedInsert {
  /** Inserts the row now, or later together with others. */
  add(row: readonly Value[]): void;
  /** Inserts the remaining rows. Call before the table is read. */
  flush(): void;
}

/** Small enough that even the longest rows fit into memory. */
const groupRows = 16;

/** Inserts rows a few at a time, because calls take most of the time. `row`: one row, as after `VALUES`. */
export function insertGrouped(db: Database, into: string, row: string): GroupedInsert {
  const one = db.prepare<Value[]>(`INSERT INTO ${into} VALUES ${row}`);
  const many = db.prepare<Value[]>(
    `INSERT INTO ${into} VALUES ${Array.from({ length: groupRows }, () => row).join()}`,
  );
  let rows: (readonly Value[])[] = [];
  return {
    add: (values) => {
      rows.push(values);
      if (rows.length < groupRows) return;
      const group = rows;
      rows = [];
      many.run(...group.flat());
    },
    flush: () => {
      const rest = rows;
      rows = [];
      for (const values of rest) one.run(...values);
    },
  };
}
