/** Numbers that are given on the command line. */
import { ConfigError } from '../lib/yaml/problem.ts';

/** Throws `ConfigError` where it is none within these bounds. */
export function wholeNumber(argv: Record<string, unknown>, name: string, min: number, max: number): number {
  const value = argv[name];
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
  const text = `${inWords(value)} is given; expected a whole number from ${min} to ${max}`;
  throw new ConfigError([{ where: `--${name}`, text }]);
}

/** What was given, for people. */
export function inWords(value: unknown): string {
  return Array.isArray(value) ? value.map(String).join(' and ') : JSON.stringify(value);
}
