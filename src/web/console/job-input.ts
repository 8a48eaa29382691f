/** A job as people type it: its input in fields or as JSON, and its terms, empty where its endpoint's are good enough. */
import type { EndpointForm } from '../../protocol/console-data.ts';
import type { Problem } from './ask.ts';
import { currentName } from './endpoint-words.ts';

type JobInput = Record<string, unknown>;

type Read<T> = { value: T } | { problems: Problem[] };

/** Whether its workers are ours, so that what they read is known. */
export function hasScene({ quickDeploy }: EndpointForm): boolean {
  return currentName(quickDeploy) === 'scene-renderer';
}

export const nothingTyped = {
  way: 'fields' as 'fields' | 'json',
  fields: { scene: '', seed: '', width: '', height: '' },
  /** Keys of the input that have no field. */
  others: {} as JobInput,
  /** JSON. */
  text: '',
};

export type TypedInput = typeof nothingTyped;

export type InputFields = TypedInput['fields'];

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

/** What goes with the input of a submission. */
interface JobTerms {
  /** Durations in ms. */
  policy?: { executionTimeout?: number; ttl?: number; lowPriority?: true };
  webhook?: string;
}

export const noTerms = { executionTimeout: '', ttl: '', isLowPriority: false, webhook: '' };

export type TypedTerms = typeof noTerms;

export function termsOf(typed: TypedTerms): Read<JobTerms> {
  const problems: Problem[] = [];
  const policy: NonNullable<JobTerms['policy']> = {};
  for (const field of ['executionTimeout', 'ttl'] as const) {
    const text = typed[field].trim();
    if (text === '') continue;
    const ms = durationOf(text);
    if (ms === undefined) problems.push({ field, text: `“${text}” is no duration such as 30s, 10m or 2h.` });
    else policy[field] = ms;
  }
  if (typed.isLowPriority) policy.lowPriority = true;
  const webhook = typed.webhook.trim();
  if (webhook !== '' && !isWebhook(webhook))
    problems.push({ field: 'webhook', text: 'Expected a URL that begins with http:// or https://.' });
  if (problems.length > 0) return { problems };
  return {
    value: { ...(Object.keys(policy).length > 0 && { policy }), ...(webhook !== '' && { webhook }) },
  };
}

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `90s`, `1h 30m`; undefined for what is none, or less than a millisecond. */
function durationOf(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?\s*(ms|s|m|h|d)\s*)+$/.test(text)) return undefined;
  const parts = [...text.matchAll(/([\d.]+)\s*(ms|s|m|h|d)/g)];
  const ms = parts.reduce(
    (sum, [, count, unit]) => sum + Number(count) * unitMs[unit as keyof typeof unitMs],
    0,
  );
  return ms < 1 ? undefined : Math.round(ms);
}

function isWebhook(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
