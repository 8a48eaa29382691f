/** Finds the prompt by which people recognize a scene. */
import { oneLine } from '../../lib/text/format.ts';
import { isJsonObject, type JsonObject } from '../../lib/text/json.ts';

/**
 * Returns the prompt of the input, else of the row, else the longest text of the input or the row. Undefined
 * if there is no text.
 */
export function promptOf(input: JsonObject, columns: JsonObject): string | undefined {
  return named(input) ?? named(columns) ?? longest(input) ?? longest(columns);
}

/** Name of a scene for people: its id and, if the list has no ids and the id is a hash, its prompt. */
export interface SceneName {
  scene: string;
  /** One line, cut to `maxShownLength` characters. */
  prompt?: string;
}

const maxShownLength = 120;

export function sceneNameOf(scene: { sceneId: string; input: JsonObject; columns: JsonObject }): SceneName {
  const { sceneId, input, columns } = scene;
  if (Object.hasOwn(columns, 'id')) return { scene: sceneId };
  const prompt = oneLine(promptOf(input, columns) ?? '', maxShownLength);
  return { scene: sceneId, ...(prompt !== undefined && { prompt }) };
}

/** Keys of prompts, in order of preference. Case is ignored. */
const names = ['prompt', 'scene', 'text', 'positive_prompt'];

function named(from: JsonObject): string | undefined {
  const texts = textsOf(from);
  return names
    .map((name) => texts.find(([key]) => key.toLowerCase().replace(/^.*\./, '') === name)?.[1])
    .find((text) => text !== undefined);
}

/** Maximum length in characters. Longer texts are files in base64 and not prompts. */
const maxReadLength = 16_000;

function longest(from: JsonObject): string | undefined {
  const texts = textsOf(from).flatMap(([name, text]) =>
    name === 'id' || text.length > maxReadLength ? [] : [text],
  );
  return texts.toSorted((a, b) => b.length - a.length)[0];
}

/** Returns the texts by key. For ComfyUI these are the settings of its workflow, such as `6.text`. */
function textsOf(from: JsonObject): [string, string][] {
  const { workflow, set } = from;
  const texts = typeof workflow === 'string' && isJsonObject(set) ? set : from;
  return Object.entries(texts).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== '',
  );
}
