/** Where the packages three and webgpu may lie, and the command that brings them. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { packageFolder } from '../../lib/files/package-file.ts';

/** Exact, since three changes what it needs of webgpu from release to release. */
const versions = { three: '0.187.0', webgpu: '0.6.2' } as const;

/** Folders that may hold a node_modules with both; the one that is named by the environment first. */
export function rendererFolders(environment: NodeJS.ProcessEnv = process.env): string[] {
  const named = environment['NIGHTRENDER_RENDERER_DIR'];
  // Where the program itself is installed as a package, its neighbours are two folders up.
  const own = [packageFolder, resolve(packageFolder, '../..')];
  return named === undefined || named === '' ? own : [resolve(named), ...own];
}

/** The first that holds both packages; undefined where none does. */
export function installedFolder(folders: readonly string[]): string | undefined {
  return folders.find((dir) =>
    Object.keys(versions).every((name) => existsSync(join(dir, 'node_modules', name))),
  );
}

/** For a shell, in a folder of its own: `npm ci` of the project would remove them again. */
export function rendererInstallCommand(dir: string): string {
  const packages = Object.entries(versions).map(([name, version]) => `${name}@${version}`);
  return `npm install --prefix ${quoted(dir)} ${packages.join(' ')}`;
}

function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
