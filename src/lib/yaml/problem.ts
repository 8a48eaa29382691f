/** A problem of a configuration, worded for the reader: where, what was found, what was expected. */
import { redact } from './shown.ts';

export interface Problem {
  /** `pipeline.yaml:7:14`, or the flag or environment variable. */
  where: string;
  text: string;
  /** So many problems in one line; 1 where left out. */
  count?: number;
}

/** Everything that is wrong, at once. */
export class ConfigError extends Error {
  readonly problems: Problem[];

  constructor(problems: Problem[]) {
    super(problems.map(({ where, text }) => `${where}: ${text}`).join('\n'));
    this.problems = problems;
  }
}

/** Those of the file itself and those that were found in its values, in the order of the file. */
export function gatherProblems(
  yaml: { problems: Problem[] },
  found: Problem[],
  secrets: string[],
): Problem[] {
  const all = inFileOrder([...yaml.problems, ...withoutFollowers(found, yaml.problems)]);
  return all.map(({ where, text }) => ({ where, text: redact(text, secrets) }));
}

/** What is wrong with a value whose variable is not set follows from that. */
function withoutFollowers(problems: Problem[], causing: Problem[]): Problem[] {
  const causes = new Set(causing.map(({ where }) => where));
  return problems.filter(({ where }) => !causes.has(where));
}

/** Problems of flags and variables first. */
function inFileOrder(problems: Problem[]): Problem[] {
  const rank = ({ where }: Problem): number => {
    const [, line, column] = /:(\d+):(\d+)$/.exec(where) ?? [];
    return Number(line ?? 0) * 1e6 + Number(column ?? 0);
  };
  return problems.toSorted((a, b) => rank(a) - rank(b));
}
