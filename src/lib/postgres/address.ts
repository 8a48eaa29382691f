/** The address of a PostgreSQL database, as a setting gives it: what the driver gets of it, and what people may see. */

export interface PostgresAddress {
  /** For the driver: it may hold a password. */
  url: string;
  /** `db.example.com:5432/name`: no user and no password. */
  shown: string;
  /** What its query says for us and not for the driver. */
  own: ReadonlyMap<string, string>;
}

/** For messages. */
export const postgresExpected =
  'the address of a PostgreSQL database, as ${DATABASE_URL} of the environment: postgres://user:password@host/database';

export function isPostgresAddress(text: string): boolean {
  return /^postgres(ql)?:\/\/\S+$/.test(text) && URL.canParse(text) && new URL(text).pathname.length > 1;
}

/** `names`: of parameters that are ours. */
export function parsePostgresAddress(text: string, names: readonly string[]): PostgresAddress {
  const url = new URL(text);
  const own = new Map<string, string>();
  for (const name of names) {
    const value = url.searchParams.get(name);
    if (value !== null) own.set(name, value);
    url.searchParams.delete(name);
  }
  const host = url.host === '' ? (url.searchParams.get('host') ?? 'localhost') : url.host;
  return { url: url.href, shown: `${host}${url.pathname}`, own };
}
