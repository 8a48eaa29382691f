/** Promise: the layers hold. This table is the rule: who may import whom, of ours and of packages. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const src = resolve(import.meta.dirname, '../src');

/** The floors of the service from below, with their packages beside those of Node. Each may import the floors below it, and itself. */
const floors: Record<string, string[]> = {
  model: ['zod'],
  replication: [],
  jobs: [],
  keys: [],
  webhooks: ['undici'],
  workloads: ['undici', 'zod'],
  workers: ['zod'],
  agent: ['undici'],
  api: [],
  http: [],
  console: [],
  config: ['zod'],
  instance: ['undici'],
};

/**
 * A folder may import itself, these of ours (a folder, or a file by its path) and these packages.
 * `node:*` stands for any built-in module: an edge may use them, the rules and the road only those that are named.
 */
const table: Record<string, { ours: string[]; packages: string[] }> = {
  lib: {
    ours: [],
    packages: [
      'aws4fetch',
      'better-sqlite3',
      'ipaddr.js',
      'p-limit',
      'pg',
      'undici',
      'yaml',
      'zod',
      'node:*',
    ],
  },
  // sha256 is a pure function.
  protocol: { ours: ['lib/text'], packages: ['node:crypto'] },
  'runner/core': { ours: ['lib/text'], packages: ['node:crypto'] },
  'runner/pipeline': {
    ours: ['lib/text', 'runner/core'],
    packages: ['p-limit', 'node:events', 'node:perf_hooks'],
  },
  'runner/files': { ours: ['lib', 'runner/core'], packages: ['node:*'] },
  'runner/config': {
    ours: ['lib', 'protocol/comfyui-workflow', 'runner/core', 'runner/files'],
    packages: ['zod', 'liquidjs', 'node:*'],
  },
  'runner/client': {
    ours: ['lib', 'protocol', 'runner/core', 'runner/files', 'runner/pipeline/ports'],
    packages: ['undici', 'p-limit', 'node:*'],
  },
  'runner/checkpoint': {
    ours: ['lib', 'runner/core', 'runner/files', 'runner/pipeline/ports'],
    packages: ['node:*'],
  },
  'runner/manifest': {
    ours: ['lib', 'runner/core'],
    packages: [
      'csv-parse',
      'fzstd',
      'hyparquet',
      'hyparquet-compressors',
      'sax',
      'xxhash-wasm',
      'yauzl',
      'node:*',
    ],
  },
  // The scenes of a batch: its lists, compared with its checkpoint.
  'runner/list': {
    ours: [
      'lib',
      'runner/core',
      'runner/config',
      'runner/manifest',
      'runner/checkpoint',
      'runner/pipeline/ports',
    ],
    packages: ['node:*'],
  },
  'runner/images': {
    ours: ['lib', 'runner/core', 'runner/files', 'runner/pipeline/ports'],
    packages: ['p-limit', 'sharp', 'node:*'],
  },
  'runner/report': {
    ours: ['lib', 'runner/core', 'runner/files', 'runner/pipeline/ports'],
    packages: ['csv-stringify', 'node:*'],
  },
  'runner/export': {
    ours: ['lib', 'runner/core', 'runner/files', 'runner/pipeline/ports'],
    packages: ['hyparquet-writer', 'node:*'],
  },
  'runner/notify': {
    ours: ['lib', 'runner/core', 'runner/pipeline/ports', 'runner/pipeline/event'],
    packages: ['undici', 'node:*'],
  },
  'runner/watch': { ours: ['lib', 'runner/core'], packages: ['node:*'] },
  // Types of the manifest come from a package that nobody installs.
  clusters: { ours: ['lib'], packages: ['kubernetes-types', 'yaml', 'node:*'] },
  ...Object.fromEntries(
    Object.entries(floors).map(([floor, packages], height) => [
      `service/${floor}`,
      {
        ours: [
          'lib',
          'protocol',
          ...(floor === 'workloads' ? ['clusters/slurm-workers'] : []),
          ...Object.keys(floors)
            .slice(0, height)
            .map((below) => `service/${below}`),
        ],
        packages: [...packages, 'node:*'],
      },
    ]),
  ),
  // Its process may end any time: the service starts it and imports nothing of it.
  renderers: { ours: ['lib'], packages: ['fzstd', 'sharp', 'zod', 'node:*'] },
  'renderers/language': { ours: ['renderers/colour'], packages: [] },
  // What runs in the browser is bundled by itself: nothing of Node's may get into it.
  web: { ours: ['protocol/console-data', 'protocol/paths', 'runner/core'], packages: ['preact'] },
  // Faces of a batch: what it needs of the service comes in as an argument. Notifications and refusals are words.
  batch: {
    ours: ['lib', 'protocol', 'runner', 'terminal/describe-event', 'terminal/fit-text'],
    packages: ['node:*'],
  },
  library: { ours: ['batch', 'lib', 'runner', 'service'], packages: ['node:*'] },
  terminal: {
    ours: ['lib', 'runner/core', 'runner/pipeline/ports', 'runner/pipeline/event'],
    packages: ['string-width', 'zod', 'node:*'],
  },
};

const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => file.replaceAll('\\', '/'));

const imports = new Map<string, string[]>();

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
  const places = [...Object.keys(table), 'commands'].map((folder) => `${folder}/`);
  const strays = files.filter(
    (file) => file.includes('/') && !places.some((place) => file.startsWith(place)),
  );
  expect(strays).toEqual([]);
});

it('lets only the command line import commands, and only programs end their process', () => {
  const importers = files.filter(
    (file) =>
      !file.startsWith('commands/') && importsOf(file).some((target) => target.startsWith('commands/')),
  );
  expect(importers).toEqual(['cli.ts']);
  expect(files.filter((file) => /\bprocess\.exit(Code)?\b/.test(textOf(file))).toSorted()).toEqual([
    'cli.ts',
    // A worker ends with its Blender.
    'renderers/blender/handler.ts',
    'service/workloads/module-runner.ts',
  ]);
});

it('lets few arrows lead from one part to another', () => {
  const partOf = (path: string): string => (path.includes('/') ? (path.split('/')[0] ?? '') : 'cli');
  const arrows = files.flatMap((file) =>
    importsOf(file)
      .filter((target) => target.endsWith('.ts') || target.endsWith('.tsx'))
      .map((target) => `${partOf(file)} → ${partOf(target)}`),
  );
  const between = new Set(arrows.filter((arrow) => new Set(arrow.split(' → ')).size === 2));
  expect(between.size).toBeLessThanOrEqual(31);
});

it('has no circle of imports, also of types and of what is loaded later', () => {
  const done = new Set<string>();
  const circlesFrom = (file: string, path: string[]): string[][] => {
    if (path.includes(file)) return [[...path.slice(path.indexOf(file)), file]];
    if (done.has(file)) return [];
    const targets = importsOf(file).filter((target) => files.includes(target));
    const circles = targets.flatMap((target) => circlesFrom(target, [...path, file]));
    done.add(file);
    return circles;
  };
  expect(files.flatMap((file) => circlesFrom(file, []))).toEqual([]);
});

it('lets only the terminal print', () => {
  const printers = files.filter((file) =>
    /\bconsole\.\w+\(|process\.std(out|err)\.write\(/.test(textOf(file)),
  );
  // The second shows lines of a program to copy.
  const allowed = new Set(['cli.ts', 'web/console/endpoint-page.tsx']);
  expect(printers.filter((file) => !file.startsWith('terminal/') && !allowed.has(file))).toEqual([]);
});

it('leaves the words of one command to the file of that command', () => {
  const commands = new Set(files.filter((file) => /: LoadedCommand = \{/.test(textOf(file))));
  const ofOneCommand = files.filter((file) => {
    if (!file.startsWith('terminal/')) return false;
    const [user = '', ...others] = files.filter((each) => importsOf(each).includes(file));
    return others.length === 0 && commands.has(user);
  });
  // Every line of JSON, how Markdown is laid out, and how a run is shown.
  expect(ofOneCommand.toSorted()).toEqual([
    'terminal/event-lines.ts',
    'terminal/format-markdown.ts',
    'terminal/run-view.ts',
  ]);
});

it('ends work in time by `withTimeLimit`: on Node 20, AbortSignal.any loses a time-out that nobody else holds', () => {
  const lost = files.filter((file) => /AbortSignal\.any\(\[[^\]]*AbortSignal\.timeout/.test(textOf(file)));
  // Browsers keep it.
  expect(lost).toEqual(['web/gallery/live-page.tsx']);
});

it('keeps clock and chance out of the rules', () => {
  const impure = files.filter(
    (file) =>
      file.startsWith('runner/core/') &&
      /Date\.now|new Date\(\)|Math\.random|performance\./.test(textOf(file)),
  );
  expect(impure).toEqual([]);
});

it('opens every file with a sentence that says what it is for', () => {
  const silent = files.filter((file) => !/^(#!.*\n)?\/\*\* [A-Z`][^]*?\*\//.test(textOf(file)));
  expect(silent).toEqual([]);
});

/**
 * Numbers that may only fall: they count what somebody has to know before a change. If a change lowers a number, it lowers the entry as well.
 */
const numbers: Record<string, [count: () => number, entered: number]> = {
  'calls outside of src/batch and runner/checkpoint that open a checkpoint': [
    () =>
      sum(
        files.map((file) =>
          isDoor(file) ? 0 : matches(file, /\b(openCheckpoint\w*|joinBatch|findSharedBatch)\(/g),
        ),
      ),
    0,
  ],
  'files in commands that are no command': [
    () => files.filter((file) => file.startsWith('commands/') && !isCommand(file)).length,
    7,
  ],
  'files in the longest chain of imports within commands': [
    () => Math.max(...files.filter((file) => file.startsWith('commands/')).map(chainWithin('commands/'))),
    4,
  ],
  'types named Settings, Config, Options, Parts, Context, Choices or Terms': [
    () =>
      sum(
        files.map((file) =>
          matches(
            file,
            /\b(interface|type) \w*(Settings|Config|Options|Parts|Context|Choices|Terms)\b(?=.*[{=])/g,
          ),
        ),
      ),
    57,
  ],
  'shapes of rows, scenes, pictures and attempts in runner': [
    () =>
      sum(
        files.map((file) =>
          file.startsWith('runner/') ? matches(file, /\binterface \w*(Row|Scene|Picture|Attempt)\b/g) : 0,
        ),
      ),
    17,
  ],
  'classes that implement the port of a job service': [
    () => sum(files.map((file) => matches(file, /\bimplements RenderService\b/g))),
    1,
  ],
  'files that submit workflows to ComfyUI or stop its jobs': [
    () => files.filter((file) => /path: '\/prompt'|'\/interrupt'/.test(textOf(file))).length,
    1,
  ],
  'lines of request rate': [
    () =>
      sum(
        ['runner/core/request-rate.ts', 'runner/pipeline/rate-limiter.ts'].map((file) =>
          matches(file, /\n/g),
        ),
      ),
    244,
  ],
  // `EarlierEndpoint` is how stores of earlier versions have one; nothing but its upgrade reads it.
  'shapes of an endpoint': [
    () =>
      sum(
        files.map((file) =>
          /^(service|protocol|web)\//.test(file)
            ? matches(
                file,
                /^(export )?(interface|type) (\w*Endpoint(Settings|Form|Draft)|FileEndpoint|Draft)\b/gm,
              )
            : 0,
        ),
      ),
    1,
  ],
  'source files that name a workload besides its own': [
    () => Math.max(...files.flatMap(usersOfWorkloads)),
    1,
  ],
  'imports that run upwards within service': [
    () =>
      sum(
        files
          .filter((file) => file.startsWith('service/'))
          .map((file) => importsOf(file).filter((target) => heightOf(target) > heightOf(file)).length),
      ),
    0,
  ],
  'loose files in src/service': [() => files.filter((file) => /^service\/[^/]+$/.test(file)).length, 0],
  'files that compare a bucket with undefined': [
    () => files.filter((file) => /bucket (=|!)== undefined/.test(textOf(file))).length,
    1,
  ],
  'files in src': [() => files.length, 450],
  'files with a single importer': [
    () => [...usersOfFiles().values()].filter((users) => users.size === 1).length,
    118,
  ],
  'exported functions that one file imports': [
    () => sum(files.map((file) => usersOfFunctions(file).filter((users) => users === 1).length)),
    544,
  ],
  'comments that begin without a subject': [
    () =>
      sum(
        files.map((file) =>
          matches(
            file,
            /^\s*(\/\*\*|\*|\/\/) ?(What|Of|Whether|Where|Undefined where|Those|That of|None where|As above)\b/gm,
          ),
        ),
      ),
    0,
  ],
  // Two programs of renderers are each a `handler`; the console is a page and the server of that page.
  'file names that exist twice': [
    () => files.length - new Set(files.map((file) => basename(file).replace(/\.tsx?$/, ''))).size,
    2,
  ],
};

it.each(Object.entries(numbers))(
  'counts %s: a number that rises is refused, one that falls is entered',
  (_, [count, entered]) => {
    expect(count()).toBe(entered);
  },
);

/** Number of floors below that of this path; -1 outside of the service. */
function heightOf(path: string): number {
  return Object.keys(floors).indexOf(/^service\/([^/]+)\//.exec(path)?.[1] ?? '');
}

function isDoor(file: string): boolean {
  return file.startsWith('batch/') || file.startsWith('runner/checkpoint/');
}

/** The parser with its table, and what a command is, are part of every command. */
function isCommand(file: string): boolean {
  return /commands\/command(-line)?\.ts$/.test(file) || /: LoadedCommand = \{/.test(textOf(file));
}

function matches(file: string, what: RegExp): number {
  return textOf(file).match(what)?.length ?? 0;
}

function chainWithin(folder: string): (file: string) => number {
  const known = new Map<string, number>();
  const lengthFrom = (file: string): number => {
    const length = known.get(file);
    if (length !== undefined) return length;
    const next = importsOf(file).filter((target) => target.startsWith(folder) && files.includes(target));
    const found = 1 + Math.max(0, ...next.map(lengthFrom));
    known.set(file, found);
    return found;
  };
  return lengthFrom;
}

function usersOfFiles(): Map<string, Set<string>> {
  const users = new Map<string, Set<string>>();
  for (const file of files)
    for (const target of importsOf(file))
      if (files.includes(target)) users.set(target, (users.get(target) ?? new Set()).add(file));
  return users;
}

/** For each function that a file exports, how many files import it by its name. */
function usersOfFunctions(file: string): number[] {
  const names = [...textOf(file).matchAll(/^export (?:async )?function\*? (\w+)/gm)].map(
    ([, name = '']) => name,
  );
  return names.map((name) => files.filter((other) => importedNames(other).has(`${file} ${name}`)).length);
}

const namesImported = new Map<string, Set<string>>();

/** What a file imports by name: path and name, with a space between. */
function importedNames(file: string): Set<string> {
  const known = namesImported.get(file);
  if (known !== undefined) return known;
  const found = [...textOf(file).matchAll(/import (?:type )?\{([^}]*)\} from '(\.[^']+)'/g)];
  const names = found.flatMap(([, list = '', target = '']) =>
    list
      .split(',')
      .map((each) =>
        each
          .trim()
          .replace(/^type /, '')
          .replace(/ as .*/, ''),
      )
      .map((name) => `${relative(src, resolve(src, dirname(file), target))} ${name}`),
  );
  namesImported.set(file, new Set(names));
  return new Set(names);
}

/** For each workload that a file defines, how many files import it. */
function usersOfWorkloads(file: string): number[] {
  const names = [...textOf(file).matchAll(/export const (\w+) = defineWorkload\(/g)].map(([, name]) => name);
  return names.map(
    (name) =>
      files.filter(
        (other) =>
          importsOf(other).includes(file) &&
          new RegExp(`import \\{[^}]*\\b${name}\\b[^}]*\\} from '[^']*/${basename(file)}'`).test(
            textOf(other),
          ),
      ).length,
  );
}

function sum(counts: number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

function isAllowed(target: string, folder: string, ours: string[], packages: string[]): boolean {
  if (target.startsWith(`${folder}/`)) return true;
  if (target.startsWith('node:') && packages.includes('node:*')) return true;
  if (packages.some((name) => target === name || target.startsWith(`${name}/`))) return true;
  return ours.some((name) => target.startsWith(`${name}/`) || target === `${name}.ts`);
}

/** Paths within `src` for ours, names for packages; type imports and dynamic imports count. */
function importsOf(file: string): string[] {
  const known = imports.get(file);
  if (known !== undefined) return known;
  const targets = [...textOf(file).matchAll(/(?:from|import\()\s*'([^'\n,]+)'/g)].map(([, target = '']) =>
    target.startsWith('.')
      ? relative(src, resolve(src, dirname(file), target)).replaceAll('\\', '/')
      : target,
  );
  imports.set(file, targets);
  return targets;
}

function textOf(file: string): string {
  return readFileSync(join(src, file), 'utf8');
}
