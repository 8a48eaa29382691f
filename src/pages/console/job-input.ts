/** A job's input as people type it: in fields, or as JSON. */

export interface InputFields {
  scene: string;
  seed: string;
  width: string;
  height: string;
}

export type JobInput = Record<string, unknown>;

export type Read<T> = { value: T } | { problems: { field: string; text: string }[] };

const numbers = ['seed', 'width', 'height'] as const;

/** Keys that have no field stay as they are in `others`; a number left empty is left to the worker. */
export function inputOf(fields: InputFields, others: JobInput): Read<JobInput> {
  const problems: { field: string; text: string }[] = [];
  const value: JobInput = { ...others };
  if (fields.scene.trim() === '') problems.push({ field: 'scene', text: 'Say what is to be rendered.' });
  else value['scene'] = fields.scene;
  for (const name of numbers) {
    const text = fields[name].trim();
    if (text === '') continue;
    if (/^\d{1,15}$/.test(text)) value[name] = Number(text);
    else problems.push({ field: name, text: `“${text}” is not a whole number.` });
  }
  return problems.length > 0 ? { problems } : { value };
}

export function readInput(text: string): Read<JobInput> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return { value: value as JobInput };
    return { problems: [{ field: 'json', text: 'It has to be an object: { … }.' }] };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { problems: [{ field: 'json', text: `This is no JSON: ${reason}.` }] };
  }
}

/** What has a field, and the rest. */
export function fieldsOf(input: JobInput): { fields: InputFields; others: JobInput } {
  const { scene, seed, width, height, ...others } = input;
  const fields = { scene: textOf(scene), seed: textOf(seed), width: textOf(width), height: textOf(height) };
  return { fields, others };
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
