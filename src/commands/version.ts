/** The program's name and version, and the versions of what it is built on. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform, release } from 'node:os';
import { packageFile } from '../lib/files/package-file.ts';

const { version } = JSON.parse(readFileSync(packageFile('package.json'), 'utf8')) as {
  version: string;
};

export const program = `nightrender ${version}`;

/** What the program is for, in a sentence. */
export const purpose = 'Renders long lists of scenes on a GPU job service, and resumes where it stopped.';

/** Names and versions; of a part that cannot be loaded, why not. */
export function versions(): [string, string][] {
  const load: Load = createRequire(import.meta.url);
  return [
    ['node', process.versions.node],
    ['sqlite', orWhyNot(() => sqliteVersion(load))],
    ['sharp', orWhyNot(() => sharpVersion(load))],
    ['undici', orWhyNot(() => packageVersion(load, 'undici'))],
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
  const db = new Sqlite(':memory:');
  const own = String(db.prepare('SELECT sqlite_version()').pluck().get());
  db.close();
  return `${own} (better-sqlite3 ${packageVersion(load, 'better-sqlite3')})`;
}

function sharpVersion(load: Load): string {
  const { versions: of } = load('sharp') as { versions: Record<string, string> };
  return `${of['sharp'] ?? '?'} (libvips ${of['vips'] ?? '?'})`;
}

function packageVersion(load: Load, name: string): string {
  return (load(`${name}/package.json`) as { version: string }).version;
}

function orWhyNot(read: () => string): string {
  try {
    return read();
  } catch (error) {
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    return `cannot be loaded: ${line}`;
  }
}
