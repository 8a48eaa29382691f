/** `--sample` and `--limit`: the part of a batch that a preview renders; for one start, so that no file can forget them. */
import type { Problem } from '../lib/yaml/problem.ts';
import type { Part } from '../runner/core/part.ts';

/** Both are read as text, so that what is no number can be named. */
export const partOptions = {
  sample: {
    type: 'string',
    requiresArg: true,
    describe:
      'only a share of the scenes, such as 1% or 0.01, drawn from the whole list, the same ones each time',
  },
  limit: {
    type: 'string',
    requiresArg: true,
    describe: 'only so many scenes, drawn in the same way; those that are saved already count',
  },
} as const;

/** Undefined where all of the batch is meant. What is wrong is added to `problems`. */
export function partOf(argv: Record<string, unknown>, problems: Problem[]): Part | undefined {
  const share = read(
    argv['sample'],
    '--sample',
    'a share such as 1% or 0.01, above 0 and at most 100%',
    readShare,
    problems,
  );
  const limit = read(argv['limit'], '--limit', 'a number of scenes, 1 or more', readLimit, problems);
  if (share === undefined && limit === undefined) return undefined;
  return { ...(share !== undefined && { share }), ...(limit !== undefined && { limit }) };
}

function read(
  value: unknown,
  where: string,
  expected: string,
  parse: (text: string) => number | undefined,
  problems: Problem[],
): number | undefined {
  if (value === undefined) return undefined;
  const number = typeof value === 'string' ? parse(value.trim()) : undefined;
  if (number === undefined) {
    const shown = Array.isArray(value)
      ? value.map((each) => JSON.stringify(each)).join(' and ')
      : JSON.stringify(value);
    problems.push({ where, text: `is ${shown}; expected ${expected}` });
  }
  return number;
}

function readShare(text: string): number | undefined {
  const [, digits, percent] = /^(\d+\.?\d*|\.\d+)\s*(%?)$/.exec(text) ?? [];
  if (digits === undefined) return undefined;
  const share = Number(digits) / (percent === '%' ? 100 : 1);
  return share > 0 && share <= 1 ? share : undefined;
}

function readLimit(text: string): number | undefined {
  const count = /^\d+$/.test(text) ? Number(text) : 0;
  return count >= 1 && Number.isSafeInteger(count) ? count : undefined;
}
