/** What pictures are called where `output.name` is not set. */
import type { JsonObject } from '../../lib/text/json.ts';
import { portablePath, portableSegment } from './naming.ts';
import { withoutFormat } from './picture-format.ts';
import { promptOf } from './prompt.ts';
import { sceneRules, type RulesVersion } from './scene-rules.ts';

/**
 * What a batch has decided at its first start, for good: by the id alone, or, if the list has no ids, by the words of what is
 * sent; `prompt`: by the column that seemed to be the prompt, as earlier versions named them.
 */
export type DefaultNames = 'id' | 'prompt' | 'sent';

/** A portable path: `harbour.png` for a row with an id, `a-photo-of-a-bench-e52f02.png` for one without. */
export function defaultName(
  { id, columns, input }: { id: string; columns: JsonObject; input: JsonObject },
  names: DefaultNames,
): string {
  const prompt = names === 'sent' ? promptOf(input, {}) : promptOf({}, columns);
  const stem = names === 'id' || Object.hasOwn(columns, 'id') ? id : stemOf(id, prompt ?? '');
  return portablePath(`${portableSegment(stem)}.png`);
}

/** How a batch that begins by these rules names pictures of rows without ids. */
export function wordsOf(rules: RulesVersion): DefaultNames {
  return sceneRules[rules].asksWhichIsSent ? 'sent' : 'prompt';
}

/** By which rule such pictures seem to have been named, those of rows without ids: by the id alone, or by `words`. */
export function namesOf(files: readonly string[], words: DefaultNames): DefaultNames {
  return files.some((file) => /^[0-9a-f]{12}(?:-[^/]*)?$/.test(withoutFormat(file))) ? 'id' : words;
}

/** Of the id that its input gave the row, half of the hash stays, and what tells apart equal rows and expanded ones. */
function stemOf(id: string, prompt: string): string {
  const [, hash, rest = ''] = /^([0-9a-f]{6})[0-9a-f]{6}(-.*)?$/s.exec(id) ?? [];
  const words = slugOf(prompt);
  return hash === undefined || words === '' ? id : `${words}-${hash}${rest}`;
}

/** Characters of a slug at most, and of the text that it is made of. */
const maxSlugLength = 48;
const maxReadLength = 200;

/** `A photo, of a BENCH!` → `a-photo-of-a-bench`: letters and digits of any script, cut between two words where there are some. */
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
