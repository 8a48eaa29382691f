/** Promise: the layers hold. This table is the rule: who may import whom, of ours and of packages. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const src = resolve(import.meta.dirname, '../src');

/**
 * A folder may import itself, these of ours (a folder, or a file by its path) and these packages.
 * `node:*` stands for any built-in module: an edge may use them, the rules and the road only those that are named.
 */
const table: Record<string, { ours: string[]; packages: string[] }> = {
  // sha256 is a pure function.
  core: { ours: [], packages: ['node:crypto'] },
  wire: { ours: [], packages: [] },
  pipeline: { ours: ['core'], packages: ['p-limit', 'tinyqueue', 'node:events', 'node:perf_hooks'] },
  sqlite: { ours: [], packages: ['better-sqlite3', 'node:*'] },
  disk: { ours: ['core'], packages: ['node:*'] },
  files: { ours: ['core'], packages: ['node:*'] },
  config: {
    ours: [
      'core',
      'files',
      'pages/console-data',
      'server/faults/fault-table',
      'server/faults/fault-settings',
    ],
    packages: ['yaml', 'zod', 'liquidjs', 'node:*'],
  },
  addresses: { ours: [], packages: ['ipaddr.js', 'node:*'] },
  client: {
    ours: ['addresses', 'core', 'files', 'wire', 'pipeline/ports'],
    packages: ['undici', 'p-limit', 'node:*'],
  },
  checkpoint: { ours: ['core', 'disk', 'sqlite', 'pipeline/ports'], packages: ['better-sqlite3', 'node:*'] },
  manifest: {
    ours: ['core'],
    packages: ['csv-parse', 'fzstd', 'hyparquet', 'hyparquet-compressors', 'xxhash-wasm', 'node:*'],
  },
  images: { ours: ['core', 'disk', 'pipeline/ports'], packages: ['p-limit', 'sharp', 'node:*'] },
  report: {
    ours: ['core', 'disk', 'pipeline/ports', 'pages/gallery-data'],
    packages: ['csv-stringify', 'node:*'],
  },
  terminal: {
    ours: ['core', 'pipeline/ports', 'pipeline/event'],
    packages: ['pino', 'string-width', 'zod', 'node:*'],
  },
  // What the servers of pages share.
  http: { ours: [], packages: ['node:*'] },
  watch: { ours: ['core', 'http'], packages: ['node:*'] },
  // What runs in the browser is bundled by itself: nothing of Node's may get into it.
  pages: { ours: ['core/live-batch'], packages: ['preact'] },
  notify: { ours: ['core', 'pipeline/ports', 'pipeline/event'], packages: ['undici', 'node:*'] },
  painter: { ours: [], packages: ['sharp'] },
  // Its process may end any time: the service starts it and imports nothing of it.
  renderer: { ours: ['painter'], packages: ['sharp', 'three', 'webgpu', 'node:*'] },
  server: {
    ours: ['addresses', 'http', 'wire', 'sqlite', 'painter', 'pages/console-data'],
    packages: ['better-sqlite3', 'undici', 'node:*'],
  },
};

const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => file.replaceAll('\\', '/'));

describe.each(Object.entries(table))('%s', (folder, { ours, packages }) => {
  it('imports only what it may', () => {
    const own = files.filter((file) => file.startsWith(`${folder}/`));
    const strangers = own.flatMap((file) =>
      importsOf(file)
        .filter((target) => !isAllowed(target, folder, ours, packages))
        .map((target) => `${file} imports ${target}`),
    );
    expect(strangers).toEqual([]);
  });
});

it('knows every folder of src', () => {
  const folders = new Set(files.filter((file) => file.includes('/')).map((file) => file.split('/')[0]));
  expect(folders).toEqual(new Set([...Object.keys(table), 'commands']));
});

it('lets only the command line import commands, and only programs end their process', () => {
  const importers = files.filter(
    (file) =>
      !file.startsWith('commands/') && importsOf(file).some((target) => target.startsWith('commands/')),
  );
  expect(importers).toEqual(['cli.ts']);
  expect(files.filter((file) => /\bprocess\.exit(Code)?\b/.test(textOf(file))).toSorted()).toEqual([
    'cli.ts',
    'server/workloads/module-runner.ts',
  ]);
});

it('lets only the terminal print', () => {
  const printers = files.filter((file) =>
    /\bconsole\.\w+\(|process\.std(out|err)\.write\(/.test(textOf(file)),
  );
  expect(printers.filter((file) => !file.startsWith('terminal/') && file !== 'cli.ts')).toEqual([]);
});

it('keeps clock and chance out of the rules', () => {
  const impure = files.filter(
    (file) =>
      file.startsWith('core/') && /Date\.now|new Date\(\)|Math\.random|performance\./.test(textOf(file)),
  );
  expect(impure).toEqual([]);
});

it('opens every file with a sentence that says what it is for', () => {
  const silent = files.filter((file) => !/^(#!.*\n)?\/\*\* [A-Z`][^]*?\*\//.test(textOf(file)));
  expect(silent).toEqual([]);
});

function isAllowed(target: string, folder: string, ours: string[], packages: string[]): boolean {
  if (target.startsWith(`${folder}/`)) return true;
  if (target.startsWith('node:') && packages.includes('node:*')) return true;
  if (packages.some((name) => target === name || target.startsWith(`${name}/`))) return true;
  return ours.some((name) => target.startsWith(`${name}/`) || target === `${name}.ts`);
}

/** Paths within `src` for ours, names for packages; type imports and dynamic imports count. */
function importsOf(file: string): string[] {
  const targets = [...textOf(file).matchAll(/(?:from|import\()\s*'([^'\n,]+)'/g)].map(
    (match) => match[1] ?? '',
  );
  return targets.map((target) =>
    target.startsWith('.')
      ? relative(src, resolve(src, dirname(file), target)).replaceAll('\\', '/')
      : target,
  );
}

function textOf(file: string): string {
  return readFileSync(join(src, file), 'utf8');
}
