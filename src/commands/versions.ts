/** The versions that matter when something does not work: of the program and of what it is built on. */
import { createRequire } from 'node:module';
import { arch, platform, release } from 'node:os';

/** Names and versions; of a part that cannot be loaded, why not. */
export function versions(): [string, string][] {
  const load: Load = createRequire(import.meta.url);
  return [
    ['node', process.versions.node],
    ['sqlite', told(() => sqliteVersion(load))],
    ['sharp', told(() => sharpVersion(load))],
    ['undici', told(() => (load('undici/package.json') as { version: string }).version)],
    ['platform', `${platform()} ${arch()}, ${release()}`],
  ];
}

type Load = (name: string) => unknown;

/** SQLite's own, and that of what it is reached through. */
function sqliteVersion(load: Load): string {
  const Sqlite = load('better-sqlite3') as new (path: string) => {
    prepare(sql: string): { pluck(): { get(): unknown } };
    close(): void;
  };
  const { version } = load('better-sqlite3/package.json') as { version: string };
  const db = new Sqlite(':memory:');
  const own = String(db.prepare('SELECT sqlite_version()').pluck().get());
  db.close();
  return `${own} (better-sqlite3 ${version})`;
}

function sharpVersion(load: Load): string {
  const { versions: of } = load('sharp') as { versions: Record<string, string> };
  return `${of['sharp'] ?? '?'} (libvips ${of['vips'] ?? '?'})`;
}

function told(version: () => string): string {
  try {
    return version();
  } catch (error) {
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    return `cannot be loaded: ${line}`;
  }
}
