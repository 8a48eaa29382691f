/** Base64 to bytes, strictly: Node's own decoder skips what it does not know and never complains. */
import { nameOfText } from './recognise.ts';

type Decoded = { bytes: Buffer } | { problem: string };

const dataUri = /^\s*data:([^;,]{0,200})([^,]{0,200}),/i;

/** Standard base64 with its padding; a `data:image/…;base64,` prefix and white space are left aside. */
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
  if (text.length % 4 !== 0 || text.includes('-') || text.includes('_')) return undefined;
  if (Buffer.byteLength(text) !== text.length) return undefined;
  const padding = text.endsWith('==') ? 2 : Number(text.endsWith('='));
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === (text.length / 4) * 3 - padding ? bytes : undefined;
}

function whyNot(text: string): string {
  const bare = text.replaceAll(/\s+/g, '');
  const at = bare.search(/[^A-Za-z0-9+/=]/);
  const name = nameOfText(text);
  if (name !== undefined) return `it is ${name}, not base64`;
  if (at >= 0) return `it is not base64: character ${at + 1} is ${JSON.stringify(bare[at])}`;
  if (/=[^=]/.test(bare)) return 'it is not base64: there is padding in the middle';
  return `it is cut or not base64: ${bare.length} characters cannot be whole`;
}
