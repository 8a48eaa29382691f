/** The state of the endpoint form: keys of service.yaml, also of workloads no longer chosen, and their texts in fields. */
import type { CatalogueEntry, FieldSchema, WorkloadForm } from '../../protocol/console-data.ts';
import type { Problem } from './ask.ts';

export type Keys = Readonly<Record<string, unknown>>;

/** Props of each part of the form. */
export interface PartProps {
  keys: Keys;
  workload: WorkloadForm;
  problems: Problem[];
  /** Changes keys; undefined removes a key. */
  onChange(change: Keys, workload?: WorkloadForm): void;
}

/** Returns the workload of an endpoint, or the first one if no key names any. */
export function workloadIn(all: WorkloadForm[], keys: Keys): WorkloadForm {
  const found = all.find(
    ({ key, values }) => keys[key] !== undefined && (values === undefined || values.includes(keys[key])),
  );
  const [first] = all;
  if (first === undefined) throw new Error('the service runs no workload');
  return found ?? first;
}

/** True if a card of the catalogue offers this workload with this value. */
export function isOfCard({ runs }: CatalogueEntry, { key, values }: WorkloadForm, keys: Keys): boolean {
  const [[name, value] = ['', '']] = Object.entries(runs);
  return name === key && (values === undefined ? keys[key] === value : values.includes(value));
}

/** Replaces a value whose text cannot be read. The form cannot be sent while it contains one. */
class Unreadable {
  readonly why: string;

  constructor(why: string) {
    this.why = why;
  }
}

/** Returns the keys to send, or problems of unreadable values. The service validates everything else. */
export function endpointToSend(keys: Keys, workload: WorkloadForm): Keys | Problem[] {
  const { key, values, cards } = workload;
  const schemas = Object.fromEntries(cards.flatMap(({ fields }) => fields));
  // An empty object lets the service report each missing field.
  const empty = schemas[key]?.properties === undefined ? '' : {};
  const chosen = values === undefined ? (keys[key] ?? empty) : keys[key];
  const given: Keys = { ...keys, [key]: chosen };
  const sent = ['name', 'id', key, ...shownKeys(workload)];
  const form = Object.fromEntries(sent.map((name) => [name, given[name]]));
  const problems = unreadableIn(form, []);
  return problems.length > 0 ? problems : form;
}

/** Returns the keys of a workload that have a field. */
export function shownKeys({ cards }: WorkloadForm): string[] {
  return cards.flatMap(({ fields }) => fields.map(([key]) => key));
}

function unreadableIn(value: unknown, path: string[]): Problem[] {
  if (value instanceof Unreadable) return [{ field: path.join('.'), text: value.why }];
  return isSection(value)
    ? Object.entries(value).flatMap(([key, inner]) => unreadableIn(inner, [...path, key]))
    : [];
}

/** Returns the value if it has keys of its own, else an empty object. */
export function sectionOf(value: unknown): Keys {
  return isSection(value) ? value : {};
}

export function isSection(value: unknown): value is Keys {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns a section with a changed key. Undefined if no keys are left. */
export function withKey(section: Keys, key: string, value: unknown): Keys | undefined {
  const all = Object.entries({ ...section, [key]: value }).filter(([, each]) => each !== undefined);
  return all.length === 0 ? undefined : Object.fromEntries(all);
}

/** Returns the text of all problems at or below the paths. */
export function problemAt(problems: Problem[], ...paths: string[]): string {
  const found = problems.filter(({ field }) =>
    paths.some((path) => field === path || field.startsWith(`${path}.`)),
  );
  // A variable has no field of its own, so its name precedes the text.
  const whose = (field: string): string => /^environment\.(.*)/.exec(field)?.[1]?.concat(': ') ?? '';
  return found.map(({ field, text }) => `${whose(field)}${text}`).join(' ');
}

/** Converts between a value and its text in a field. */
interface Typed {
  inputMode?: 'decimal';
  /** Number of lines. Default: 1. */
  rows?: number;
  hint?: string;
  /** Returns the value, or undefined for an empty text. */
  read(text: string): unknown;
  show(value: unknown): string;
}

/** A text that isn't a number is kept as it is, for the service to refuse. */
const numeric: Typed = {
  inputMode: 'decimal',
  read: (text) => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text || undefined),
  show: String,
};

const wordList: Typed = {
  hint: 'Put quotes around arguments that contain spaces.',
  read: (text) => (text === '' ? undefined : (splitWords(text) ?? new Unreadable('A quote is not closed.'))),
  show: (value) => (Array.isArray(value) ? joinWords(value.map(String)) : ''),
};

export const list: Typed = {
  hint: 'Separated by commas.',
  read: (text) => text.split(/[\s,]+/).filter((each) => each !== ''),
  show: (value) => (Array.isArray(value) ? value.join(', ') : ''),
};

/** Variables as in an .env file. Values may be quoted; values of several lines are. */
const variables: Typed = {
  rows: 4,
  hint: 'One per line, as NAME=value. Everyone who can open this console can read them.',
  read: readVariables,
  show: (value) => Object.entries(sectionOf(value)).map(variableLine).join('\n'),
};

function readVariables(text: string): unknown {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const given = lines.map((line) => /^\s*(?:export\s+)?([^=]*?)\s*=(.*)$/.exec(line)?.slice(1) ?? [line]);
  const names = given.map(([name = '']) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  const [lone] = given.find((parts) => parts.length === 1) ?? [];
  if (lone !== undefined) return new Unreadable(`“${lone}” is not NAME=value.`);
  if (names.includes('')) return new Unreadable('A value has no name.');
  if (twice !== undefined) return new Unreadable(`${twice} is given twice.`);
  const all = given.map(([name = '', value = '']) => [name, unquoted(value)]);
  return all.length === 0 ? undefined : Object.fromEntries(all);
}

function variableLine([name, value]: [string, unknown]): string {
  const text = String(value);
  return `${name}=${/[\n"]|^\s|\s$/.test(text) ? JSON.stringify(text) : text}`;
}

function unquoted(text: string): string {
  if (!/^".*"\s*$/.test(text)) return text;
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}

const plain: Typed = { read: (text) => text || undefined, show: String };

export function typedAs({ type, anyOf, properties }: FieldSchema): Typed {
  const types = new Set([type, ...(anyOf ?? []).map((each) => each.type)]);
  if (type === 'object' && properties === undefined) return variables;
  if (types.has('integer') || types.has('number')) return numeric;
  return types.has('array') ? wordList : plain;
}

export function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/**
 * Returns the words of a line, with the quotes and backslashes of a shell but no expansions. Undefined if a
 * quote is not closed.
 */
export function splitWords(line: string): string[] | undefined {
  const words: string[] = [];
  const word = /\s+|((?:[^\s'"\\]|\\[^]|'[^']*'|"(?:[^"\\]|\\[^])*")+)/y;
  while (word.lastIndex < line.length) {
    const match = word.exec(line);
    if (match === null) return undefined;
    if (match[1] !== undefined) words.push(withoutQuotes(match[1]));
  }
  return words;
}

/** Quotes words so that `splitWords` returns the same ones. */
export function joinWords(words: string[]): string {
  return words
    .map((word) => (/^[\w./:@%+,=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))
    .join(' ');
}

function withoutQuotes(word: string): string {
  return word.replaceAll(
    /'([^']*)'|"((?:[^"\\]|\\[^])*)"|\\([^])/g,
    (_, single?: string, double?: string, escaped?: string) =>
      single ?? double?.replaceAll(/\\(["\\$`])/g, '$1') ?? escaped ?? '',
  );
}
