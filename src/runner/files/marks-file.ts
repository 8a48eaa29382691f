/** `marks.jsonl` in the output folder: the marks of a batch, so that they are the same in every browser and for every command. */
import {
  closeSync,
  fdatasyncSync,
  openSync,
  readFileSync,
  readSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { plural } from '../../lib/text/format.ts';
import { assertPlainFile } from '../../lib/files/temporary-files.ts';
import { ConfigError } from '../../lib/yaml/problem.ts';
import { type Mark, type MarkChange, type ReadMarks, type SetMark, isMark } from '../core/gallery-data.ts';

const marksFile = 'marks.jsonl';

/** Limit of the file: half a million changes. */
const maxBytes = 64_000_000;

export class MarksFile {
  readonly path: string;
  #latest: { version: string; read: ReadMarks } | undefined;

  /** `dir` is the output folder. */
  constructor(dir: string) {
    this.path = join(dir, marksFile);
  }

  /**
   * Returns the marks, the same object as before if the file is the same. Throws `NotAFile`, and the system's errors; a missing
   * file has no marks.
   */
  read(): ReadMarks {
    const stats = assertPlainFile(this.path);
    const version = versionOf(stats);
    if (this.#latest?.version === version) return this.#latest.read;
    const read = readMarks(stats === undefined ? '' : readFileSync(this.path, 'utf8'));
    this.#latest = { version, read };
    return read;
  }

  /**
   * Appends changes, which are on disk when it returns. Nothing is rewritten, so two programs can do it at the same time, and
   * a crash costs the last line at most. `by`: set for changes of a viewer. Throws the system's errors.
   */
  change(changes: MarkChange[], now: number, by?: 'viewer'): void {
    const { marks } = this.read();
    const lines = markLines(
      changes.filter(({ id, mark }) => (marks.get(id)?.mark ?? null) !== mark),
      marks,
      now,
      by,
    );
    if (lines === '') return;
    const size = assertPlainFile(this.path)?.size ?? 0;
    if (size + lines.length > maxBytes) throw new Error(`${this.path} is full (64 MB)`);
    const file = openSync(this.path, 'a+', 0o600);
    try {
      // Writes all of it, or throws.
      writeFileSync(file, isCut(file, size) ? `\n${lines}` : lines);
      fdatasyncSync(file);
    } finally {
      closeSync(file);
    }
  }
}

/**
 * Returns the lines of these changes. `now`: epoch ms. `by`: set for changes of a viewer. A change is later than the mark that
 * it replaces, even if the clock was set back since.
 */
export function markLines(
  changes: MarkChange[],
  before: ReadMarks['marks'],
  now: number,
  by?: 'viewer',
): string {
  const line = ({ id, mark }: MarkChange): string => {
    const at = new Date(Math.max(now, (before.get(id)?.at ?? 0) + 1)).toISOString();
    return `${JSON.stringify({ id, mark, at, by })}\n`;
  };
  return changes.map(line).join('');
}

/**
 * Reads the lines of a marks file. The latest change of a scene counts, so files of several machines are merged by joining
 * them: of changes at the same instant, the later line counts.
 */
export function readMarks(text: string): ReadMarks {
  const latest = new Map<string, Omit<SetMark, 'mark'> & { mark: Mark | null }>();
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
    const { id, ...set } = change;
    if ((latest.get(id)?.at ?? -Infinity) > set.at) continue;
    latest.delete(id);
    latest.set(id, { ...set, line: index + 1 });
  }
  const set = [...latest].flatMap(([id, { mark, ...where }]): [string, SetMark][] =>
    mark === null ? [] : [[id, { mark, ...where }]],
  );
  return { marks: new Map(set), unreadable };
}

/** Later instants are damage: 2100-01-01 as epoch ms. A change is later than the mark that it replaces, and has to be writable. */
const maxAt = 4_102_444_800_000;

function changeIn(line: string): (MarkChange & Omit<SetMark, 'mark' | 'line'>) | undefined {
  try {
    const { id, mark, at, by } = JSON.parse(line) as Record<string, unknown>;
    const instant = typeof at === 'string' ? Date.parse(at) : Number.NaN;
    if (typeof id !== 'string' || !(instant <= maxAt)) return undefined;
    if (mark !== null && !isMark(mark)) return undefined;
    return { id, mark, at: instant, ...(by === 'viewer' && { by }) };
  } catch {
    return undefined;
  }
}

function versionOf(stats: Stats | undefined): string {
  return stats === undefined ? '' : `${stats.ino} ${stats.size} ${stats.mtimeMs}`;
}

/** True if the last line has no end, because a crash or an editor cut it. */
function isCut(file: number, size: number): boolean {
  const last = Buffer.alloc(1);
  return size > 0 && readSync(file, last, 0, 1, size - 1) === 1 && last.toString() !== '\n';
}

/**
 * Returns the scenes with this mark, each with its place, such as `marks.jsonl:3`. `say` gets a sentence about lines that cannot
 * be read. Throws `ConfigError` if there are none, because for some commands no ids would mean every scene. `where` names the
 * option or the key in that message.
 */
export function markedIn(
  dir: string,
  mark: Mark,
  { where, say }: { where: string; say: (text: string) => void },
): Map<string, string> {
  const { marks, unreadable } = new MarksFile(dir).read();
  if (unreadable.length > 0)
    say(
      `${marksFile}: ${plural(unreadable.length, 'line')} cannot be read, the first is ${unreadable[0]}; skipped.`,
    );
  const marked = [...marks].filter(([, each]) => each.mark === mark);
  if (marked.length > 0) return new Map(marked.map(([id, { line }]) => [id, `${marksFile}:${line}`]));
  const act = mark === 'star' ? 'starred' : 'marked to be rendered again';
  throw new ConfigError([
    {
      where,
      text: `no scene of this batch is ${act}; \`nightrender watch\` shows the pictures and keeps marks`,
    },
  ]);
}
