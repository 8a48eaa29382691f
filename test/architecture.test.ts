/**
 * Promise: every part of the program can be changed without knowledge of the parts above it. The table below says which
 * folder may import which of our folders and which packages.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const src = resolve(import.meta.dirname, '../src');

/**
 * The layers of the service, lowest first, with their packages other than those of Node. Each layer may import itself
 * and the layers below it.
 */
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
 * A folder may import itself, these of our folders or files (by path), and these packages. `node:*` stands for all
 * built-in modules. `runner/core` and `runner/pipeline` may use only the built-in modules that are named.
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
  // Computing a SHA-256 is a pure function.
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
  // The types of Kubernetes manifests come from a package that is never installed for users.
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
  // A renderer may crash at any time. Therefore the service starts it as a process and imports nothing from it.
  renderers: { ours: ['lib'], packages: ['fzstd', 'sharp', 'zod', 'node:*'] },
  'renderers/language': { ours: ['renderers/colour'], packages: [] },
  // Pages are bundled separately for browsers, so they must not contain modules of Node.
  web: { ours: ['protocol/console-data', 'protocol/paths', 'runner/core'], packages: ['preact'] },
  // The service comes into a batch as an argument. Notifications and refusals use functions of `terminal` that make
  // text.
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

/** Files of tests, as paths from `src`. */
const tests = readdirSync(join(src, '../test'), { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => `../test/${file}`);

/** Matches comments whose first word makes the reader look for the subject in the code. */
const subjectless =
  /^\s*(\/\*\*|\*|\/\/) ?(What|Of|Whether|Where|Undefined where|Those|That of|None where|As above)\b/gm;

const imports = new Map<string, string[]>();

describe.each(Object.entries(table))('%s', (folder, { ours, packages }) => {
  it('imports only what the table allows', () => {
    const own = files.filter((file) => file.startsWith(`${folder}/`));
    const strangers = own.flatMap((file) =>
      importsOf(file)
        .filter((target) => !isAllowed(target, folder, ours, packages))
        .map((target) => `${file} imports ${target}`),
    );
    expect(strangers).toEqual([]);
  });
});

it('the table has every folder of src', () => {
  const places = [...Object.keys(table), 'commands'].map((folder) => `${folder}/`);
  const strays = files.filter(
    (file) => file.includes('/') && !places.some((place) => file.startsWith(place)),
  );
  expect(strays).toEqual([]);
});

it('only the command line imports commands, and only programs end their process', () => {
  const importers = files.filter(
    (file) =>
      !file.startsWith('commands/') && importsOf(file).some((target) => target.startsWith('commands/')),
  );
  expect(importers).toEqual(['cli.ts']);
  expect(files.filter((file) => /\bprocess\.exit(Code)?\b/.test(textOf(file))).toSorted()).toEqual([
    'cli.ts',
    // This worker ends together with its Blender.
    'renderers/blender/handler.ts',
    'service/workloads/module-runner.ts',
  ]);
});

it('the parts of the program have few dependencies on each other', () => {
  const partOf = (path: string): string => (path.includes('/') ? (path.split('/')[0] ?? '') : 'cli');
  const arrows = files.flatMap((file) =>
    importsOf(file)
      .filter((target) => target.endsWith('.ts') || target.endsWith('.tsx'))
      .map((target) => `${partOf(file)} → ${partOf(target)}`),
  );
  const between = new Set(arrows.filter((arrow) => new Set(arrow.split(' → ')).size === 2));
  expect(between.size).toBeLessThanOrEqual(31);
});

it('there is no cycle of imports, including types and dynamic imports', () => {
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

it('only the terminal prints', () => {
  const printers = files.filter((file) =>
    /\bconsole\.\w+\(|process\.std(out|err)\.write\(/.test(textOf(file)),
  );
  // The second file only shows lines of a program that a user copies.
  const allowed = new Set(['cli.ts', 'web/console/endpoint-page.tsx']);
  expect(printers.filter((file) => !file.startsWith('terminal/') && !allowed.has(file))).toEqual([]);
});

it('keeps texts of a single command in the file of that command', () => {
  const commands = new Set(files.filter((file) => /: LoadedCommand = \{/.test(textOf(file))));
  const ofOneCommand = files.filter((file) => {
    if (!file.startsWith('terminal/')) return false;
    const [user = '', ...others] = files.filter((each) => importsOf(each).includes(file));
    return others.length === 0 && commands.has(user);
  });
  // These format lines of JSON, Markdown, and the view of a run.
  expect(ofOneCommand.toSorted()).toEqual([
    'terminal/event-lines.ts',
    'terminal/format-markdown.ts',
    'terminal/run-view.ts',
  ]);
});

it('ends work in time by `withTimeLimit`: on Node 20, AbortSignal.any loses a time-out that nobody else holds', () => {
  const lost = files.filter((file) => /AbortSignal\.any\(\[[^\]]*AbortSignal\.timeout/.test(textOf(file)));
  // Browsers do not have this bug.
  expect(lost).toEqual(['web/gallery/live-page.tsx']);
});

it('keeps clock and random numbers out of the rules', () => {
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
 * Numbers that may only fall. They count what an engineer must know before making a change. A change that lowers a
 * number must also lower its entry.
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
  // `EarlierEndpoint` is the shape in stores of earlier versions. Only their upgrade reads it.
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
  'files in src': [() => files.length, 445],
  'files with a single importer': [
    () => [...usersOfFiles().values()].filter((users) => users.size === 1).length,
    116,
  ],
  'exported functions that one file imports': [
    () => sum(files.map((file) => usersOfFunctions(file).filter((users) => users === 1).length)),
    502,
  ],
  'comments that begin without a subject': [() => sum(files.map((file) => matches(file, subjectless))), 0],
  'comments of tests that begin without a subject': [
    () => sum(tests.map((file) => matches(file, subjectless))),
    0,
  ],
  // Two renderers each have a `handler`. The console has a page and a server for it.
  'file names that exist twice': [
    () => files.length - new Set(files.map((file) => basename(file).replace(/\.tsx?$/, ''))).size,
    2,
  ],
};

it.each(Object.entries(numbers))(
  'counts %s: a number that rises is refused, and a number that falls is entered',
  (_, [count, entered]) => {
    expect(count()).toBe(entered);
  },
);

/** Returns the number of service layers below this path. -1 for a file outside of the service. */
function heightOf(path: string): number {
  return Object.keys(floors).indexOf(/^service\/([^/]+)\//.exec(path)?.[1] ?? '');
}

function isDoor(file: string): boolean {
  return file.startsWith('batch/') || file.startsWith('runner/checkpoint/');
}

/**
 * True for the definition of a command, and for the parser of arguments with the table of commands, which belongs to
 * every command.
 */
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

/** Returns, for each function that a file exports, how many files import it by name. */
function usersOfFunctions(file: string): number[] {
  const names = [...textOf(file).matchAll(/^export (?:async )?function\*? (\w+)/gm)].map(
    ([, name = '']) => name,
  );
  return names.map((name) => files.filter((other) => importedNames(other).has(`${file} ${name}`)).length);
}

const namesImported = new Map<string, Set<string>>();

/** Returns what a file imports by name, each as path and name with a space between. */
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

/** Returns, for each workload that a file defines, how many files import it. */
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

/**
 * Returns all imports of a file, including type imports and dynamic imports: paths within `src`, or names of packages.
 */
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
