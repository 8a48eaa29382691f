/** Adds rows to a table a few at a time: with a statement a row, most of the time goes into coming and going. */
import type { Database } from '../../lib/sqlite/database.ts';

type Value = string | number | null;

export interface GroupedInsert {
  /** Adds it now or with others after it. */
  add(row: readonly Value[]): void;
  /** To be called before the table is read. */
  flush(): void;
}

/** Few enough that rows of the greatest length fit into memory. */
const groupRows = 16;

/** `into` is the table, with its columns where not all are given; `row` is a row of it, as after `VALUES`. */
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
