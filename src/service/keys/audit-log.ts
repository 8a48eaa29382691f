/** The audit log: sign-ins, wrong keys and the changes of admins, a line of JSON each, in files of their own. */
import { appendFileSync, closeSync, fstatSync, openSync, readSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { AuditEntry } from '../../protocol/console-data.ts';

/** `more` has texts by name, which are cut; never a secret. */
export interface AuditEvent extends Pick<AuditEntry, 'event' | 'key' | 'what'> {
  /** Address of the client; undefined if the connection has ended, null for the command line. */
  from: string | null | undefined;
  more?: Record<string, string>;
}

export interface AuditOptions {
  /** System clock, epoch ms. */
  now: () => number;
  /** Receives a message when the log cannot be written; the service goes on. */
  onProblem: (text: string) => void;
  /** Size of a file, beyond which it replaces the file before it. */
  maxBytes?: number;
}

const defaultMaxBytes = 10 * 1024 * 1024;

/** Lines about wrong keys a minute; more are counted in the next line. */
const maxWrong = 600;
const withinMs = 60_000;

const maxTextLength = 1_000;
const shownEntries = 100;
const shownBytes = 64 * 1024;

export class AuditLog {
  readonly #options: Required<AuditOptions>;
  readonly #changes: string;
  /** Anybody can cause these: they must not replace the lines about changes. */
  readonly #wrongKeys: string;
  #wrong = { since: -Infinity, lines: 0, omitted: 0 };
  #hasFailed = false;

  /** The files are `audit.jsonl` and `wrong-keys.jsonl` in this folder, and `*.1` before each. */
  constructor(dataDir: string, options: AuditOptions) {
    this.#options = { maxBytes: defaultMaxBytes, ...options };
    this.#changes = join(dataDir, 'audit.jsonl');
    this.#wrongKeys = join(dataDir, 'wrong-keys.jsonl');
  }

  note(event: AuditEvent): void {
    if (event.event !== 'wrong-key') return this.#write(this.#changes, event);
    const now = this.#options.now();
    // A clock that was set back begins a new minute as well.
    if (Math.abs(now - this.#wrong.since) >= withinMs) this.#wrong = { ...this.#wrong, since: now, lines: 0 };
    if (this.#wrong.lines >= maxWrong) return void (this.#wrong.omitted += 1);
    const { omitted } = this.#wrong;
    this.#wrong = { ...this.#wrong, lines: this.#wrong.lines + 1, omitted: 0 };
    this.#write(this.#wrongKeys, omitted === 0 ? event : { ...event, more: { omitted: String(omitted) } });
  }

  /** Returns the newest entries, newest first. */
  latest(): AuditEntry[] {
    // Anybody can cause lines about wrong keys: they must not push changes out of view.
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
      // On a full disk an admin must be able to cancel and purge.
      if (!this.#hasFailed) this.#options.onProblem(`the audit log cannot be written: ${String(error)}`);
      this.#hasFailed = true;
    }
  }
}

function cut(text: string): string {
  return text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength)}…`;
}

/** Returns the newest entries of a file and of the one before it, newest first. */
function newestIn(path: string, count: number): AuditEntry[] {
  const entries = [`${path}.1`, path].flatMap((each) => lastLines(each)).flatMap(entryIn);
  return entries.toReversed().slice(0, count);
}

/** None if there is no such file. */
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

/** None for a line that a crash or a full disk has cut. */
function entryIn(line: string): AuditEntry[] {
  try {
    return [JSON.parse(line) as AuditEntry];
  } catch {
    return [];
  }
}
