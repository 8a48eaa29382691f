/** An endpoint as it stands in the form: keys of service.yaml, with what was typed for other workloads as well. */
import type { CatalogueEntry, FieldSchema, WorkloadForm } from '../../protocol/console-data.ts';
import type { Problem } from './ask.ts';
import { joinWords, splitWords } from './command-words.ts';

export type Keys = Readonly<Record<string, unknown>>;

/** Props of each part of the form. */
export interface PartProps {
  keys: Keys;
  /** What is to run. */
  workload: WorkloadForm;
  problems: Problem[];
  /** Changes some keys; undefined leaves one out. */
  onChange(change: Keys, workload?: WorkloadForm): void;
}

/** Returns what an endpoint runs; the first workload if its keys do not say. */
export function workloadIn(all: WorkloadForm[], keys: Keys): WorkloadForm {
  const found = all.find(
    ({ key, values }) => keys[key] !== undefined && (values === undefined || values.includes(keys[key])),
  );
  const [first] = all;
  if (first === undefined) throw new Error('the service runs no workload');
  return found ?? first;
}

/** Returns true if an endpoint with this workload and these keys is what a card of the catalogue offers. */
export function isOfCard({ runs }: CatalogueEntry, { key, values }: WorkloadForm, keys: Keys): boolean {
  const [[name, value] = ['', '']] = Object.entries(runs);
  return name === key && (values === undefined ? keys[key] === value : values.includes(value));
}

/** Stands in the place of a value that what was typed does not give; it keeps the form from being sent. */
export class Unreadable {
  readonly why: string;

  constructor(why: string) {
    this.why = why;
  }
}

/** Returns what the service is sent, or what cannot even be sent; all else is for the service to judge. */
export function endpointToSend(keys: Keys, workload: WorkloadForm): Keys | Problem[] {
  const { key, values, cards } = workload;
  const schemas = Object.fromEntries(cards.flatMap(({ fields }) => fields));
  // Sent as an empty object, so that the service names each missing field.
  const empty = schemas[key]?.properties === undefined ? '' : {};
  const chosen = values === undefined ? (keys[key] ?? empty) : keys[key];
  const given: Keys = { ...keys, [key]: chosen };
  const sent = ['name', 'id', key, ...shownKeys(workload)];
  const form = Object.fromEntries(sent.map((name) => [name, given[name]]));
  const problems = unreadableIn(form, []);
  return problems.length > 0 ? problems : form;
}

/** Returns the keys that have a field. */
export function shownKeys({ cards }: WorkloadForm): string[] {
  return cards.flatMap(({ fields }) => fields.map(([key]) => key));
}

function unreadableIn(value: unknown, path: string[]): Problem[] {
  if (value instanceof Unreadable) return [{ field: path.join('.'), text: value.why }];
  return isSection(value)
    ? Object.entries(value).flatMap(([key, inner]) => unreadableIn(inner, [...path, key]))
    : [];
}

/** A value with keys of its own; nothing for any other. */
export function sectionOf(value: unknown): Keys {
  return isSection(value) ? value : {};
}

export function isSection(value: unknown): value is Keys {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Undefined where nothing is left in it. */
export function withKey(section: Keys, key: string, value: unknown): Keys | undefined {
  const all = Object.entries({ ...section, [key]: value }).filter(([, each]) => each !== undefined);
  return all.length === 0 ? undefined : Object.fromEntries(all);
}

/** What is wrong at a path or within it. */
export function problemAt(problems: Problem[], ...paths: string[]): string {
  const found = problems.filter(({ field }) =>
    paths.some((path) => field === path || field.startsWith(`${path}.`)),
  );
  // A variable has no field of its own.
  const whose = (field: string): string => /^environment\.(.*)/.exec(field)?.[1]?.concat(': ') ?? '';
  return found.map(({ field, text }) => `${whose(field)}${text}`).join(' ');
}

/** Between a value and how it is typed. */
export interface Typed {
  inputMode?: 'decimal';
  /** Lines of text; one where left out. */
  rows?: number;
  hint?: string;
  /** Undefined where nothing was typed. */
  read(text: string): unknown;
  show(value: unknown): string;
}

/** What is no number is for the service to refuse. */
const numeric: Typed = {
  inputMode: 'decimal',
  read: (text) => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text || undefined),
  show: String,
};

const words: Typed = {
  hint: 'Quote what has spaces.',
  read: (text) => (text === '' ? undefined : (splitWords(text) ?? new Unreadable('A quote is not closed.'))),
  show: (value) => (Array.isArray(value) ? joinWords(value.map(String)) : ''),
};

export const list: Typed = {
  hint: 'Separated by commas.',
  read: (text) => text.split(/[\s,]+/).filter((each) => each !== ''),
  show: (value) => (Array.isArray(value) ? value.join(', ') : ''),
};

/** As in a file of variables: a value may be quoted, and one of several lines is. */
const variables: Typed = {
  rows: 4,
  hint: 'One a line, as NAME=value. Everybody who can open this console can read them.',
  read: readVariables,
  show: (value) => Object.entries(sectionOf(value)).map(variableLine).join('\n'),
};

function readVariables(text: string): unknown {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const given = lines.map((line) => /^\s*(?:export\s+)?([^=]*?)\s*=(.*)$/.exec(line)?.slice(1) ?? [line]);
  const names = given.map(([name = '']) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  const [lone] = given.find((parts) => parts.length === 1) ?? [];
  if (lone !== undefined) return new Unreadable(`“${lone}” is no NAME=value.`);
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
  return types.has('array') ? words : plain;
}

export function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** What stands in an address, made of a name: `My renderer (2)` becomes `my-renderer-2`. */
export function idFromName(name: unknown): string {
  const text = typeof name === 'string' ? name : '';
  const plainName = text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  return plainName
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 64)
    .replaceAll(/^-+|-+$/g, '');
}
