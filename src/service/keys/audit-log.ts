/** The audit log: sign-ins, wrong keys and changes by admins, as lines of JSON. */
import { appendFileSync, closeSync, fstatSync, openSync, readSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { AuditEntry } from '../../protocol/console-data.ts';

/** An event of the audit log. `more` holds further texts by name, which are truncated. No field may be a secret. */
export interface AuditEvent extends Pick<AuditEntry, 'event' | 'key' | 'what'> {
  /** Client address; undefined if the connection has ended, null for the command line. */
  from: string | null | undefined;
  more?: Record<string, string>;
}

export interface AuditOptions {
  now: () => number;
  /** Receives a message if the log cannot be written. The service continues. */
  onProblem: (text: string) => void;
  /** Maximum size of a file in bytes. A full file replaces the previous one (`*.1`). */
  maxBytes?: number;
}

const defaultMaxBytes = 10 * 1024 * 1024;

/** Maximum number of lines about wrong keys a minute. The next line counts the omitted ones. */
const maxWrong = 600;
const withinMs = 60_000;

const maxTextLength = 1_000;
const shownEntries = 100;
const shownBytes = 64 * 1024;

export class AuditLog {
  readonly #options: Required<AuditOptions>;
  readonly #changes: string;
  /** Apart from the changes: anybody can cause wrong keys, and they must not push out changes. */
  readonly #wrongKeys: string;
  #wrong = { since: -Infinity, lines: 0, omitted: 0 };
  #hasFailed = false;

  /** Writes `audit.jsonl` and `wrong-keys.jsonl` in this folder. A full file is renamed to `*.1`. */
  constructor(dataDir: string, options: AuditOptions) {
    this.#options = { maxBytes: defaultMaxBytes, ...options };
    this.#changes = join(dataDir, 'audit.jsonl');
    this.#wrongKeys = join(dataDir, 'wrong-keys.jsonl');
  }

  note(event: AuditEvent): void {
    if (event.event !== 'wrong-key') return this.#write(this.#changes, event);
    const now = this.#options.now();
    // A clock that was set back also begins a new minute.
    if (Math.abs(now - this.#wrong.since) >= withinMs) this.#wrong = { ...this.#wrong, since: now, lines: 0 };
    if (this.#wrong.lines >= maxWrong) return void (this.#wrong.omitted += 1);
    const { omitted } = this.#wrong;
    this.#wrong = { ...this.#wrong, lines: this.#wrong.lines + 1, omitted: 0 };
    this.#write(this.#wrongKeys, omitted === 0 ? event : { ...event, more: { omitted: String(omitted) } });
  }

  latest(): AuditEntry[] {
    // Takes half of each file: anybody can cause wrong keys, and they must not push out changes.
    const [changes, wrong] = [this.#changes, this.#wrongKeys].map((path) => newestIn(path, shownEntries / 2));
    return [changes ?? [], wrong ?? []].flat().toSorted((one, other) => other.at.localeCompare(one.at));
  }

  #write(path: string, { event, key, from = 'unknown', what, more = {} }: AuditEvent): void {
    const at = new Date(this.#options.now()).toISOString();
    const texts = Object.entries(more).map(([name, text]) => [name, cut(text)]);
    const address = from?.replace(/^::ffff:/, '') ?? null;
    const entry: AuditEntry = { at, event, key, from: address, what: what && cut(what) };
    const line = `${JSON.stringify({ ...entry, ...Object.fromEntries(texts) })}\n`;
    try {
      const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
      if (bytes > 0 && bytes + line.length > this.#options.maxBytes) renameSync(path, `${path}.1`);
      appendFileSync(path, line, { mode: 0o600 });
      this.#hasFailed = false;
    } catch (error) {
      // Continues: on a full disk an admin must still be able to cancel and purge.
      if (!this.#hasFailed) this.#options.onProblem(`the audit log cannot be written: ${String(error)}`);
      this.#hasFailed = true;
    }
  }
}

function cut(text: string): string {
  return text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength)}…`;
}

function newestIn(path: string, count: number): AuditEntry[] {
  const entries = [`${path}.1`, path].flatMap((each) => lastLines(each)).flatMap(entryIn);
  return entries.toReversed().slice(0, count);
}

/** Returns the last lines of a file; none if it cannot be read. */
function lastLines(path: string): string[] {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    const { size } = fstatSync(file);
    const start = Math.max(0, size - shownBytes);
    const bytes = Buffer.alloc(size - start);
    readSync(file, bytes, 0, bytes.length, start);
    return bytes
      .toString()
      .split('\n')
      .slice(start === 0 ? 0 : 1);
  } catch {
    return [];
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Returns the entry in a line; none if a crash or a full disk has truncated the line. */
function entryIn(line: string): AuditEntry[] {
  try {
    return [JSON.parse(line) as AuditEntry];
  } catch {
    return [];
  }
}
