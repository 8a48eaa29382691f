/** Reads the workflow of an endpoint, and computes the values that a job's input sets in it. */
import { readFileSync } from 'node:fs';
import { readWorkflow, type Workflow } from '../../protocol/comfyui-workflow.ts';
import { didYouMean } from '../../lib/text/closest.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

/** Values by `node.input`. Placeholders such as `{{ prompt }}` in texts stand for keys of a job's input. */
export type WorkflowSet = Record<string, string | number | boolean>;

/** Reads a workflow. `problem` is the end of a sentence that starts with the path. */
export function workflowAt(path: string): { workflow: Workflow } | { problem: string } {
  try {
    return readWorkflow(readFileSync(path, 'utf8'));
  } catch {
    return { problem: 'is not a file that can be read' };
  }
}

/** Returns the values to set, without texts whose key `input` lacks. Throws with a message for the client. */
export function valuesFor(set: WorkflowSet, input: unknown): JsonObject {
  const given = isJsonObject(input) ? input : {};
  const known = [...new Set(Object.values(set).flatMap(keysIn))];
  for (const [key, value] of Object.entries(given)) {
    const named = JSON.stringify(key);
    if (!known.includes(key))
      throw new Error(`the input has ${named}; ${didYouMean(key, known) ?? `expected ${listed(known)}`}`);
    // ComfyUI would read a list as a link to another node.
    if (typeof value === 'object')
      throw new Error(`${named} of the input is not a text, number, true or false`);
  }
  const isGiven = (text: WorkflowSet[string]): boolean =>
    keysIn(text).every((key) => Object.hasOwn(given, key));
  const filled = Object.entries(set).filter(([, text]) => isGiven(text));
  return Object.fromEntries(filled.map(([key, text]) => [key, valueOf(text, given)]));
}

const placeholder = /\{\{\s*([\w-]+)\s*\}\}/g;

/** True if all double braces in the text belong to valid placeholders. */
export function hasOnlyKeys(text: string): boolean {
  return !/\{\{|\}\}/.test(text.replaceAll(placeholder, ''));
}

function keysIn(text: WorkflowSet[string]): string[] {
  return typeof text === 'string' ? [...text.matchAll(placeholder)].map(([, key = '']) => key) : [];
}

/** Fills a text. If the text is one placeholder and nothing else, the value keeps its type. */
function valueOf(text: WorkflowSet[string], given: JsonObject): JsonValue {
  if (typeof text !== 'string') return text;
  const whole = /^\{\{\s*([\w-]+)\s*\}\}$/.exec(text)?.[1];
  if (whole !== undefined) return given[whole] ?? '';
  return text.replaceAll(placeholder, (_, name: string) => `${given[name] as string | number | boolean}`);
}

function listed(known: string[]): string {
  return known.length === 0 ? 'none: nothing of the workflow is set from it' : known.join(', ');
}
