/** The purpose of the program, and the versions of its parts. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform, release } from 'node:os';
import { packageFile } from '../lib/files/package-file.ts';

export const purpose = 'Renders long lists of scenes on a GPU job service, and resumes where it stopped.';

/** Returns names and versions. If a part cannot be loaded, the reason replaces its version. */
export async function versions(): Promise<[string, string][]> {
  const { commit, bundled } = readBuild();
  return [
    ['node', process.versions.node],
    ['sqlite', await sqliteVersion().catch(whyNot)],
    ['sharp', await sharpVersion().catch(whyNot)],
    ['undici', bundled.find((name) => name.startsWith('undici@'))?.slice('undici@'.length) ?? 'unknown'],
    ['platform', `${platform()} ${arch()}, ${release()}`],
    ...(commit === undefined ? [] : [['commit', commit] as [string, string]]),
  ];
}

/**
 * Reads the build's record: its commit if it was built from a repository, and the versions of bundled packages.
 */
function readBuild(): { commit?: string; bundled: string[] } {
  return JSON.parse(readFileSync(packageFile('dist/build.json'), 'utf8')) as ReturnType<typeof readBuild>;
}

/** Versions of SQLite itself and of its driver. */
async function sqliteVersion(): Promise<string> {
  const { Sqlite, packageName } = await import('../lib/sqlite/better-sqlite3.ts');
  const db = new Sqlite(':memory:');
  const own = String(db.prepare('SELECT sqlite_version()').pluck().get());
  db.close();
  return `${own} (better-sqlite3 ${packageVersion(packageName)})`;
}

async function sharpVersion(): Promise<string> {
  const { versions: of } = (await import('sharp')).default;
  return `${of.sharp ?? '?'} (libvips ${of.vips})`;
}

function packageVersion(name: string): string {
  return (createRequire(import.meta.url)(`${name}/package.json`) as { version: string }).version;
}

function whyNot(error: unknown): string {
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  return `cannot be loaded: ${line}`;
}
