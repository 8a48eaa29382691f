/** Reads JSON: the elements of an array or object, as its bytes come, and lines of JSON Lines. */
import { isUtf8 } from 'node:buffer';
import { notUtf8 } from './encodings.ts';
import { ManifestError, maxBatchRows, maxRowBytes, type ManifestEntry } from './manifest.ts';
import { readExactJson, isJsonObject, type JsonObject } from '../../lib/text/json.ts';

/** An element of an array, or a member of an object, as it stands between its commas. */
export interface CutElement {
  /** Where it starts, 1-based; of one that is not there, where its comma or the end of the array is. */
  line: number;
  /** Empty where nothing of it can be read. */
  bytes: Buffer;
  problem?: string;
}

/** What is wrong with the whole array or object, in words that follow the place. */
export class ArrayProblem extends Error {
  readonly line: number | undefined;
  /** True if an object of one line is followed by another: it is no array, but JSON Lines. */
  readonly isLines: boolean;

  constructor(problem: string, line?: number, isLines = false) {
    super(problem);
    this.line = line;
    this.isLines = isLines;
  }
}

/** Reads a JSON array of objects or prompts, element by element: one of any length is never in memory as a whole. */
export function readJsonArray(path: string, bytes: AsyncIterable<Buffer>): AsyncGenerator<ManifestEntry[]> {
  return readElements(path, bytes, {}, readJsonElement);
}

/** Throws `ManifestError` where the bytes are no array or object, or do not end one. */
export async function* readElements(
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
  /** True if members of an object are cut rather than elements of an array. */
  isObject?: boolean;
  /** Of an element. */
  maxBytes?: number;
  /** Where the bytes begin, 1-based. */
  line?: number;
}

export class ElementCutter {
  readonly #isObject: boolean;
  readonly #maxBytes: number;
  #line: number;
  /** Where the array or object opens and closes. */
  openedAt = 0;
  #closedAt = 0;
  /** Brackets that are open; 1 between the elements of the array. */
  #depth = 0;
  #place: 'before' | 'within' | 'after' = 'before';
  #isInString = false;
  #isEscaped = false;
  /** Of the element that has begun: where, and its bytes in earlier pieces; of one that is too long nothing is kept. */
  #beganAt: number | undefined;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #elements = 0;

  constructor({ isObject = false, maxBytes = maxRowBytes, line = 1 }: Cutting = {}) {
    this.#isObject = isObject;
    this.#maxBytes = maxBytes;
    this.#line = line;
  }

  /** Throws `ArrayProblem`. */
  cut(piece: Buffer): CutElement[] {
    const found: CutElement[] = [];
    const end = this.#isObject ? closingBrace : closing;
    /** Where the element begins, or goes on, in this piece. */
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

  /** Undefined where an array ends that has no elements. */
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

/** Why an element is no row, whatever it says; undefined where it may be one. */
export function problemOf({ bytes, problem }: CutElement): string | undefined {
  if (problem !== undefined) return problem;
  if (bytes.length > maxRowBytes) return tooLong;
  if (!isUtf8(bytes)) return notUtf8(bytes);
  return bytes.includes(0) ? 'contains a NUL character' : undefined;
}

/** A string is a prompt. */
export function readJsonElement(element: CutElement): ManifestEntry {
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

/** The keys of a line of results.jsonl, as the report writes them; a scene with files has `files` besides. */
const resultKeys =
  'id,state,pictures,jobId,attempts,unanswered,expired,delayTime,executionTime,submittedAt,completedAt,savedAt,failure,source,columns,endpoint';

/**
 * The row of which the line is the result, under the scene's id; undefined for any other line. One key more or fewer
 * makes it a line of somebody's own, who may mean something else.
 */
function resultColumns(line: JsonObject): JsonObject | undefined {
  const { id = null, columns } = line;
  if (!isJsonObject(columns)) return undefined;
  const keys = Object.keys(line).filter((key) => key !== 'files');
  return keys.join(',') === resultKeys ? { ...columns, id } : undefined;
}

export function nameOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`;
}

/** Of a bad row. */
export function idOf(columns: JsonObject): { id?: string } {
  const id = columns['id'];
  return typeof id === 'string' && id !== '' ? { id } : {};
}
