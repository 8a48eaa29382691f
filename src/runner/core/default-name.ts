/** What pictures are called where `output.name` is not set. */
import type { JsonObject } from '../../lib/text/json.ts';
import { portablePath, portableSegment } from './naming.ts';
import { withoutFormat } from './picture-format.ts';
import { promptOf } from './prompt.ts';

/**
 * What a batch has decided at its first start, for good: `id`: names by the id alone, as earlier versions gave them;
 * `prompt`: by the words of the prompt, where the list has no ids.
 */
export type DefaultNames = 'id' | 'prompt';

/** A portable path: `harbour.png` for a row with an id, `a-photo-of-a-bench-e52f02.png` for one without. */
export function defaultName(id: string, columns: JsonObject, names: DefaultNames): string {
  const stem = names === 'id' || Object.hasOwn(columns, 'id') ? id : stemOf(id, promptOf({}, columns) ?? '');
  return portablePath(`${portableSegment(stem)}.png`);
}

/** By which rule such pictures seem to have been named, those of rows without ids. */
export function namesOf(files: readonly string[]): DefaultNames {
  return files.some((file) => /^[0-9a-f]{12}(?:-[^/]*)?$/.test(withoutFormat(file))) ? 'id' : 'prompt';
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
