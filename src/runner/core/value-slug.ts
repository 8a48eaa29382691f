/** A value as a part of a scene's id: readable where it is short and plain, told apart by a hash where not. */
import { hash } from 'node:crypto';
import { canonicalJson, type JsonValue } from '../../lib/text/json.ts';

/** Longer texts are told apart by their hash. */
const longestPlain = 32;
const longestHead = 24;

/** In lower case, since file systems take `Oil` and `oil` for one name; no underscore, which stands for a space. */
const plainText = /^[a-z0-9]+(?:[. ][a-z0-9]+)*$/;

/** What numbers and booleans look like here: a text that does, too, gets a hash. */
const like = /^(?:m?\d+(?:\.\d+)?|true|false)$/;

/**
 * Of lower-case letters, digits, `.`, `_` and `~`, never `-`, and of one value alone, whatever else is in its list:
 * `oil painting` is `oil_painting`, 25 is `25`, -0.5 is `m0.5`, and `Oil` and `"25"` end in `~` and a hash.
 */
export function valueSlug(value: JsonValue): string {
  if (typeof value === 'string') {
    const isPlain = value.length <= longestPlain && plainText.test(value) && !like.test(value);
    return isPlain ? value.replaceAll(' ', '_') : hashed(value, value);
  }
  const text = canonicalJson(value);
  const slug = text.replace('-', 'm');
  return like.test(slug) ? slug : hashed(text, value);
}

function hashed(text: string, value: JsonValue): string {
  const words = text
    .slice(0, 4 * longestHead)
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_');
  const head = words.slice(0, longestHead).replace(/^_+/, '').replace(/_+$/, '') || 'v';
  return `${head}~${hash('sha256', canonicalJson(value)).slice(0, 10)}`;
}
