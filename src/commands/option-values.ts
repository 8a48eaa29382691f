/** Values that are given on the command line. */
import { pipelineIn } from '../runner/config/pipeline-in.ts';
import { ConfigError } from '../lib/yaml/problem.ts';

/** An option that takes a text. */
export const textOption = { type: 'string', requiresArg: true } as const;

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

/** Undefined where it is not given; throws `ConfigError` where it is empty or given twice. */
export function oneText(argv: Record<string, unknown>, name: string): string | undefined {
  const value = argv[name];
  if (value === undefined || (typeof value === 'string' && value !== '')) return value;
  throw new ConfigError([{ where: `--${name}`, text: `${inWords(value)} is given; expected one text` }]);
}

export function fileIn(argv: Record<string, unknown>): string {
  return pipelineIn(textIn(argv, 'pipeline'));
}

/** For commands that take several. */
export function filesIn(argv: Record<string, unknown>): string[] {
  return [argv['pipeline']].flat().map((file) => pipelineIn(String(file)));
}

export function textIn(argv: Record<string, unknown>, name: string): string {
  // Given twice, the last one counts.
  const value: unknown = [argv[name]].flat().at(-1);
  return typeof value === 'string' ? value : '';
}
