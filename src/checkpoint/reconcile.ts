/** Brings the batch's scenes in line with its manifest: by identity (id and fingerprint), never by position. */
import { withSuffix, nameKey } from '../core/naming.ts';
import type { Plan } from '../core/plan.ts';
import { replacedSuffix, type Scene } from '../core/scene.ts';
import type { ManifestScenes } from '../pipeline/ports.ts';
import type { Database } from '../sqlite/database.ts';

/** Runs inside the caller's transaction. */
export function reconcile(db: Database, manifest: ManifestScenes): Plan {
  db.exec('CREATE TEMP TABLE IF NOT EXISTS listed (scene INTEGER PRIMARY KEY); DELETE FROM temp.listed');
  const plan = { added: 0, changed: 0, unchanged: 0, withdrawn: 0 };
  const list = lister(db);
  for (const scene of manifest.scenes()) plan[list(scene)] += 1;
  plan.withdrawn = withdrawUnlisted(db);
  restoreListed(db);
  planMoves(db);
  replaceBadRows(db, manifest);
  return plan;
}

/** Records one listed scene; tells what it was to the batch. */
function lister(db: Database): (scene: Scene) => 'added' | 'changed' | 'unchanged' {
  const known = db.prepare<
    [string, string],
    { scene: number; position: number | null; source: string; columns: string }
  >('SELECT scene, position, source, columns FROM scenes WHERE id = ? AND fingerprint = ?');
  const sameId = db.prepare<[string]>('SELECT 1 FROM scenes WHERE id = ? LIMIT 1');
  const insert = db.prepare<[object]>(`
    INSERT INTO scenes (id, fingerprint, position, source, input, columns, state)
    VALUES (@id, @fingerprint, @position, @source, @input, @columns, 'waiting')`);
  const update = db.prepare<[object]>(
    'UPDATE scenes SET position = @position, source = @source, columns = @columns WHERE scene = @scene',
  );
  const list = db.prepare<[number]>('INSERT INTO temp.listed VALUES (?)');
  return ({ id, fingerprint, input, columns, position, source }) => {
    const row = known.get(id, fingerprint);
    const columnsText = JSON.stringify(columns);
    if (row === undefined) {
      const outcome = sameId.get(id) === undefined ? 'added' : 'changed';
      const inputText = JSON.stringify(input);
      const added = insert.run({ id, fingerprint, position, source, input: inputText, columns: columnsText });
      list.run(Number(added.lastInsertRowid));
      return outcome;
    }
    const isSame = row.position === position && row.source === source && row.columns === columnsText;
    if (!isSame) update.run({ scene: row.scene, position, source, columns: columnsText });
    list.run(row.scene);
    return 'unchanged';
  };
}

/** Returns how many scenes went without another row taking their id. */
function withdrawUnlisted(db: Database): number {
  const gone = "state <> 'withdrawn' AND scene NOT IN (SELECT scene FROM temp.listed)";
  const count = db.prepare<[], { n: number }>(`
    SELECT count(*) AS n FROM scenes s WHERE ${gone}
      AND NOT EXISTS (SELECT 1 FROM scenes l JOIN temp.listed USING (scene) WHERE l.id = s.id)`);
  const withdrawn = count.get()?.n ?? 0;
  db.exec(`UPDATE scenes SET state = 'withdrawn', position = NULL WHERE ${gone}`);
  return withdrawn;
}

/** A row that came back takes the state that its attempts tell. */
function restoreListed(db: Database): void {
  const has = (state: string): string =>
    `EXISTS (SELECT 1 FROM attempts a WHERE a.scene = scenes.scene AND a.state IN (${state}))`;
  db.exec(`
    UPDATE scenes SET due_at = 0, state = CASE
      WHEN ${has("'intended', 'submitted'")} THEN 'active'
      WHEN EXISTS (SELECT 1 FROM attempts a JOIN pictures USING (attempt) WHERE a.scene = scenes.scene) THEN 'saved'
      WHEN failure_kind IS NOT NULL THEN 'failed'
      ELSE 'waiting' END
    WHERE state = 'withdrawn' AND scene IN (SELECT scene FROM temp.listed)`);
}

/** Pictures of edited rows make way for the new ones; those of rows that were edited back take their names again. */
function planMoves(db: Database): void {
  const replaced = db.prepare<[], { picture: number; name: string; fingerprint: string }>(`
    SELECT p.picture, p.name, s.fingerprint
    FROM scenes s JOIN attempts a USING (scene) JOIN pictures p USING (attempt)
    WHERE s.state = 'withdrawn' AND p.file = p.name
      AND EXISTS (SELECT 1 FROM scenes l WHERE l.id = s.id AND l.state <> 'withdrawn')`);
  const restored = db.prepare<[], { picture: number; name: string }>(`
    SELECT p.picture, p.name FROM pictures p JOIN attempts a USING (attempt) JOIN scenes s USING (scene)
    WHERE p.file <> p.name AND s.state <> 'withdrawn'`);
  const move = db.prepare<[string, number]>('UPDATE pictures SET move_to = ? WHERE picture = ?');
  const staying = db.prepare<[string]>('SELECT 1 FROM pictures WHERE file_key = ? AND move_to IS NULL');
  const pending = db.prepare<[], { picture: number; to: string }>(
    'SELECT picture, move_to AS "to" FROM pictures WHERE move_to IS NOT NULL',
  );
  for (const { picture, name, fingerprint } of replaced.all()) {
    move.run(withSuffix(name, replacedSuffix(fingerprint)), picture);
  }
  // Of several pictures with one name, the first takes it; the others keep what they are called now.
  const takers = new Map(pending.all().map(({ picture, to }) => [nameKey(to), picture]));
  for (const { picture, name } of restored.all()) {
    const key = nameKey(name);
    if ((takers.get(key) ?? picture) !== picture || staying.get(key) !== undefined) continue;
    takers.set(key, picture);
    move.run(name, picture);
  }
}

function replaceBadRows(db: Database, manifest: ManifestScenes): void {
  db.exec('DELETE FROM bad_rows');
  const insert = db.prepare<[number, string, string | null, string]>(
    'INSERT INTO bad_rows VALUES (?, ?, ?, ?)',
  );
  for (const { position, source, id, problem } of manifest.badRows())
    insert.run(position, source, id ?? null, problem);
}
