/** File names of pictures if `output.name` is not set. */
import type { JsonObject } from '../../lib/text/json.ts';
import { portablePath, portableSegment } from './naming.ts';
import { withoutFormat } from './picture-format.ts';
import { promptOf } from './prompt.ts';
import { sceneRules, type RulesVersion } from './scene-rules.ts';

/**
 * Naming scheme that a batch fixes at its first start. `id` uses the id alone. `sent` uses the words of the
 * input if the list has no ids. `prompt` is the scheme of earlier versions: words of the column that seems to
 * be the prompt.
 */
export type DefaultNames = 'id' | 'prompt' | 'sent';

/** Returns a portable path: `harbour.png` for a row with an id, `a-photo-of-a-bench-e52f02.png` for a row without. */
export function defaultName(
  { id, columns, input }: { id: string; columns: JsonObject; input: JsonObject },
  names: DefaultNames,
): string {
  const prompt = names === 'sent' ? promptOf(input, {}) : promptOf({}, columns);
  const stem = names === 'id' || Object.hasOwn(columns, 'id') ? id : stemOf(id, prompt ?? '');
  return portablePath(`${portableSegment(stem)}.png`);
}

/** Returns the naming scheme for rows without ids in a batch that begins with these rules. */
export function wordsOf(rules: RulesVersion): DefaultNames {
  return sceneRules[rules].asksWhichIsSent ? 'sent' : 'prompt';
}

/**
 * Guesses the naming scheme from existing files of rows without ids: `id` if a name is a bare hash, otherwise
 * `words`.
 */
export function namesOf(files: readonly string[], words: DefaultNames): DefaultNames {
  return files.some((file) => /^[0-9a-f]{12}(?:-[^/]*)?$/.test(withoutFormat(file))) ? 'id' : words;
}

/**
 * Shortens an id made from a hash to the prompt's words and half of the hash. The ending that distinguishes
 * equal rows and expanded rows stays.
 */
function stemOf(id: string, prompt: string): string {
  const [, hash, rest = ''] = /^([0-9a-f]{6})[0-9a-f]{6}(-.*)?$/s.exec(id) ?? [];
  const words = slugOf(prompt);
  return hash === undefined || words === '' ? id : `${words}-${hash}${rest}`;
}

/** Maximum length of a slug, and of the text that it is made from, in characters. */
const maxSlugLength = 48;
const maxReadLength = 200;

/**
 * Turns `A photo, of a BENCH!` into `a-photo-of-a-bench`. Keeps letters and digits of any script, and cuts
 * between words if possible.
 */
export function slugOf(text: string): string {
  const words = text
    .slice(0, maxReadLength)
    .normalize('NFC')
    .toLowerCase()
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => word !== '');
  let slug = '';
  for (const word of words) {
    const longer = slug === '' ? word : `${slug}-${word}`;
    if (longer.length > maxSlugLength) return slug || longer.slice(0, maxSlugLength);
    slug = longer;
  }
  return slug;
}
