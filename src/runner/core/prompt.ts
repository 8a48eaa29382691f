/** The words of a scene that people know it by. */
import { oneLine } from '../../lib/text/format.ts';
import { isJsonObject, type JsonObject } from '../../lib/text/json.ts';

/**
 * What its input calls its prompt, else its row; else the longest text that is sent, or stands in the row. Undefined where
 * there is none.
 */
export function promptOf(input: JsonObject, columns: JsonObject): string | undefined {
  return named(input) ?? named(columns) ?? longest(input) ?? longest(columns);
}

/** What people read of a scene: its id, and where the list has none, so that the id is a hash, its prompt. */
export interface SceneName {
  scene: string;
  /** On one line, cut to `maxShownLength` characters. */
  prompt?: string;
}

const maxShownLength = 120;

export function sceneNameOf(scene: { sceneId: string; input: JsonObject; columns: JsonObject }): SceneName {
  const { sceneId, input, columns } = scene;
  if (Object.hasOwn(columns, 'id')) return { scene: sceneId };
  const prompt = oneLine(promptOf(input, columns) ?? '', maxShownLength);
  return { scene: sceneId, ...(prompt !== undefined && { prompt }) };
}

/** In any case; of several the first counts. */
const names = ['prompt', 'scene', 'text', 'positive_prompt'];

function named(from: JsonObject): string | undefined {
  const texts = textsOf(from);
  return names
    .map((name) => texts.find(([key]) => key.toLowerCase().replace(/^.*\./, '') === name)?.[1])
    .find((text) => text !== undefined);
}

/** Characters. Longer texts are files sent as base64 rather than anything that is read. */
const maxReadLength = 16_000;

function longest(from: JsonObject): string | undefined {
  const texts = textsOf(from).flatMap(([name, text]) =>
    name === 'id' || text.length > maxReadLength ? [] : [text],
  );
  return texts.toSorted((a, b) => b.length - a.length)[0];
}

/** Of what ComfyUI is sent, what is set in its workflow, as `6.text`. */
function textsOf(from: JsonObject): [string, string][] {
  const { workflow, set } = from;
  const texts = typeof workflow === 'string' && isJsonObject(set) ? set : from;
  return Object.entries(texts).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== '',
  );
}
