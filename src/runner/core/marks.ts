/** Marks that people set on scenes in the gallery, and the lines of `marks.jsonl`, which keep them with the batch. */

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

/** Later instants are damage: 2100-01-01 as epoch ms. A change is later than the mark that it replaces, and has to be writable. */
const maxAt = 4_102_444_800_000;

/**
 * Reads the lines of a marks file. The latest change of a scene counts, so files of several machines are merged by joining
 * them: of changes at the same instant, the later line counts.
 */
export function readMarks(text: string): ReadMarks {
  const latest = new Map<string, { mark: Mark | null; at: number; line: number }>();
  const unreadable: number[] = [];
  for (const [index, each] of text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .entries()) {
    if (each.trim() === '') continue;
    const change = changeIn(each);
    if (change === undefined) {
      unreadable.push(index + 1);
      continue;
    }
    const { id, mark, at } = change;
    if ((latest.get(id)?.at ?? -Infinity) > at) continue;
    latest.delete(id);
    latest.set(id, { mark, at, line: index + 1 });
  }
  const set = [...latest].flatMap(([id, { mark, ...where }]): [string, SetMark][] =>
    mark === null ? [] : [[id, { mark, ...where }]],
  );
  return { marks: new Map(set), unreadable };
}

function changeIn(line: string): (MarkChange & { at: number }) | undefined {
  try {
    const { id, mark, at } = JSON.parse(line) as Record<string, unknown>;
    const instant = typeof at === 'string' ? Date.parse(at) : Number.NaN;
    if (typeof id !== 'string' || !(instant <= maxAt)) return undefined;
    return mark === null || isMark(mark) ? { id, mark, at: instant } : undefined;
  } catch {
    return undefined;
  }
}

export function isMark(value: unknown): value is Mark {
  return markNames.some((name) => name === value);
}

/**
 * Returns the lines of these changes. `now`: epoch ms. A change is later than the mark that it replaces, even if the clock
 * was set back since.
 */
export function markLines(changes: MarkChange[], before: ReadMarks['marks'], now: number): string {
  const line = ({ id, mark }: MarkChange): string => {
    const at = new Date(Math.max(now, (before.get(id)?.at ?? 0) + 1)).toISOString();
    return `${JSON.stringify({ id, mark, at })}\n`;
  };
  return changes.map(line).join('');
}
