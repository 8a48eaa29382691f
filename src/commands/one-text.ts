/** Texts that are given on the command line. */
import { ConfigError } from '../lib/yaml/problem.ts';
import { inWords } from './whole-number.ts';

/** Undefined where it is not given; throws `ConfigError` where it is empty or given twice. */
export function oneText(argv: Record<string, unknown>, name: string): string | undefined {
  const value = argv[name];
  if (value === undefined || (typeof value === 'string' && value !== '')) return value;
  throw new ConfigError([{ where: `--${name}`, text: `${inWords(value)} is given; expected one text` }]);
}
