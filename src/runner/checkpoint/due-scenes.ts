/** Which scenes are to be submitted next: of the whole batch, or of a part of it. */
import { suspectDeaths } from '../core/quarantine.ts';
import type { Database } from '../../lib/sqlite/database.ts';

export interface DueScenes {
  /** Up to `max`: retries that are due by then, oldest first, then manifest order. Each is asked for to be submitted. */
  take(max: number, dueBy: number): number[];
  /** One that the program died with repeatedly, where there is any. */
  suspect(): number[];
  /** When the next is due that is none of those (0: now). */
  nextAt(): number | undefined;
}

interface Found {
  scene: number;
}

/** Every scene that waits. */
export function dueScenes(db: Database): DueScenes {
  const { retries, suspect } = prepareShared(db, '');
  const fresh = db.prepare<[object], Found>(
    "SELECT scene FROM scenes WHERE state = 'waiting' AND due_at = 0 ORDER BY position LIMIT @max",
  );
  const next = db.prepare<[], { due_at: number }>(
    `SELECT due_at FROM scenes WHERE state = 'waiting' AND deaths < ${suspectDeaths} ORDER BY due_at LIMIT 1`,
  );
  return {
    take: (max, dueBy) => {
      const first = retries.all({ at: dueBy, max });
      return [...first, ...fresh.all({ max: max - first.length })].map(({ scene }) => scene);
    },
    suspect: () => suspect.all().map(({ scene }) => scene),
    nextAt: () => next.get()?.due_at,
  };
}

/**
 * Those of `temp.part`. What was taken out of `temp.part_fresh` never comes back to it: however many others wait, none of
 * them is gone through.
 */
export function dueOfPart(db: Database): DueScenes {
  const { retries, suspect } = prepareShared(db, inPart);
  const fresh = db.prepare<[object], Found & { n: number }>(
    'SELECT n, scene FROM temp.part_fresh ORDER BY n LIMIT @max',
  );
  const drop = db.prepare<[number]>('DELETE FROM temp.part_fresh WHERE n <= ?');
  const nextRetry = db.prepare<[], { due_at: number }>(
    `SELECT due_at FROM scenes WHERE state = 'waiting' AND due_at > 0 AND deaths < ${suspectDeaths} ${inPart}
     ORDER BY due_at LIMIT 1`,
  );
  return {
    take: (max, dueBy) => {
      const first = retries.all({ at: dueBy, max });
      const more = fresh.all({ max: max - first.length });
      const last = more.at(-1);
      if (last !== undefined) drop.run(last.n);
      return [...first, ...more].map(({ scene }) => scene);
    },
    suspect: () => suspect.all().map(({ scene }) => scene),
    nextAt: () => (fresh.get({ max: 1 }) === undefined ? nextRetry.get()?.due_at : 0),
  };
}

const inPart = 'AND scene IN (SELECT scene FROM temp.part)';

/** `which`: a further condition. */
function prepareShared(db: Database, which: string) {
  return {
    retries: db.prepare<[object], Found>(
      `SELECT scene FROM scenes
       WHERE state = 'waiting' AND due_at > 0 AND due_at <= @at AND deaths < ${suspectDeaths} ${which}
       ORDER BY due_at LIMIT @max`,
    ),
    suspect: db.prepare<[], Found>(
      `SELECT scene FROM scenes WHERE deaths >= ${suspectDeaths} AND state = 'waiting' ${which} LIMIT 1`,
    ),
  };
}
