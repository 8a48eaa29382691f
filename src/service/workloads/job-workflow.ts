/** The workflow of an endpoint, read from its file, and filled with a job's input. */
import { readFileSync } from 'node:fs';
import { readWorkflow, type Workflow } from '../../protocol/comfyui-workflow.ts';
import { didYouMean } from '../../lib/text/closest.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

/** By `node.input`: values, or texts with placeholders such as `{{ prompt }}`, which are keys of a job's input. */
export type WorkflowSet = Record<string, string | number | boolean>;

/** `problem` follows the path. */
export function workflowAt(path: string): { workflow: Workflow } | { problem: string } {
  try {
    return readWorkflow(readFileSync(path, 'utf8'));
  } catch {
    return { problem: 'is not a file that can be read' };
  }
}

/** What is set, by `node.input`; what needs a key that `input` lacks is left as the workflow has it. Throws a text for people. */
export function valuesFor(set: WorkflowSet, input: unknown): JsonObject {
  const given = isJsonObject(input) ? input : {};
  const known = [...new Set(Object.values(set).flatMap(keysIn))];
  for (const [key, value] of Object.entries(given)) {
    const named = JSON.stringify(key);
    if (!known.includes(key))
      throw new Error(`the input has ${named}; ${didYouMean(key, known) ?? `expected ${listed(known)}`}`);
    // A list would be taken for a link to another node.
    if (typeof value === 'object') throw new Error(`${named} of the input is no text, number, true or false`);
  }
  const isGiven = (text: WorkflowSet[string]): boolean =>
    keysIn(text).every((key) => Object.hasOwn(given, key));
  const filled = Object.entries(set).filter(([, text]) => isGiven(text));
  return Object.fromEntries(filled.map(([key, text]) => [key, valueOf(text, given)]));
}

const placeholder = /\{\{\s*([\w-]+)\s*\}\}/g;

/** Whether nothing in it looks like a placeholder and is none. */
export function hasOnlyKeys(text: string): boolean {
  return !/\{\{|\}\}/.test(text.replaceAll(placeholder, ''));
}

function keysIn(text: WorkflowSet[string]): string[] {
  return typeof text === 'string' ? [...text.matchAll(placeholder)].map(([, key = '']) => key) : [];
}

/** A placeholder that is the whole text stands for the value as it is. */
function valueOf(text: WorkflowSet[string], given: JsonObject): JsonValue {
  if (typeof text !== 'string') return text;
  const whole = /^\{\{\s*([\w-]+)\s*\}\}$/.exec(text)?.[1];
  if (whole !== undefined) return given[whole] ?? '';
  return text.replaceAll(placeholder, (_, name: string) => `${given[name] as string | number | boolean}`);
}

function listed(known: string[]): string {
  return known.length === 0 ? 'none: nothing of the workflow is set from it' : known.join(', ');
}
