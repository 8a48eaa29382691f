/** The service's word for how a job stands, whatever it sends in its place. */
import { oneLine } from '../../protocol/error-text.ts';

const maxWordLength = 64;

/** By which the words of the interface are known, however they are written: `Completed`, `in progress`. */
export function knownWord(word: string): string {
  return word.toUpperCase().replaceAll(/[ -]/g, '_');
}

/** As the service spells it, on one line; empty where it says nothing. */
export function statusWord(value: unknown): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return oneLine(value, maxWordLength) ?? '';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' && value !== null ? 'an object' : JSON.stringify(value);
}
