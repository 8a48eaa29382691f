/** A problem of a configuration, worded for the reader: its place, what was found, what was expected. */
import { redact } from './shown.ts';

export interface Problem {
  /** `pipeline.yaml:7:14`, or the option or environment variable. */
  where: string;
  text: string;
  /** Number of problems that this line stands for; 1 if absent. */
  count?: number;
}

export class ConfigError extends Error {
  readonly problems: Problem[];

  constructor(problems: Problem[]) {
    super(problems.map(({ where, text }) => `${where}: ${text}`).join('\n'));
    this.problems = problems;
  }
}

/** Returns the problems of the file itself and of its values, in file order. */
export function gatherProblems(
  yaml: { problems: Problem[] },
  found: Problem[],
  secrets: string[],
): Problem[] {
  const all = inFileOrder([...yaml.problems, ...withoutFollowers(found, yaml.problems)]);
  return all.map(({ where, text }) => ({ where, text: redact(text, secrets) }));
}

/** Drops problems of a value whose variable is not set, because they follow from that. */
function withoutFollowers(problems: Problem[], causing: Problem[]): Problem[] {
  const causes = new Set(causing.map(({ where }) => where));
  return problems.filter(({ where }) => !causes.has(where));
}

/** Sorts problems by their place in the file, those of options and variables first. */
function inFileOrder(problems: Problem[]): Problem[] {
  const rank = ({ where }: Problem): number => {
    const [, line, column] = /:(\d+):(\d+)$/.exec(where) ?? [];
    return Number(line ?? 0) * 1e6 + Number(column ?? 0);
  };
  return problems.toSorted((a, b) => rank(a) - rank(b));
}
