/** Base64 to bytes, strictly: Node's own decoder skips what it does not know and never complains. */
import { nameOfText } from './recognise.ts';

type Decoded = { bytes: Buffer } | { problem: string };

const dataUri = /^\s*data:([^;,]{0,200})([^,]{0,200}),/i;

/** Base64 of the standard or the URL-safe alphabet, with its padding or without; a `data:image/…;base64,` prefix and white space are left aside. */
export function decodeBase64(text: string): Decoded {
  const uri = dataUri.exec(text.slice(0, 1000));
  if (uri === null) return decodeBare(text);
  const [prefix, type, parameters] = uri;
  if (!/^image\//i.test(type ?? ''))
    return { problem: `its data URI says it is ${type || 'text/plain'}, not a picture` };
  if (!/;\s*base64\s*$/i.test(parameters ?? '')) return { problem: 'its data URI is not base64' };
  return decodeBare(text.slice(prefix.length));
}

function decodeBare(text: string): Decoded {
  // Nearly all are one unbroken line: only what does not decode as it stands is copied without white space.
  const bytes = decodeExactly(text) ?? decodeExactly(text.replaceAll(/\s+/g, ''));
  if (bytes === undefined) return { problem: whyNot(text) };
  return bytes.length === 0 ? { problem: 'it is empty' } : { bytes };
}

/**
 * The bytes, if every character counted. Node drops characters it does not know, so a wrong one shows in the length,
 * except for `-` and `_`, which it takes for `+` and `/`, and characters beyond ASCII, of which it looks at one byte.
 */
function decodeExactly(text: string): Buffer | undefined {
  if (isOfBothAlphabets(text) || Buffer.byteLength(text) !== text.length) return undefined;
  const padding = text.endsWith('==') ? 2 : Number(text.endsWith('='));
  const over = text.length % 4;
  if (over === 1 || (over > 0 && padding > 0)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== Math.floor((text.length / 4) * 3) - padding) return undefined;
  return over === 0 || isUncut(text.slice(-over)) ? bytes : undefined;
}

function isOfBothAlphabets(text: string): boolean {
  return (text.includes('-') || text.includes('_')) && (text.includes('+') || text.includes('/'));
}

/** The end of a text without padding: what it says beyond whole bytes is nothing, and mostly is something where it was cut. */
function isUncut(end: string): boolean {
  return Buffer.from(end, 'base64').toString('base64url') === end.replaceAll('+', '-').replaceAll('/', '_');
}

function whyNot(text: string): string {
  const all = text.replaceAll(/\s+/g, '');
  const bare = isOfBothAlphabets(all) ? all : all.replaceAll('-', '+').replaceAll('_', '/');
  const at = bare.search(/[^A-Za-z0-9+/=]/);
  const name = nameOfText(text);
  if (name !== undefined) return `it is ${name}, not base64`;
  if (at >= 0) return `it is not base64: character ${at + 1} is ${JSON.stringify(bare[at])}`;
  if (/=[^=]/.test(bare)) return 'it is not base64: there is padding in the middle';
  return `it is cut or not base64: ${bare.length} characters cannot be whole`;
}
