/** A job's input as people type it: in fields, or as JSON. */
import type { Problem } from './ask.ts';

export interface TypedInput {
  way: 'fields' | 'json';
  fields: InputFields;
  /** Keys of the input that have no field. */
  others: JobInput;
  /** JSON. */
  text: string;
}

export interface InputFields {
  scene: string;
  seed: string;
  width: string;
  height: string;
}

type JobInput = Record<string, unknown>;

type Read<T> = { value: T } | { problems: Problem[] };

export const nothingTyped: TypedInput = {
  way: 'fields',
  fields: { scene: '', seed: '', width: '', height: '' },
  others: {},
  text: '',
};

const numbers = ['seed', 'width', 'height'] as const;

export function inputOf({ way, fields, others, text }: TypedInput): Read<JobInput> {
  return way === 'json' ? readJson(text) : readFields(fields, others);
}

/** What was typed in one way, for the other; of fields all that can be taken over. */
export function turned(typed: TypedInput, way: TypedInput['way']): Read<TypedInput> {
  if (way === typed.way) return { value: typed };
  if (way === 'fields') {
    const input = readJson(typed.text);
    return 'problems' in input ? input : { value: { ...typed, ...fieldsOf(input.value), way } };
  }
  const input = readFields(typed.fields, typed.others);
  const filled = Object.entries(typed.fields).filter(([name, text]) => name === 'scene' || text !== '');
  const value = 'value' in input ? input.value : { ...typed.others, ...Object.fromEntries(filled) };
  return { value: { ...typed, way, text: JSON.stringify(value, null, 2) } };
}

/** Keys that have no field stay as they are; a number left empty is left to the worker. */
function readFields(fields: InputFields, others: JobInput): Read<JobInput> {
  const problems: Problem[] = [];
  const value: JobInput = { scene: fields.scene, ...others };
  if (fields.scene.trim() === '') problems.push({ field: 'scene', text: 'Say what is to be rendered.' });
  for (const name of numbers) {
    const text = fields[name].trim();
    if (text === '') continue;
    if (/^\d{1,15}$/.test(text)) value[name] = Number(text);
    else problems.push({ field: name, text: `“${text}” is not a whole number.` });
  }
  return problems.length > 0 ? { problems } : { value };
}

function readJson(text: string): Read<JobInput> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return { value: value as JobInput };
    return { problems: [{ field: 'json', text: 'Expected an object: { … }.' }] };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { problems: [{ field: 'json', text: `Not valid JSON: ${reason}.` }] };
  }
}

function fieldsOf(input: JobInput): { fields: InputFields; others: JobInput } {
  const { scene, seed, width, height, ...others } = input;
  const fields = { scene: textOf(scene), seed: textOf(seed), width: textOf(width), height: textOf(height) };
  return { fields, others };
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
