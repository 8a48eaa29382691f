/** Parses the address of a PostgreSQL database: what the driver gets, and what people may see. */

export interface PostgresAddress {
  /** URL for the driver. It may contain a password. */
  url: string;
  /** `db.example.com:5432/name`, without user and password. */
  shown: string;
  /** Parameters of the query that are for this program and not for the driver. */
  own: ReadonlyMap<string, string>;
}

export const postgresExpected =
  'the address of a PostgreSQL database, as ${DATABASE_URL} of the environment: postgres://user:password@host/database';

export function isPostgresAddress(text: string): boolean {
  return /^postgres(ql)?:\/\/\S+$/.test(text) && URL.canParse(text) && new URL(text).pathname.length > 1;
}

/** `names`: parameters that are for this program. */
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
