/** Choices for a single start: the part of the batch to render, and consents without which a start is refused. */
import type { Problem } from '../lib/yaml/problem.ts';
import type { Config } from '../runner/config/config.ts';
import type { Part } from '../runner/core/part.ts';
import type { PipelineConfig } from '../runner/pipeline/pipeline-config.ts';

export interface BeginChoices {
  /** True if the run resumes although part of the checkpoint was lost. */
  isLossAccepted: boolean;
  /** True if the run adopts pictures that the checkpoint does not know. */
  isAdopting: boolean;
  /** True if the run renders scenes again whose pictures the checkpoint does not know. */
  isFresh: boolean;
}

export interface RunChoices extends BeginChoices {
  /** Undefined for the whole batch. */
  part: Part | undefined;
  /** Used if the file does not set `acceptEdits`. */
  acceptEdits?: Config['acceptEdits'];
}

export const noChoices: BeginChoices = { isLossAccepted: false, isAdopting: false, isFresh: false };

export function unknownPicturesOf({
  isAdopting,
  isFresh,
}: BeginChoices): NonNullable<PipelineConfig['unknownPictures']> {
  if (isAdopting) return 'adopt';
  return isFresh ? 'keep' : 'ask';
}

/** Reads the choices for a run. Problems are added to `problems`. */
export function runChoicesOf(argv: Record<string, unknown>, problems: Problem[]): RunChoices {
  return { part: partOf(argv, problems), ...beginChoicesOf(argv, problems) };
}

/** Reads the consents to a start. Problems are added to `problems`. */
export function beginChoicesOf(argv: Record<string, unknown>, problems: Problem[]): BeginChoices {
  const [isAdopting, isFresh] = [argv['adopt'] === true, argv['fresh'] === true];
  if (isAdopting && isFresh) problems.push({ where: '--fresh', text: 'cannot be combined with --adopt' });
  // A decision about the pictures also accepts the loss.
  const isLossAccepted = argv['acceptLoss'] === true || isAdopting || isFresh;
  return { isLossAccepted, isAdopting, isFresh };
}

/** Reads the part to render. Undefined for the whole batch. Problems are added to `problems`. */
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
