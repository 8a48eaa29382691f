/** Reads JSON: the elements of an array, as its bytes come, and lines of JSON Lines. */
import { isUtf8 } from 'node:buffer';
import { ManifestError, maxBatchRows, maxRowBytes, notUtf8, type ManifestEntry } from './manifest.ts';
import { readExactJson, isJsonObject, type JsonObject } from '../../lib/text/json.ts';

/** One element as it stands between its commas. */
interface TextElement {
  /** Where it starts, 1-based; of one that is not there, where its comma or the end of the array is. */
  line: number;
  /** Empty where nothing of it can be read. */
  text: string;
  problem?: string;
}

/** What is wrong with the whole array, in words that follow the place. */
class ArrayProblem extends Error {
  readonly line: number | undefined;

  constructor(problem: string, line?: number) {
    super(problem);
    this.line = line;
  }
}

/** Reads a JSON array of objects or prompts, element by element: one of any length is never in memory as a whole. */
export async function* readJsonArray(
  path: string,
  bytes: AsyncIterable<Buffer>,
): AsyncGenerator<ManifestEntry[]> {
  try {
    for await (const elements of cutElements(bytes)) {
      for (let start = 0; start < elements.length; start += maxBatchRows) {
        const batch = elements.slice(start, start + maxBatchRows);
        yield batch.map(({ line, text, problem }) =>
          problem === undefined ? readJsonElement(text, line) : { kind: 'bad', line, problem },
        );
      }
    }
  } catch (error) {
    throw error instanceof ArrayProblem ? new ManifestError(path, error.message, error.line) : error;
  }
}

/** The elements that end in each piece of the bytes. Throws `ArrayProblem` where they are no array or do not end one. */
async function* cutElements(bytes: AsyncIterable<Buffer>): AsyncGenerator<TextElement[]> {
  const cutter = new ElementCutter();
  for await (const piece of bytes) yield cutter.cut(piece);
  cutter.end();
}

const lineFeed = 0x0a;
const quote = 0x22;
const comma = 0x2c;
const opening = 0x5b;
const backslash = 0x5c;
const closing = 0x5d;
const openingBrace = 0x7b;
const closingBrace = 0x7d;

class ElementCutter {
  #line = 1;
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

  cut(piece: Buffer): TextElement[] {
    const found: TextElement[] = [];
    /** Where the element begins, or goes on, in this piece. */
    let from = 0;
    for (let at = 0; at < piece.length; at++) {
      const byte = piece[at] ?? 0;
      if (byte === lineFeed) this.#line += 1;
      if (this.#isInString) this.#goThroughString(byte);
      else if (isBlank(byte)) continue;
      else if (this.#place !== 'within') this.#goOutside(byte);
      else if (this.#depth === 1 && (byte === comma || byte === closing)) {
        if (this.#beganAt !== undefined) this.#add(piece.subarray(from, at));
        const element = this.#take(byte === closing);
        if (element !== undefined) found.push(element);
        if (byte === closing) this.#place = 'after';
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
    throw new ArrayProblem(`ends within its array; rows may be missing${where}`, this.#line);
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
    if (this.#place === 'after') throw new ArrayProblem('continues after the end of its array', this.#line);
    if (byte !== opening) {
      const hint = byte === openingBrace ? '; name a list with one object per line .jsonl' : '';
      throw new ArrayProblem(`is not a JSON array of objects, [{…}, {…}], or prompts${hint}`, this.#line);
    }
    this.#place = 'within';
    this.#depth = 1;
  }

  #add(bytes: Buffer): void {
    this.#bytes += bytes.length;
    if (this.#bytes <= maxRowBytes) this.#pieces.push(bytes);
    else this.#pieces = [];
  }

  /** Undefined where an array ends that has no elements. */
  #take(isLast: boolean): TextElement | undefined {
    const line = this.#beganAt ?? this.#line;
    const isThere = this.#beganAt !== undefined;
    const isTooLong = this.#bytes > maxRowBytes;
    const bytes = Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#bytes = 0;
    this.#beganAt = undefined;
    this.#elements += 1;
    if (isTooLong) return { line, text: '', problem: 'is longer than 1 MiB' };
    if (isThere) return readElement(bytes, line);
    if (isLast && this.#elements === 1) return undefined;
    return { line, text: '', problem: 'has no element: there is a comma too many' };
  }
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === lineFeed || byte === 0x0d;
}

function readElement(bytes: Buffer, line: number): TextElement {
  const text = bytes.toString();
  if (!isUtf8(bytes)) return { line, text, problem: notUtf8 };
  return bytes.includes(0) ? { line, text, problem: 'contains a NUL character' } : { line, text };
}

/** A string is a prompt. */
function readJsonElement(text: string, line: number): ManifestEntry {
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

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`;
}

/** Of a bad row. */
export function idOf(columns: JsonObject): { id?: string } {
  const id = columns['id'];
  return typeof id === 'string' && id !== '' ? { id } : {};
}
