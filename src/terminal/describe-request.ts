/** One of the first requests, as it would be sent. */
import { withFilesNamed } from '../runner/core/file-text.ts';
import type { FirstRequest } from '../runner/core/plan.ts';
import { hanging } from './hanging.ts';
import { harmless } from './fit-text.ts';
import { plural, showBytes } from './words.ts';

const indent = 5;

/** `columns`: the width that no line exceeds, unless a word does. */
export function describeRequest(request: FirstRequest, number: number, columns: number): string[] {
  const { scene, attempt, url, body, file, taken } = request;
  const again = attempt === 1 ? '' : `, submission ${attempt}`;
  const why = taken === null ? '' : `, since ${taken} is another scene's`;
  return [
    ...hanging(`  ${number}.`, `${scene}${again} → images/${file}${why}`, columns, indent),
    ...hanging('', `POST ${url.replace(/^local/, 'the local service')}`, columns, indent),
    ...bodyLines(body, columns),
  ];
}

/** On one line where it fits. */
function bodyLines(body: FirstRequest['body'], columns: number): string[] {
  const shown = JSON.parse(JSON.stringify({ input: withFilesNamed(body.input) }, shorten)) as unknown;
  const short = harmless(JSON.stringify(shown));
  const text = indent + short.length <= Math.min(columns, 100) ? short : JSON.stringify(shown, undefined, 2);
  return text.split('\n').flatMap((line) => {
    const [, deeper = '', rest = ''] = /^( *)(.*)$/.exec(line) ?? [];
    return hanging('', rest, columns, indent + deeper.length);
  });
}

/** Pictures within a body would fill the screen. */
const mostCharacters = 2_000;

function shorten(_: string, value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= mostCharacters) return value;
  const left = value.length - mostCharacters / 2;
  const more = left < 10_000 ? plural(left, 'character') : showBytes(left);
  return `${value.slice(0, mostCharacters / 2)}… and ${more} more, which --json shows`;
}
