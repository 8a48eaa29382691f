/** Inserts rows a few at a time. With a statement per row, most of the time is spent on calls. */
import type { Database } from '../../lib/sqlite/database.ts';

type Value = string | number | null;

export interface GroupedInsert {
  /** Inserts the row now, or later together with others. */
  add(row: readonly Value[]): void;
  /** Inserts the remaining rows. Call before the table is read. */
  flush(): void;
}

/** Small enough that even the longest rows fit into memory. */
const groupRows = 16;

/** `into`: the table, with its columns if not all are given. `row`: one row of it, as after `VALUES`. */
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
