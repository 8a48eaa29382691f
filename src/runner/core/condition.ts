/** Conditions on the values of a scene, such as `score >= 0.6 and season = 'spring'`. */
import { didYouMean } from '../../lib/text/closest.ts';
import type { JsonValue } from '../../lib/text/json.ts';

/** Thrown if a condition cannot be parsed. The message says why, and at which character. */
export class ConditionError extends Error {}

/** Returns the value of a name; undefined or null if the scene has no such value. */
type ValueOf = (name: string) => JsonValue | undefined;

/** Evaluates a condition. Undefined if the result depends on a value that the scene does not have. */
type Condition = (valueOf: ValueOf) => boolean | undefined;

/**
 * Compiles comparisons (`=`, `!=`, `<`, `<=`, `>`, `>=`, `contains`) joined by `and`, `or`, `not` and
 * parentheses; `and` binds tighter than `or`. Names must be in `known`, and stand in square brackets unless
 * they are plain words. Texts stand in quotes. Throws `ConditionError`.
 */
export function compileCondition(text: string, known: readonly string[]): Condition {
  return new Parser(tokensOf(text), known).whole();
}

interface Token {
  kind: (typeof shapes)[number][0] | 'end';
  /** Text of the token. A quoted text or bracketed name is without its quotes or brackets. */
  text: string;
  at: number;
}

const words = new Set(['and', 'or', 'not', 'contains', 'true', 'false']);

const shapes = [
  ['operator', /(?:<=|>=|!=|<>|==|[=<>()])/y],
  ['number', /[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\p{L}\p{N}_.])/uy],
  ['text', /'(?:[^']|'')*'|"(?:[^"]|"")*"/y],
  ['name', /\[(?:[^\]]|\]\])+\]/y],
  ['word', /[\p{L}\p{N}_][\p{L}\p{M}\p{N}_.-]*/uy],
] as const;

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  for (;;) {
    at = text.length - text.slice(at).trimStart().length;
    if (at === text.length) return [...tokens, { kind: 'end', text: '', at: at + 1 }];
    const token = tokenAt(text, at);
    if (token === undefined) throw new ConditionError(whyNoToken(text.slice(at), at + 1));
    tokens.push({ kind: token.kind, text: contentOf(token), at: at + 1 });
    at += token.text.length;
  }
}

function tokenAt(text: string, at: number): Omit<Token, 'at'> | undefined {
  for (const [kind, shape] of shapes) {
    shape.lastIndex = at;
    const found = shape.exec(text)?.[0];
    if (found === undefined) continue;
    return { kind: kind === 'word' && !words.has(found.toLowerCase()) ? 'name' : kind, text: found };
  }
  return undefined;
}

function contentOf({ kind, text }: Omit<Token, 'at'>): string {
  if (kind === 'text') return text.slice(1, -1).replaceAll(text[0] === "'" ? "''" : '""', text[0] ?? '');
  if (kind === 'word') return text.toLowerCase();
  return kind === 'name' && text.startsWith('[') ? text.slice(1, -1).replaceAll(']]', ']') : text;
}

const otherLanguages: Record<string, string> = { '&': 'and', '|': 'or', '!': 'not', '~': 'contains' };

function whyNoToken(rest: string, at: number): string {
  const sign = rest.slice(0, 1);
  if (sign === "'" || sign === '"') return `the quote at character ${at} is not closed`;
  if (sign === '[') return `the [ at character ${at} is not closed`;
  if (/^[‘’“”]/.test(sign)) return `${sign} at character ${at} is a typographic quote; write ' or "`;
  const meant = otherLanguages[sign];
  return `${sign} at character ${at} is not understood${meant === undefined ? '' : `; write ${meant}`}`;
}

interface Operand {
  token: Token;
  valueIn: (valueOf: ValueOf) => JsonValue | undefined;
}

/** Nesting depth of `not` and parentheses. */
const maxDepth = 100;

class Parser {
  readonly #tokens: Token[];
  readonly #known: readonly string[];
  #next = 0;

  constructor(tokens: Token[], known: readonly string[]) {
    this.#tokens = tokens;
    this.#known = known;
  }

  whole(): Condition {
    if (this.#peek().kind === 'end') throw new ConditionError('it is empty');
    const holds = this.#alternatives();
    if (this.#peek().kind !== 'end')
      throw unexpected(this.#peek(), '`and`, `or` or the end of the condition');
    return holds;
  }

  #peek(): Token {
    return this.#tokens[this.#next] as Token;
  }

  #take(): Token {
    const token = this.#peek();
    this.#next += 1;
    return token;
  }

  #takes(text: string): boolean {
    const { kind, text: found } = this.#peek();
    const isIt = (kind === 'word' || kind === 'operator') && found === text;
    if (isIt) this.#next += 1;
    return isIt;
  }

  #alternatives(depth = 0): Condition {
    const all = [this.#conjunction(depth)];
    while (this.#takes('or')) all.push(this.#conjunction(depth));
    return decidedBy(true, all);
  }

  #conjunction(depth: number): Condition {
    const all = [this.#negation(depth)];
    while (this.#takes('and')) all.push(this.#negation(depth));
    return decidedBy(false, all);
  }

  #negation(depth: number): Condition {
    if (depth > maxDepth) throw new ConditionError(`it has more than ${maxDepth} brackets within each other`);
    if (this.#takes('not')) {
      const holds = this.#negation(depth + 1);
      return (valueOf) => opposite(holds(valueOf));
    }
    if (!this.#takes('(')) return this.#comparison();
    const holds = this.#alternatives(depth + 1);
    if (!this.#takes(')')) throw unexpected(this.#peek(), ')');
    return holds;
  }

  #comparison(): Condition {
    const left = this.#operand();
    const sign = this.#take();
    const compare = sign.kind === 'operator' || sign.kind === 'word' ? comparisons[sign.text] : undefined;
    if (compare === undefined) throw unexpected(sign, '=, !=, <, <=, >, >= or contains');
    const right = this.#operand();
    const kinds = [left.token.kind, right.token.kind];
    const as = kinds.includes('number')
      ? 'numbers'
      : kinds.every((kind) => kind === 'name')
        ? 'either'
        : 'texts';
    return (valueOf) => compare(left.valueIn(valueOf), right.valueIn(valueOf), as);
  }

  #operand(): Operand {
    const token = this.#take();
    const fixed = fixedValue(token);
    if (fixed !== undefined) return { token, valueIn: () => fixed };
    if (token.kind !== 'name') throw unexpected(token, 'a name, a number or a text in quotes');
    const { text } = token;
    if (!this.#known.includes(text)) throw new ConditionError(this.#whyUnknown(token));
    return { token, valueIn: (valueOf) => valueOf(text) };
  }

  #whyUnknown({ text, at }: Token): string {
    const before = this.#tokens[this.#next - 2];
    const isRight = before !== undefined && comparisons[before.text] !== undefined;
    const asText = isRight ? `for a text, write '${text}'` : `known are ${this.#known.join(', ')}`;
    return `${JSON.stringify(text)} at character ${at} is no column; ${didYouMean(text, this.#known) ?? asText}`;
  }
}

function fixedValue({ kind, text }: Token): string | number | undefined {
  if (kind === 'number') return Number(text);
  return kind === 'text' || (kind === 'word' && /^(?:true|false)$/.test(text)) ? text : undefined;
}

function unexpected({ kind, text, at }: Token, expected: string): ConditionError {
  const found = kind === 'end' ? 'the end' : JSON.stringify(text);
  return new ConditionError(`${found} at character ${at} is not expected there; expected ${expected}`);
}

/** Combines conditions by `or` (`decides`) or `and`. Undefined if a value is missing and no other decides. */
function decidedBy(decides: boolean, all: Condition[]): Condition {
  const [only, ...more] = all;
  if (only !== undefined && more.length === 0) return only;
  return (valueOf) => {
    let result: boolean | undefined = !decides;
    for (const holds of all) {
      const each = holds(valueOf);
      if (each === decides) return decides;
      if (each === undefined) result = undefined;
    }
    return result;
  };
}

function opposite(result: boolean | undefined): boolean | undefined {
  return result === undefined ? undefined : !result;
}

type As = 'numbers' | 'texts' | 'either';

type Compare = (left: JsonValue | undefined, right: JsonValue | undefined, as: As) => boolean | undefined;

const comparisons: Record<string, Compare | undefined> = {
  '=': ordered((order) => order === 0),
  '==': ordered((order) => order === 0),
  '!=': ordered((order) => order !== 0),
  '<>': ordered((order) => order !== 0),
  '<': ordered((order) => order < 0),
  '<=': ordered((order) => order <= 0),
  '>': ordered((order) => order > 0),
  '>=': ordered((order) => order >= 0),
  contains: (left, right) => (hasNoValue(left) || hasNoValue(right) ? undefined : containsText(left, right)),
};

function ordered(test: (order: number) => boolean): Compare {
  return (left, right, as) => {
    if (hasNoValue(left) || hasNoValue(right)) return undefined;
    const [a, b] = as === 'texts' ? [] : [numberOf(left), numberOf(right)];
    if (a !== undefined && b !== undefined) return test(a - b);
    if (as === 'numbers') return undefined;
    const [from, to] = [textOf(left), textOf(right)];
    return test(from === to ? 0 : from < to ? -1 : 1);
  };
}

/** Compares with each element of a list, or searches within a text. Ignores case. */
function containsText(value: JsonValue, part: JsonValue): boolean {
  const wanted = textOf(part).toLowerCase();
  if (Array.isArray(value)) return value.some((each) => textOf(each).toLowerCase() === wanted);
  return textOf(value).toLowerCase().includes(wanted);
}

function hasNoValue(value: JsonValue | undefined): value is null | undefined {
  return value === undefined || value === null;
}

function textOf(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Returns the value if it is a number, or the number that its text represents. Undefined if there is none. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  const isNumber = typeof value === 'string' && /^\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?\s*$/i.test(value);
  return isNumber ? Number(value) : undefined;
}

/** Names that every scene has, whatever the columns of its list. */
export const sceneNames = [
  'id',
  'state',
  'kind',
  'attempts',
  'prompt',
  'seed',
  'labelled_words',
  'ignored_words',
] as const;

/** Returns the name of a column in conditions, `manifest.<column>` if scenes have that name already. */
export function conditionName(column: string): string {
  return sceneNames.some((name) => name === column) ? `manifest.${column}` : column;
}

/** Returns the name of a value that came with a picture. It begins with `output.` if a column (in lower case) has the name. */
export function outputName(name: string, columns: ReadonlySet<string>): string {
  return columns.has(name) ? outputName(`output.${name}`, columns) : name;
}

const plainWord = /^(?!(?:and|or|not|contains|true|false)$)[\p{L}_][\p{L}\p{M}\p{N}_.-]*$/iu;

/** Returns the name as it is written in a condition: in square brackets unless it is a plain word. */
export function quotedName(name: string): string {
  return plainWord.test(name) ? name : `[${name.replaceAll(']', ']]')}]`;
}
