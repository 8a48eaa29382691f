/** The data folder in commands that people paste. */
import { shellWord } from '../lib/text/format.ts';
import { oneText } from './one-text.ts';

/** Nothing where it is the usual one. */
export function dataOption(argv: Record<string, unknown>): string {
  const given = oneText(argv, 'data');
  return given === undefined ? '' : ` --data ${shellWord(given)}`;
}
