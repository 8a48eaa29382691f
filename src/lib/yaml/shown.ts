/** Values and keys of the file as messages show them: never one that may be an API key. */

type Path = readonly (string | number)[];

const maxLength = 80;

/** What was found, in words that follow "is": the text as it stands in the file, without the values of variables. */
export function shownValue(
  value: unknown,
  path: Path,
  yaml: { writtenAs(path: Path): string | undefined },
  secrets: string[],
): string {
  if (value === null) return 'empty';
  // Who knows the address of a monitor or a chat may post there; in an endpoint's environment there are keys.
  // So may who knows that of a database.
  const isSecret =
    path[0] === 'notify' || path[0] === 'checkpoint' || path[0] === 'store' || path[2] === 'environment';
  if (isSecret && typeof value === 'string') return 'not valid';
  const written = yaml.writtenAs(path);
  if (written !== undefined) return `${JSON.stringify(redact(written, secrets))}, from the environment`;
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object') return 'keys and values';
  if (Number.isNaN(value)) return 'not a number';
  const text = redact(JSON.stringify(value), secrets);
  // A key in the wrong place is most likely to be here; none is as short.
  if ((path.length === 0 || path[0] === 'endpoint') && text.length > 16) return 'not valid';
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text;
}

/** Settings have short names; what looks otherwise may be a key whose colon was forgotten. */
export function shownKey(key: string): string {
  return /^[A-Za-z][A-Za-z_-]{0,23}$|^<<$|^__proto__$/.test(key)
    ? `the key ${JSON.stringify(key)}`
    : 'this key';
}

/** The texts that are the API key, wherever the file or the environment holds it. */
export function secretsOf(value: unknown, env: NodeJS.ProcessEnv): string[] {
  const endpoint = (value as { endpoint?: { apiKey?: unknown } | null } | null | undefined)?.endpoint;
  const found = [env['NIGHTRENDER_API_KEY'] ?? '', ...textsIn(endpoint?.apiKey)];
  // Shorter ones are no keys, and would turn words into dots.
  return found.filter((text) => text.length >= 6);
}

export function redact(text: string, secrets: string[]): string {
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, '…'), text);
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string' || typeof value === 'number') return [String(value)];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
