/** Marks that people set on scenes in the gallery. `marks-file.ts` keeps them with the batch. */

/** Marks of a scene: chosen, not wanted, or to be rendered again. */
export const markNames = ['star', 'reject', 'again'] as const;

export type Mark = (typeof markNames)[number];

/** A mark that is set, or removed if it is null. A scene has one mark at most. */
export interface MarkChange {
  id: string;
  mark: Mark | null;
}

export interface SetMark {
  mark: Mark;
  /** Set if it is of a viewer, who can remove only such marks. */
  by?: 'viewer';
  /** Epoch ms. */
  at: number;
  /** Number of its line, from 1. */
  line: number;
}

export interface ReadMarks {
  /** Marks by scene id, in the order in which they were set. */
  marks: ReadonlyMap<string, SetMark>;
  /** Numbers of lines that cannot be read. A crash or an editor may have cut them. */
  unreadable: number[];
}

export function isMark(value: unknown): value is Mark {
  return markNames.some((name) => name === value);
}
