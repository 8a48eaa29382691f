/** The files besides pictures that a completed job's output has where `output.files` says. */
import { isJsonObject } from '../../lib/text/json.ts';
import { describeValue, isNothing } from '../../protocol/json-value.ts';
import { memberText } from '../../protocol/member-text.ts';
import type { FilePlace } from '../core/named-file.ts';
import type { FoundPicture } from '../core/picture.ts';

/** Parsed, and as it is written: numbers of any size stay what they are. */
interface Written {
  value: unknown;
  text: string;
}

/** Each in the order of `places`, or what is missing. `body` is the JSON of the answer, `output` as parsed from it. */
export function findFiles(
  output: unknown,
  body: string,
  places: readonly FilePlace[],
): { files: FoundPicture[] } | { problem: string } {
  const files: FoundPicture[] = [];
  for (const place of places) {
    const file = fileAt({ value: output, text: memberText(body, 'output') ?? '' }, place);
    if (file === undefined) {
      const { label, at } = place;
      return {
        problem: `the file ${label} is not at ${at.join('.')} of the output, which holds ${describeValue(output)}`,
      };
    }
    files.push(file);
  }
  return { files };
}

function fileAt(output: Written, { label, kind, at }: FilePlace): FoundPicture | undefined {
  const named = { label, kind };
  const found = at.reduce<Written | undefined>((within, key) => within && member(within, key), output);
  const last = found && soleItem(found, kind !== 'json');
  if (last === undefined || last.value === null) return undefined;
  const { value, text } = last;
  if (typeof value !== 'string')
    return kind === 'json' ? { bytes: Buffer.from(`${text}\n`), named } : undefined;
  if (isNothing(value)) return undefined;
  if (/^\s*https?:\/\//i.test(value)) return { url: value.trim(), named };
  // No base64 begins so: the worker has put its JSON into a text.
  return kind === 'json' && /^\s*[{[]/.test(value)
    ? { bytes: Buffer.from(value), named }
    : { base64: value, named };
}

function member(within: Written, key: string): Written | undefined {
  const { value, text } = soleItem(within);
  if (!isJsonObject(value) || !Object.hasOwn(value, key)) return undefined;
  return { value: value[key], text: memberText(text, key) ?? '' };
}

/** A list of one object counts as that object. */
function soleItem(written: Written, isAny = true): Written {
  const { value, text } = written;
  if (!isAny || !Array.isArray(value) || value.length !== 1) return written;
  return { value: value[0] as unknown, text: text.trim().slice(1, -1).trim() };
}
