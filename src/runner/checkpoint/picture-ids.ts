/** Ids of pictures: unique within a batch, whatever its scenes are called. */
import type { Database } from '../../lib/sqlite/database.ts';

/**
 * Returns the id of a scene's picture, whose `index` is 0 for the first: the first has the id of its scene `x`, the second
 * has `x.2`. If there is a scene `x.2` too, the id belongs to the scene that had pictures in an earlier run, so that no stage
 * renders its picture again because the other one came. In one run it belongs to the scene that is called so. The other
 * picture gets a `~` at the end, and more of them until no scene is called so. A scene without pictures takes no id.
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
