/** Holds a checked manifest on disk, outside the batch, until it is known to be good. */
import { type Database, Sqlite } from '../../lib/sqlite/database.ts';
import type { PlanRefused, RepeatedRows } from '../core/batch-plan.ts';
import { sceneIdOf, type BadRow, type ListedScene, type Scene } from '../core/scene.ts';
import type { ManifestScenes } from '../pipeline/ports.ts';
import { insertGrouped, type GroupedInsert } from './reconcile.ts';

/** Keeps rows in SQLite's private temporary file. Add all rows, call `settleIds`, then read. */
export class CheckedList implements ManifestScenes {
  /** Set when the whole list was read and accepted. */
  digest: string | undefined;
  allowsFewer = false;
  refusal: PlanRefused | undefined;
  repeated: RepeatedRows | undefined;
  readonly #db = openTemporary();
  readonly #scenes: GroupedInsert = insertGrouped(this.#db, 'scenes', '(?, ?, ?, ?, ?, ?, ?)');
  readonly #insertBad = this.#db.prepare<[object]>(
    'INSERT INTO bad_rows VALUES (@position, @source, @id, @problem)',
  );

  readonly #see = this.#db.prepare<[string]>('INSERT OR IGNORE INTO seen VALUES (?)');
  readonly #leaveOut = this.#db.prepare<[string]>('INSERT INTO left_out VALUES (?)');

  /** Adds a scene. `id` is undefined if the row has no id of its own. */
  add({ position, fingerprint, source, input, columns }: Omit<Scene, 'id'>, id: string | undefined): void {
    this.#scenes.add([
      position,
      id ?? sceneIdOf(fingerprint, 1),
      id === undefined ? 0 : 1,
      fingerprint,
      source,
      JSON.stringify(input),
      JSON.stringify(columns),
    ]);
  }

  /** True if this fingerprint was not asked about before. */
  isFirst(fingerprint: string): boolean {
    return this.#see.run(fingerprint).changes === 1;
  }

  /** Records a scene that is in the list but that a person has left out. */
  leaveOut(id: string): void {
    this.#leaveOut.run(id);
  }

  leftOut(): Iterable<string> {
    return this.#db.prepare<[], string>('SELECT id FROM left_out').pluck().all();
  }

  addBad(row: BadRow): void {
    this.#insertBad.run({ ...row, id: row.id ?? null });
  }

  /**
   * Gives each row its id. Equal rows without an id are numbered, in an order that does not depend on the
   * manifest's. A repeated id becomes an invalid row. Checks all rows at once, because looking up each id as
   * it comes takes many times as long.
   */
  settleIds(): void {
    this.#scenes.flush();
    this.#db.exec(`
      CREATE TABLE repeated AS SELECT id FROM scenes GROUP BY id HAVING count(*) > 1;
      CREATE UNIQUE INDEX repeated_id ON repeated (id)`);
    if (this.#countOf('repeated') === 0) return;
    this.#db.exec(`
      CREATE TABLE counted AS
        SELECT position, row_number() OVER (PARTITION BY id ORDER BY fingerprint, position) AS n
        FROM scenes WHERE has_own_id = 0 AND id IN (SELECT id FROM repeated);
      UPDATE scenes SET id = scene_id(fingerprint, n)
        FROM counted WHERE counted.position = scenes.position AND n > 1;
      CREATE INDEX scenes_id ON scenes (id, position);
      INSERT INTO bad_rows
        SELECT position, source, id, repeated_problem(id, (SELECT source FROM scenes f WHERE f.id = s.id ORDER BY position LIMIT 1))
        FROM scenes s WHERE EXISTS (SELECT 1 FROM scenes f WHERE f.id = s.id AND f.position < s.position);
      DELETE FROM scenes WHERE position IN (SELECT position FROM bad_rows)`);
  }

  /** Reads a few rows at a time: one by one takes twice as long, and a row may be long. */
  *scenes(): Generator<ListedScene> {
    const page = this.#db
      .prepare<[number], SceneRow>(
        `SELECT position, id, fingerprint, source, input, columns FROM scenes
         WHERE position > ? ORDER BY position LIMIT ${pageRows}`,
      )
      .raw();
    let last = 0;
    for (let rows = page.all(last); rows.length > 0; rows = page.all(last)) {
      for (const [position, id, fingerprint, source, input, columns] of rows) {
        yield { position, id, fingerprint, source, input, columns };
        last = position;
      }
    }
  }

  *badRows(): Generator<BadRow> {
    const rows = this.#db
      .prepare<[], BadRow & { id: string | null }>('SELECT * FROM bad_rows ORDER BY position')
      .iterate();
    for (const { id, ...row } of rows) yield { ...row, ...(id !== null && { id }) };
  }

  count(): { scenes: number; badRows: number } {
    return { scenes: this.#countOf('scenes'), badRows: this.#countOf('bad_rows') };
  }

  #countOf(table: 'scenes' | 'bad_rows' | 'repeated'): number {
    return this.#db.prepare<[], { n: number }>(`SELECT count(*) AS n FROM ${table}`).get()?.n ?? 0;
  }

  /** Returns 0 if nothing was added yet. */
  lastPosition(): number {
    this.#scenes.flush();
    const last = this.#db.prepare<[], { n: number | null }>(
      'SELECT max(n) AS n FROM (SELECT max(position) AS n FROM scenes UNION ALL SELECT max(position) FROM bad_rows)',
    );
    return last.get()?.n ?? 0;
  }

  close(): void {
    this.#db.close();
  }
}

const pageRows = 16;

type SceneRow = [
  position: number,
  id: string,
  fingerprint: string,
  source: string,
  input: string,
  columns: string,
];

function openTemporary(): Database {
  const db = new Sqlite('');
  db.pragma('journal_mode = OFF');
  db.pragma('synchronous = OFF');
  db.pragma('page_size = 16384');
  db.pragma('cache_size = -4000');
  db.function('scene_id', { deterministic: true }, (fingerprint, n) =>
    sceneIdOf(String(fingerprint), Number(n)),
  );
  db.function(
    'repeated_problem',
    (id, source) => `the id ${JSON.stringify(id)} is used by ${String(source)} already`,
  );
  db.exec(`
    CREATE TABLE scenes (position INTEGER PRIMARY KEY, id TEXT NOT NULL, has_own_id INTEGER NOT NULL,
      fingerprint TEXT NOT NULL, source TEXT NOT NULL, input TEXT NOT NULL, columns TEXT NOT NULL) STRICT;
    CREATE TABLE seen (fingerprint TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
    CREATE TABLE left_out (id TEXT NOT NULL) STRICT;
    CREATE TABLE bad_rows (position INTEGER PRIMARY KEY, source TEXT NOT NULL, id TEXT, problem TEXT NOT NULL) STRICT;
    BEGIN`);
  return db;
}
