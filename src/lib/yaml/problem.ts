/** A problem of a configuration, worded for the reader without secrets: its place, what was found, what was expected. */

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

/**
 * Returns the problems of the file itself and those found in its values, in file order. Leaves out problems
 * that follow from a variable that is not set. Replaces `secrets` in the texts.
 */
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

type Path = readonly (string | number)[];

const maxLength = 80;

/** Part of `http://ann:password@host`, however the rest is written. */
const hasPassword = /:\S*@/;

/** Returns the found value in words that follow "is", as written in the file, so without variables' values. */
export function shownValue(
  value: unknown,
  path: Path,
  yaml: { writtenAs(path: Path): string | undefined },
  secrets: string[],
): string {
  if (value === null) return 'empty';
  const written = yaml.writtenAs(path);
  // A URL of a monitor or chat lets others post there; addresses and environments may contain passwords.
  const isSecret =
    path[0] === 'notify' || path[0] === 'checkpoint' || path[0] === 'store' || path[2] === 'environment';
  if (typeof value === 'string' && (isSecret || hasPassword.test(written ?? value))) return 'not valid';
  if (written !== undefined) return `${JSON.stringify(redact(written, secrets))}, from the environment`;
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object') return 'keys and values';
  if (Number.isNaN(value)) return 'not a number';
  const text = redact(JSON.stringify(value), secrets);
  // A misplaced key is most likely to be here, and no key is as short.
  if ((path.length === 0 || path[0] === 'endpoint') && text.length > 16) return 'not valid';
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text;
}

/**
 * Returns `the key "name"`, or `this key` if the text is longer than a setting's name or has other characters. Such a
 * text may be a secret whose colon was forgotten.
 */
export function shownKey(key: string): string {
  return /^[A-Za-z][A-Za-z_-]{0,23}$|^<<$|^__proto__$/.test(key)
    ? `the key ${JSON.stringify(key)}`
    : 'this key';
}

/** Returns the texts that are API keys, from the file and from the environment. */
export function secretsOf(value: unknown, env: NodeJS.ProcessEnv): string[] {
  const file = value as { endpoint?: { apiKey?: unknown; comfyApiKey?: unknown } | null } | null | undefined;
  const { apiKey, comfyApiKey } = file?.endpoint ?? {};
  const found = [env['NIGHTRENDER_API_KEY'] ?? '', ...textsIn([apiKey, comfyApiKey])];
  // Shorter texts are no keys, and replacing them would garble words.
  return found.filter((text) => text.length >= 6);
}

export function redact(text: string, secrets: string[]): string {
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, '…'), text);
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string' || typeof value === 'number') return [String(value)];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
