/**
 * `npm run build` makes `dist`: the program and what it starts as processes of their own, in few files since Node loads
 * those quicker, its pages, and what is printed once. `node src/build.mjs tests` makes what tests and benchmarks start.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { build } from 'esbuild';

const common = { bundle: true, format: 'esm', platform: 'node', target: 'node20.19', logLevel: 'warning' };
/** The first has a native part; the others are there only where a bucket or a database is used. */
const external = ['sharp', 'aws4fetch', 'pg'];

if (process.argv[2] === 'tests') await buildTests();
else await buildProgram();

async function buildProgram() {
  rmSync('dist', { recursive: true, force: true });
  const program = await build({
    ...common,
    entryPoints: [
      'src/cli.ts',
      'src/index.ts',
      'src/service/workloads/module-runner.ts',
      'src/service/workloads/thread-runner.ts',
      'src/renderers/blender/handler.ts',
      'src/renderers/scene/handler.ts',
    ],
    outdir: 'dist',
    outbase: 'src',
    splitting: true,
    chunkNames: 'parts/[name]-[hash]',
    external,
    minifySyntax: true,
    legalComments: 'none',
    // For packages that are CommonJS.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
    metafile: true,
  });
  copyFileSync('src/renderers/blender/worker.py', 'dist/renderers/blender/worker.py');
  const way = { ...common, format: 'cjs', bundle: false, entryPoints: ['src/nightrender.cts'] };
  await build({ ...way, outfile: 'dist/nightrender.cjs' });
  chmodSync('dist/nightrender.cjs', 0o755);
  const pages = await build({
    ...common,
    entryPoints: ['gallery', 'album', 'console'].flatMap((name) =>
      ['tsx', 'css'].map((end) => `src/web/${name}/${name}.${end}`),
    ),
    outdir: 'dist/web',
    entryNames: '[name]',
    format: 'iife',
    platform: 'browser',
    target: 'es2022',
    minify: true,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    banner: { js: '/*! With Preact, (c) 2015-present Jason Miller, MIT License */' },
    metafile: true,
  });
  const inputs = [program, pages].flatMap(({ metafile }) => Object.keys(metafile.inputs));
  writeContents(inputs.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? []));
  writePrinted();
  writeTypes();
}

/** The packages that the bundles hold, with their licences: no list of what is installed names them. */
function writeContents(folders) {
  const texts = new Map();
  for (const folder of [...new Set(folders)].toSorted((a, b) => (a < b ? -1 : 1))) {
    const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
    const files = readdirSync(folder).filter((entry) => /^(licen[cs]e|notice)/i.test(entry));
    if (files.length === 0) throw new Error(`${folder} has no file with its licence`);
    const text = files.map((file) => readFileSync(`${folder}/${file}`, 'utf8').trim()).join('\n\n');
    texts.set(`${name}@${version}`, `${name} ${version} (${license})\n\n${text}\n`);
  }
  writeFileSync('dist/LICENSES.txt', [...texts.values()].join(`\n${'-'.repeat(80)}\n\n`));
  const contents = { commit: commitHere(), bundled: [...texts.keys()] };
  writeFileSync('dist/build.json', `${JSON.stringify(contents, null, 2)}\n`);
}

/** Marked where its files were changed; none in a copy, nor where git is not to be had. */
function commitHere() {
  const args = ['describe', '--always', '--dirty', '--exclude=*', '--abbrev=12'];
  return (existsSync('.git') && spawnSync('git', args, { encoding: 'utf8' }).stdout?.trim()) || undefined;
}

/** What editors, `man` and programs read. */
function writePrinted() {
  const printed = {
    'nightrender.1': ['man'],
    'completion/bash': ['completion', 'bash'],
    'completion/zsh': ['completion', 'zsh'],
    'completion/fish': ['completion', 'fish'],
    'config/pipeline.schema.json': ['schema', 'pipeline'],
    'config/service.schema.json': ['schema', 'service'],
    'terminal/events.schema.json': ['schema', 'events'],
  };
  for (const folder of ['completion', 'config', 'terminal']) mkdirSync(`dist/${folder}`);
  for (const [file, args] of Object.entries(printed)) {
    writeFileSync(`dist/${file}`, execFileSync(process.execPath, ['dist/nightrender.cjs', ...args]));
  }
}

/** Of what other programs import, and of what that names. */
function writeTypes() {
  const options = '--declaration --emitDeclarationOnly --allowImportingTsExtensions --strict --types node';
  const kind = '--ignoreConfig --target es2023 --module nodenext --rootDir src --outDir dist/types';
  const args = ['src/library/library.ts', ...`${options} ${kind}`.split(' ')];
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', ...args], { stdio: 'inherit' });
  // Older compilers find files under this ending alone.
  for (const entry of readdirSync('dist/types', { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = `${entry.parentPath}/${entry.name}`;
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replaceAll(/((?:from |import\()['"]\.[^'"]+)\.ts(?=['"])/g, '$1.js'));
  }
}

/** Each is a file of its own, in the place of its source. */
async function buildTests() {
  await build({
    ...common,
    entryPoints: [
      'test/bench/bench.ts',
      'test/bench/bench-render.ts',
      'test/bench/bench-service.ts',
      'test/bench/peer.ts',
      'test/bench/serve-bare.ts',
      'test/bench/serve-bench.ts',
      'test/bench/serve-load.ts',
      'test/bench/serve-service.ts',
      'test/bench/usage-probe.ts',
      'test/chaos/blender-night.ts',
      'test/chaos/chaos.ts',
      'test/chaos/hostile-service.ts',
      'test/fixtures/*.ts',
      'test/mutation/mutate.ts',
      'test/simulation/simulate.ts',
    ],
    outdir: 'dist/test',
    outbase: 'test',
    packages: 'external',
  });
}
