/** What the program is for, and the versions of its parts. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform, release } from 'node:os';
import { packageFile } from '../lib/files/package-file.ts';

/** What the program is for, in a sentence. */
export const purpose = 'Renders long lists of scenes on a GPU job service, and resumes where it stopped.';

/** Names and versions; of a part that cannot be loaded, why not. */
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

/** What the build noted beside itself: where it was made from a repository its commit, and the versions of what it holds. */
function readBuild(): { commit?: string; bundled: string[] } {
  return JSON.parse(readFileSync(packageFile('dist/build.json'), 'utf8')) as ReturnType<typeof readBuild>;
}

/** SQLite's own, and that of what it is reached through. */
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
