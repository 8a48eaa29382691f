/** Reads JSON as its bytes arrive: the elements of an array or object, and lines of JSON Lines. */
import { isUtf8 } from 'node:buffer';
import { notUtf8, startingWith } from './open-bytes.ts';
import { ManifestError, maxBatchRows, maxRowBytes, type ManifestEntry } from './manifest.ts';
import { readExactJson, isJsonObject, type JsonObject } from '../../lib/text/json.ts';

/** Text of an array's element or an object's member, between its commas. */
interface CutElement {
  /** Line where it starts, 1-based. For a missing element, the line of its comma or of the array's end. */
  line: number;
  /** Empty if nothing can be read. */
  bytes: Buffer;
  problem?: string;
}

/** Thrown for a problem of the whole array or object. The message follows its place. */
class ArrayProblem extends Error {
  readonly line: number | undefined;
  /** True if an object of one line is followed by another one, so that the file is JSON Lines. */
  readonly isLines: boolean;

  constructor(problem: string, line?: number, isLines = false) {
    super(problem);
    this.line = line;
    this.isLines = isLines;
  }
}

/** Reads a JSON array of objects or prompts element by element, so that it is never in memory as a whole. */
export function readJsonArray(path: string, bytes: AsyncIterable<Buffer>): AsyncGenerator<ManifestEntry[]> {
  return readElements(path, bytes, {}, readJsonElement);
}

/** Throws `ManifestError` if the bytes do not begin with an array or object, or do not end with its end. */
async function* readElements(
  path: string,
  bytes: AsyncIterable<Buffer> | Iterable<Buffer>,
  cutting: Cutting,
  read: (element: CutElement) => ManifestEntry,
): AsyncGenerator<ManifestEntry[]> {
  try {
    const cutter = new ElementCutter(cutting);
    for await (const piece of bytes) {
      const elements = cutter.cut(piece);
      for (let start = 0; start < elements.length; start += maxBatchRows)
        yield elements.slice(start, start + maxBatchRows).map(read);
    }
    cutter.end();
  } catch (error) {
    throw error instanceof ArrayProblem ? new ManifestError(path, error.message, error.line) : error;
  }
}

const lineFeed = 0x0a;
const quote = 0x22;
const comma = 0x2c;
const opening = 0x5b;
const backslash = 0x5c;
const closing = 0x5d;
const openingBrace = 0x7b;
const closingBrace = 0x7d;

interface Cutting {
  /** True if members of an object are cut instead of elements of an array. */
  isObject?: boolean;
  /** Maximum bytes of an element. */
  maxBytes?: number;
  /** Line on which the bytes begin, 1-based. */
  line?: number;
}

class ElementCutter {
  readonly #isObject: boolean;
  readonly #maxBytes: number;
  #line: number;
  /** Line of the opening bracket. */
  openedAt = 0;
  #closedAt = 0;
  /** Number of open brackets; 1 between the elements of the array. */
  #depth = 0;
  #place: 'before' | 'within' | 'after' = 'before';
  #isInString = false;
  #isEscaped = false;
  /** Line where the current element began, and its earlier bytes; none of one that is too long. */
  #beganAt: number | undefined;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #elements = 0;

  constructor({ isObject = false, maxBytes = maxRowBytes, line = 1 }: Cutting = {}) {
    this.#isObject = isObject;
    this.#maxBytes = maxBytes;
    this.#line = line;
  }

  /** Returns the elements that end in this piece. Throws `ArrayProblem`. */
  cut(piece: Buffer): CutElement[] {
    const found: CutElement[] = [];
    const end = this.#isObject ? closingBrace : closing;
    /** Index in this piece where the element begins or goes on. */
    let from = 0;
    for (let at = 0; at < piece.length; at++) {
      const byte = piece[at] ?? 0;
      if (byte === lineFeed) this.#line += 1;
      if (this.#isInString) this.#goThroughString(byte);
      else if (isBlank(byte)) continue;
      else if (this.#place !== 'within') this.#goOutside(byte);
      else if (this.#depth === 1 && (byte === comma || byte === end)) {
        if (this.#beganAt !== undefined) this.#add(piece.subarray(from, at));
        const element = this.#take(byte === end);
        if (element !== undefined) found.push(element);
        if (byte !== end) continue;
        this.#place = 'after';
        this.#closedAt = this.#line;
      } else {
        if (this.#beganAt === undefined) from = at;
        this.#goThroughElement(byte);
      }
    }
    if (this.#beganAt !== undefined) this.#add(piece.subarray(from));
    return found;
  }

  end(): void {
    if (this.#place === 'after') return;
    if (this.#place === 'before') throw new ArrayProblem('is empty');
    const where = this.#beganAt === undefined ? '' : `: the element at line ${this.#beganAt} is incomplete`;
    throw new ArrayProblem(`ends within its ${this.#name()}; rows may be missing${where}`, this.#line);
  }

  #goThroughString(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === backslash) this.#isEscaped = true;
    else if (byte === quote) this.#isInString = false;
  }

  #goThroughElement(byte: number): void {
    this.#beganAt ??= this.#line;
    if (byte === quote) this.#isInString = true;
    else if (byte === opening || byte === openingBrace) this.#depth += 1;
    else if ((byte === closing || byte === closingBrace) && this.#depth > 1) this.#depth -= 1;
  }

  #goOutside(byte: number): void {
    if (this.#place === 'after') {
      const isLines =
        byte === openingBrace && this.openedAt === this.#closedAt && this.#closedAt < this.#line;
      const hint = this.#isObject ? '; write one object a line: jq -c . OLD > NEW.jsonl' : '';
      const problem = `continues after the end of its ${this.#name()}${hint}`;
      throw new ArrayProblem(problem, this.#line, this.#isObject && isLines);
    }
    if (byte !== (this.#isObject ? openingBrace : opening))
      throw new ArrayProblem('is not a JSON array of objects, [{…}, {…}], or prompts', this.#line);
    this.#place = 'within';
    this.#depth = 1;
    this.openedAt = this.#line;
  }

  #name(): string {
    return this.#isObject ? 'object' : 'array';
  }

  #add(bytes: Buffer): void {
    this.#bytes += bytes.length;
    if (this.#bytes <= this.#maxBytes) this.#pieces.push(bytes);
    else this.#pieces = [];
  }

  /** Returns the element; undefined at the end of an array without elements. */
  #take(isLast: boolean): CutElement | undefined {
    const line = this.#beganAt ?? this.#line;
    const isThere = this.#beganAt !== undefined;
    const isTooLong = this.#bytes > this.#maxBytes;
    const bytes = Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#bytes = 0;
    this.#beganAt = undefined;
    this.#elements += 1;
    if (isTooLong) return { line, bytes: Buffer.of(), problem: tooLong };
    if (isThere) return { line, bytes };
    if (isLast && this.#elements === 1) return undefined;
    return { line, bytes, problem: 'has no element: there is a comma too many' };
  }
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === lineFeed || byte === 0x0d;
}

const tooLong = 'is longer than 1 MiB';

/** Returns why an element can be no row, whatever its content is; undefined if it may be one. */
function problemOf({ bytes, problem }: CutElement): string | undefined {
  if (problem !== undefined) return problem;
  if (bytes.length > maxRowBytes) return tooLong;
  if (!isUtf8(bytes)) return notUtf8(bytes);
  return bytes.includes(0) ? 'contains a NUL character' : undefined;
}

/** Reads an element of an array. A string is a prompt. */
function readJsonElement(element: CutElement): ManifestEntry {
  const { line, bytes } = element;
  const problem = problemOf(element);
  if (problem !== undefined) return { kind: 'bad', line, problem };
  const text = bytes.toString();
  const { value } = text.startsWith('"') ? readExactJson(text) : {};
  return typeof value === 'string'
    ? { kind: 'row', columns: { prompt: value }, line }
    : readJsonLine(text, line);
}

export function readJsonLine(text: string, line: number): ManifestEntry {
  const { value, problem } = readExactJson(text);
  if (value === undefined) return { kind: 'bad', line, problem: problem ?? 'is not valid JSON' };
  if (!isJsonObject(value)) {
    return { kind: 'bad', line, problem: `is not a JSON object but ${nameOf(value)}` };
  }
  if (problem !== undefined) return { kind: 'bad', line, problem, ...idOf(value) };
  return { kind: 'row', columns: resultColumns(value) ?? value, line };
}

/** Keys that not every line of results.jsonl has: earlier versions wrote no `statedCost`. */
const extraKeys = new Set(['files', 'statedCost']);
/** The other keys of such a line in the order of the report. */
const resultKeys =
  'id,state,pictures,jobId,attempts,unanswered,expired,delayTime,executionTime,submittedAt,completedAt,savedAt,failure,source,columns,endpoint';

/** Returns the row of a line of results.jsonl, by exactly its keys; undefined for any other line. */
function resultColumns(line: JsonObject): JsonObject | undefined {
  const { id = null, columns } = line;
  if (!isJsonObject(columns)) return undefined;
  const keys = Object.keys(line).filter((key) => !extraKeys.has(key));
  return keys.join(',') === resultKeys ? { ...columns, id } : undefined;
}

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`;
}

/** Returns the id of an invalid row, if it has one. */
export function idOf(columns: JsonObject): { id?: string } {
  const id = columns['id'];
  return typeof id === 'string' && id !== '' ? { id } : {};
}

/** Maximum bytes of an object. Its bytes are kept, because only its end shows how to read it. */
const maxObjectBytes = 64 * 1024 * 1024;

const tooLarge =
  "is an object of more than 64 MiB; make a list of its rows (jq -c 'to_entries[] | {id: .key} + .value' OLD > NEW.jsonl), or take the list out of it (jq .NAME OLD > NEW.json)";

/**
 * Reads rows by ids, an object with a list, or a single row. Returns the bytes if more objects follow.
 * Throws `ManifestError`.
 */
export async function readJsonObject(
  path: string,
  bytes: AsyncGenerator<Buffer>,
): Promise<{ lines: AsyncGenerator<Buffer> } | { batches: AsyncGenerator<ManifestEntry[]> }> {
  const cutter = new ElementCutter({ isObject: true, maxBytes: maxObjectBytes });
  const pieces: Buffer[] = [];
  const seen: Seen = { kinds: new Set(), words: new Set(), lists: [], hasRows: false, isAbout: false };
  let size = 0;
  try {
    for (let next = await bytes.next(); next.done !== true; next = await bytes.next()) {
      pieces.push(next.value);
      size += next.value.length;
      for (const member of cutter.cut(next.value)) noteMember(seen, member);
      if (size > maxObjectBytes) throw new ArrayProblem(tooLarge);
    }
    cutter.end();
    const list = listIn(seen);
    if (list !== undefined) {
      const { line, bytes: all } = list;
      return { batches: readElements(path, piecesOf(all), { line }, readJsonElement) };
    }
    if (isById(seen)) return { batches: readElements(path, pieces, { isObject: true }, readMember) };
    return { batches: oneRow({ line: cutter.openedAt, bytes: Buffer.concat(pieces) }) };
  } catch (error) {
    if (error instanceof ArrayProblem && error.isLines)
      return { lines: startingWith(Buffer.concat(pieces), bytes) };
    throw error instanceof ArrayProblem ? new ManifestError(path, error.message, error.line) : error;
  }
}

const pieceBytes = 128 * 1024;

function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += pieceBytes)
    yield bytes.subarray(start, start + pieceBytes);
}

async function* oneRow(element: CutElement): AsyncGenerator<ManifestEntry[]> {
  yield [readJsonElement(element)];
}

/** Properties that show how an object is meant. */
interface Seen {
  /** First characters of values that are no lists; `n` stands for null. */
  kinds: Set<string>;
  /** The `columnWords` that are names of a text, a number, true, false or null. */
  words: Set<string>;
  /** Lists, including their brackets. */
  lists: (CutElement & { name: string })[];
  /** True if a member is an object with a scene or a prompt. */
  hasRows: boolean;
  /** True if a text has a name from `aboutWords`. */
  isAbout: boolean;
}

/** Bytes of a member in which to look for its name and the beginning of its value. */
const headBytes = 64 * 1024;

function noteMember(seen: Seen, { line, bytes }: CutElement): void {
  const head = bytes.toString('latin1', 0, headBytes);
  const [whole = '', key = '', kind] = /^("[^"\\]*(?:\\.[^"\\]*)*")\s*:\s*(\S)/.exec(head) ?? [];
  if (kind === undefined) return;
  const { value } = readExactJson(Buffer.from(key, 'latin1').toString());
  const name = typeof value === 'string' ? value : '';
  if (kind === '[') {
    const start = whole.length - 1;
    seen.lists.push({ name, line: line + whole.split('\n').length - 1, bytes: bytes.subarray(start) });
    return;
  }
  seen.kinds.add(kind);
  if (kind === '{') seen.hasRows ||= /"(scene|prompt)"/i.test(head);
  else if (columnWords.has(name.toLowerCase())) seen.words.add(name.toLowerCase());
  seen.isAbout ||= kind === '"' && aboutWords.has(name.toLowerCase());
}

/** Returns the list in the object; undefined for one row or rows by id. Throws `ArrayProblem` if ambiguous. */
function listIn(seen: Seen): Seen['lists'][number] | undefined {
  const { lists, words, hasRows } = seen;
  if (rowWords.some((word) => words.has(word))) return undefined;
  if (hasRows && words.size === 0 && !isById(seen))
    throw new ArrayProblem(
      'has rows by id and other values; write all of them as rows: jq \'map_values(if type == "object" then . elif type == "string" then {prompt: .} else empty end)\' OLD > NEW.json',
    );
  const filled = lists.filter(({ bytes }) => !/^\[\s*\]/.test(bytes.toString('latin1', 0, headBytes)));
  if (filled.length < 2) return filled[0] ?? lists[0];
  const names = filled.map(({ name }) => name).join(', ');
  throw new ArrayProblem(`has several lists: ${names}; take one out of it: jq .NAME OLD > NEW.json`);
}

const rowWords = ['scene', 'prompt', 'caption', 'text'];
/** An object with a member of this name is a row, unless it contains a list. */
const columnWords = new Set([...rowWords, 'description', 'id', 'seed']);
/** Texts with these names describe a list instead of belonging to it. */
const aboutWords = new Set(['title', 'name', 'author', 'version', 'license', 'date']);

/** True if all values are objects, or all are texts. */
function isById({ lists, words, kinds, isAbout }: Seen): boolean {
  if (lists.length > 0 || words.size > 0 || (isAbout && !kinds.has('{'))) return false;
  const known = [...kinds].filter((kind) => kind !== 'n');
  return known.length === 0 || (known.length === 1 && (kinds.has('{') || kinds.has('"')));
}

/** Reads a row by its id. Its own column `id` takes precedence. A text is a prompt. */
function readMember(element: CutElement): ManifestEntry {
  const { line, bytes } = element;
  const unread = problemOf(element);
  if (unread !== undefined) return { kind: 'bad', line, problem: unread };
  const { value, problem } = readExactJson(`{${bytes.toString()}}`);
  const [id = '', row] = isJsonObject(value) ? (Object.entries(value)[0] ?? []) : [];
  if (problem === undefined && typeof row === 'string')
    return { kind: 'row', columns: { id, prompt: row }, line };
  if (problem === undefined && isJsonObject(row)) return { kind: 'row', columns: { id, ...row }, line };
  const text = problem ?? `is not a JSON object but ${nameOf(row)}`;
  return { kind: 'bad', line, problem: text, ...idOf({ id }) };
}
