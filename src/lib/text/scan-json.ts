/** Validates JSON as bytes and finds its members, without building its values and without blocking the event loop. */
import { isUtf8 } from 'node:buffer';
import { setImmediate as nextTurn } from 'node:timers/promises';

export interface JsonLimits {
  maxDepth: number;
  /** Maximum number of objects, arrays, texts, numbers and words at any level. Names are not counted. */
  maxValues: number;
}

export type ScannedJson =
  /** `members`: the last value of each requested name, as written. `hasOthers`: there are other names too. */
  | { kind: 'object'; members: ReadonlyMap<string, Buffer>; hasOthers: boolean }
  /** JSON, but not an object. */
  | { kind: 'other' }
  | NotRead;

/** Not JSON in UTF-8, by the rules of `JSON.parse`, or beyond the limits. The rest was not read. */
interface NotRead {
  kind: 'not UTF-8' | 'invalid' | 'deep' | 'many';
}

/** Maximum nesting if nothing recurses, because the levels are kept in memory. */
export const maxJsonDepth = 1_000_000;

/** More values than real results have. */
export const defaultMaxValues = 10_000_000;

/** Bytes that are read before other work gets a turn: some milliseconds. */
const bytesAtOnce = 128 * 1024;

/** Finds top-level members by `names`, which must not need escaping. Members share the memory of `given`. */
export async function scanJson(
  given: Buffer,
  names: readonly string[],
  limits: JsonLimits,
): Promise<ScannedJson> {
  const bytes = given.subarray(hasByteOrderMark(given) ? 3 : 0);
  if (!isUtf8(bytes)) return { kind: 'not UTF-8' };
  const scan = new Scan(bytes, names, limits);
  for (let until = bytesAtOnce; until < bytes.length; until += bytesAtOnce) {
    const problem = scan.read(until);
    if (problem !== undefined) return problem;
    await nextTurn();
  }
  return scan.read(bytes.length) ?? scan.end();
}

function hasByteOrderMark(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

/** True if JSON text without surrounding white space is an object. */
export function isObjectText(json: Buffer): boolean {
  return json[0] === openObject;
}

export function isEmptyObject(json: Buffer): boolean {
  let at = 1;
  while (isSpace(json[at] ?? 0)) at += 1;
  return isObjectText(json) && json[at] === closeObject;
}

/** Longer values are not parsed at once. */
const maxShownBytes = 64 * 1024;

/** Returns the value of JSON text. If the text is long, returns its beginning as text. */
export function valueOrBeginning(json: Buffer): unknown {
  const written = json.toString('utf8', 0, maxShownBytes);
  if (json.length <= maxShownBytes) return JSON.parse(written);
  return json[0] === quote ? textBegunBy(written) : written;
}

/** Returns the beginning of a text. `written` may end within an escape, which has six letters at most. */
function textBegunBy(written: string): string {
  for (let cut = 0; cut < 6; cut++) {
    try {
      return JSON.parse(`${written.slice(0, written.length - cut)}"`) as string;
    } catch {
      // Tries again with one letter less.
    }
  }
  return '';
}

/** States of the scanner: what may come next. They are numbers, so that a switch over them is a jump. */
const value = 0;
const valueOrEnd = 1;
const nameOrEnd = 2;
const nameNext = 3;
const colon = 4;
const afterValue = 5;
const inText = 6;
const escape = 7;
const hex = 8;
const inWord = 9;
const minus = 10;
const zero = 11;
const digits = 12;
const point = 13;
const fraction = 14;
const exponent = 15;
const exponentSign = 16;
const exponentDigits = 17;
const wrong = -1;
const tooDeep = -2;
const tooMany = -3;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openObject = 0x7b;
const closeObject = 0x7d;
const openArray = 0x5b;
const closeArray = 0x5d;

const words = ['true', 'false', 'null'].map((word) => Buffer.from(word));
const noWord = Buffer.alloc(0);

class Scan {
  readonly #bytes: Buffer;
  readonly #names: readonly string[];
  readonly #maxNameLength: number;
  readonly #limits: JsonLimits;
  readonly #members = new Map<string, Buffer>();
  /** Closing brackets that are due, the innermost last. */
  readonly #open: number[] = [];
  #hasOthers = false;
  #isObject = false;
  #values = 0;
  /** Name of the current member at the top level; undefined if it was not requested. */
  #name: string | undefined;
  #start = 0;
  #isName = false;
  #isEscaped = false;
  #word = noWord;
  /** Number of characters that the current word or `\\u` escape still needs. */
  #left = 0;
  #state = value;
  #at = 0;

  constructor(bytes: Buffer, names: readonly string[], limits: JsonLimits) {
    this.#bytes = bytes;
    this.#names = names;
    this.#maxNameLength = 6 * Math.max(0, ...names.map((name) => name.length));
    this.#limits = limits;
  }

  /** Reads up to `until`. Returns the reason if it cannot go on. */
  read(until: number): NotRead | undefined {
    const bytes = this.#bytes;
    let state = this.#state;
    let at = this.#at;
    while (at < until) {
      const byte = bytes[at] ?? 0;
      if (state === inText) {
        if (byte === quote) state = this.#endText(at + 1);
        else if (byte === backslash) state = escape;
        else if (byte < 0x20) return invalid;
      } else if (state >= minus) {
        state = inNumber(state, byte);
        if (state === wrong) return invalid;
        if (state === afterValue) {
          // The number ended with the byte before this one, which is read again.
          this.#endValue(at);
          continue;
        }
      } else if (state > afterValue || !isSpace(byte)) {
        state = this.#step(state, byte, at);
        if (state < 0) return state === wrong ? invalid : { kind: state === tooDeep ? 'deep' : 'many' };
      }
      at += 1;
    }
    this.#state = state;
    this.#at = at;
    return undefined;
  }

  end(): ScannedJson {
    const isOver =
      this.#state === afterValue || (this.#state >= minus && inNumber(this.#state, comma) === afterValue);
    if (this.#open.length > 0 || !isOver) return invalid;
    if (!this.#isObject) return { kind: 'other' };
    return { kind: 'object', members: this.#members, hasOthers: this.#hasOthers };
  }

  #step(state: number, byte: number, at: number): number {
    switch (state) {
      case valueOrEnd:
        return byte === closeArray ? this.#close(at) : this.#begin(byte, at);
      case value:
        return this.#begin(byte, at);
      case nameOrEnd:
        return byte === closeObject ? this.#close(at) : this.#beginName(byte, at);
      case nameNext:
        return this.#beginName(byte, at);
      case colon:
        return byte === 0x3a ? value : wrong;
      case afterValue: {
        const closing = this.#open.at(-1);
        if (closing === undefined) return wrong;
        if (byte === comma) return closing === closeObject ? nameNext : value;
        return byte === closing ? this.#close(at) : wrong;
      }
      case escape:
        this.#isEscaped = true;
        this.#left = 4;
        return byte === 0x75 ? hex : isEscape(byte) ? inText : wrong;
      case hex:
        this.#left -= 1;
        return !isHex(byte) ? wrong : this.#left > 0 ? hex : inText;
      default:
        if (byte !== this.#word[this.#word.length - this.#left]) return wrong;
        this.#left -= 1;
        return this.#left > 0 ? inWord : this.#endValue(at + 1);
    }
  }

  #begin(byte: number, at: number): number {
    if (this.#open.length <= 1) this.#start = at;
    if (this.#open.length === 0) this.#isObject = byte === openObject;
    this.#values += 1;
    if (this.#values > this.#limits.maxValues) return tooMany;
    this.#isName = false;
    if (byte === quote) return inText;
    if (byte === openObject || byte === openArray) {
      if (this.#open.length === this.#limits.maxDepth) return tooDeep;
      this.#open.push(byte === openObject ? closeObject : closeArray);
      return byte === openObject ? nameOrEnd : valueOrEnd;
    }
    if (byte === 0x2d) return minus;
    if (isDigit(byte)) return byte === 0x30 ? zero : digits;
    this.#word = words.find(([first]) => first === byte) ?? noWord;
    this.#left = this.#word.length - 1;
    return this.#word === noWord ? wrong : inWord;
  }

  #beginName(byte: number, at: number): number {
    this.#isName = true;
    this.#isEscaped = false;
    if (this.#open.length === 1) this.#start = at;
    return byte === quote ? inText : wrong;
  }

  #endText(end: number): number {
    if (!this.#isName) return this.#endValue(end);
    if (this.#open.length === 1) {
      this.#name = this.#nameUntil(end);
      this.#hasOthers ||= this.#name === undefined;
    }
    return colon;
  }

  /** Returns the requested name that ends here, with its quotation marks. Each letter may be written as `\\u0061`. */
  #nameUntil(end: number): string | undefined {
    const length = end - this.#start - 2;
    const plain = this.#names.find(
      (name) => name.length === length && isWritten(name, this.#bytes, this.#start + 1),
    );
    if (!this.#isEscaped || length > this.#maxNameLength) return plain;
    const name = JSON.parse(this.#bytes.toString('utf8', this.#start, end)) as string;
    return this.#names.find((each) => each === name);
  }

  #close(at: number): number {
    this.#open.pop();
    return this.#endValue(at + 1);
  }

  #endValue(end: number): number {
    if (this.#open.length === 1 && this.#name !== undefined)
      this.#members.set(this.#name, this.#bytes.subarray(this.#start, end));
    return afterValue;
  }
}

const invalid = { kind: 'invalid' } as const;

/** Returns the state after `byte` of a number; `afterValue` if the number ended before it. */
function inNumber(state: number, byte: number): number {
  const isE = byte === 0x65 || byte === 0x45;
  switch (state) {
    case minus:
      return byte === 0x30 ? zero : isDigit(byte) ? digits : wrong;
    case zero:
      return byte === 0x2e ? point : isE ? exponent : afterValue;
    case digits:
      return isDigit(byte) ? digits : byte === 0x2e ? point : isE ? exponent : afterValue;
    case point:
      return isDigit(byte) ? fraction : wrong;
    case fraction:
      return isDigit(byte) ? fraction : isE ? exponent : afterValue;
    case exponent:
      return isDigit(byte) ? exponentDigits : byte === 0x2b || byte === 0x2d ? exponentSign : wrong;
    case exponentSign:
      return isDigit(byte) ? exponentDigits : wrong;
    default:
      return isDigit(byte) ? exponentDigits : afterValue;
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function isHex(byte: number): boolean {
  return isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
}

/** True for escapes of one letter: `"\/bfnrt`. */
function isEscape(byte: number): boolean {
  return byte === quote || byte === backslash || '/bfnrt'.includes(String.fromCharCode(byte));
}

function isWritten(name: string, bytes: Buffer, start: number): boolean {
  for (let index = 0; index < name.length; index++)
    if (bytes[start + index] !== name.charCodeAt(index)) return false;
  return true;
}
