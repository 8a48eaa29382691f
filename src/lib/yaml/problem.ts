/** What is wrong with a configuration, said for the reader: where, what was found, what was expected. */

export interface Problem {
  /** `pipeline.yaml:7:14`, or the flag or environment variable. */
  where: string;
  text: string;
}

/** Everything that is wrong, at once. */
export class ConfigError extends Error {
  readonly problems: Problem[];

  constructor(problems: Problem[]) {
    super(problems.map(({ where, text }) => `${where}: ${text}`).join('\n'));
    this.problems = problems;
  }
}
