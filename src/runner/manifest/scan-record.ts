/** Finds the end of one record of CSV or TSV by its quotes. */
import { maxRowBytes } from './manifest.ts';

export type TableFormat = 'csv' | 'tsv';

export const delimiters = { csv: ',', tsv: '\t' } as const;

export type RecordScan =
  /** `hasInnerQuote`: a field that does not begin with a quote holds one. */
  | { kind: 'record'; lineCount: number; text: string; hasInnerQuote: boolean }
  /** More lines are needed to tell. */
  | { kind: 'unfinished' }
  | MalformedScan;

export interface MalformedScan {
  kind: 'malformed';
  /** The index of the line in which the quote in question opens. */
  openedAt: number;
  /** The index of the line up to which it was followed. */
  endedAt: number;
  problem: string;
}

/**
 * Scans the record that starts with `lines[start]`.
 *
 * A field that begins with a quote ends with the next quote that is not doubled, and the delimiter or the end
 * of the line follows. A quote within any other field is text in both formats. Where a field begins with a
 * quote and does not end like this, it is malformed in CSV, while in TSV, which most programs write without
 * quoting, it is text: `"G I G G L E" painted on a wall` is a prompt with quotes in it. For the same reason
 * a quoted field of TSV holds tabs or line breaks but not both: two such prompts would swallow the rows between.
 */
export function scanRecord(
  lines: readonly string[],
  start: number,
  options: { format: TableFormat; isEnd: boolean },
): RecordScan {
  const delimiter = delimiters[options.format];
  const quotedText: Span[] = [];
  let hasInnerQuote = false;
  let at = start;
  let from = 0;
  let bytesBefore = 0;
  for (;;) {
    const line = lines[at] ?? '';
    if (line[from] === '"') {
      const field = scanQuoted(lines, { at, from, bytesBefore }, options);
      if (field.kind === 'unfinished') return field;
      if (field.kind === 'quoted') {
        ({ endAt: at, bytesBefore } = field);
        if (field.next === undefined) break;
        from = field.next;
        continue;
      }
      if (options.format === 'csv') return { ...field, openedAt: at };
      quotedText.push({ at, from });
    }
    const end = line.indexOf(delimiter, from);
    hasInnerQuote ||= line.slice(from, end === -1 ? undefined : end).includes('"');
    if (end === -1) break;
    from = end + 1;
  }
  const text = textOf(lines.slice(start, at + 1), start, quotedText);
  return { kind: 'record', lineCount: at - start + 1, text, hasInnerQuote };
}

/** Where a field begins: the index of the line, and the place in it. */
interface Span {
  at: number;
  from: number;
}

type FieldScan =
  /** `next`: where in line `endAt` the next field begins; undefined at the end of the record. */
  | { kind: 'quoted'; endAt: number; next: number | undefined; bytesBefore: number }
  | { kind: 'unfinished' }
  | { kind: 'malformed'; endedAt: number; problem: string };

/** `bytesBefore` are those of the record's lines before the one that the field begins in, or ends in. */
function scanQuoted(
  lines: readonly string[],
  field: Span & { bytesBefore: number },
  { format, isEnd }: { format: TableFormat; isEnd: boolean },
): FieldScan {
  let { bytesBefore } = field;
  for (let at = field.at, from = field.from + 1; at < lines.length; at++, from = 0) {
    const line = lines[at] ?? '';
    if (at > field.at) {
      bytesBefore += Buffer.byteLength(lines[at - 1] ?? '') + 1;
      if (bytesBefore + Buffer.byteLength(line) > maxRowBytes) {
        return { kind: 'malformed', endedAt: at, problem: 'has a quote that is not closed within 1 MiB' };
      }
    }
    const close = closingQuote(line, from);
    if (close === -1) continue;
    const isLast = close + 1 === line.length || line.slice(close + 1) === '\r';
    const isProper = isLast || line[close + 1] === delimiters[format];
    if (!isProper) {
      return { kind: 'malformed', endedAt: at, problem: 'has text after the quote that closes a value' };
    }
    if (format === 'tsv' && at > field.at && hasTab(lines, field, { at, close })) {
      return { kind: 'malformed', endedAt: at, problem: 'has tabs and line breaks in quotes' };
    }
    return { kind: 'quoted', endAt: at, next: isLast ? undefined : close + 2, bytesBefore };
  }
  if (!isEnd) return { kind: 'unfinished' };
  return { kind: 'malformed', endedAt: lines.length, problem: 'has a quote that is never closed' };
}

/** The place of the next quote that is not one of two, or -1. */
function closingQuote(line: string, from: number): number {
  let quote = line.indexOf('"', from);
  while (quote !== -1 && line[quote + 1] === '"') quote = line.indexOf('"', quote + 2);
  return quote;
}

function hasTab(lines: readonly string[], open: Span, end: { at: number; close: number }): boolean {
  return lines.slice(open.at, end.at + 1).some((line, index) => {
    const from = index === 0 ? open.from : 0;
    const to = open.at + index === end.at ? end.close : undefined;
    return line.slice(from, to).includes('\t');
  });
}

/** The lines as one text, in which fields that begin with a quote as text are put in quotes. */
function textOf(lines: string[], start: number, quotedText: Span[]): string {
  const last = lines.at(-1) ?? '';
  lines[lines.length - 1] = last.endsWith('\r') ? last.slice(0, -1) : last;
  for (const { at, from } of quotedText.toReversed()) {
    const line = lines[at - start] ?? '';
    const end = line.indexOf('\t', from);
    const to = end === -1 ? line.length : end;
    const quoted = `"${line.slice(from, to).replaceAll('"', '""')}"`;
    lines[at - start] = line.slice(0, from) + quoted + line.slice(to);
  }
  return lines.join('\n');
}
