/**
 * `npm run build` makes `dist`: the program and the programs that it starts, its pages, and files that the program prints.
 * The code is bundled into few files, because Node loads these faster. `node src/build.mjs tests` makes the programs that
 * tests and benchmarks start.
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
/** Packages that are not bundled. `sharp` has a native part. The others are installed only if a bucket or a database is used. */
const external = ['sharp', 'aws4fetch', 'pg'];

/**
 * Leaves out parts of zod and undici that the program never calls: messages in other languages, fetch, WebSocket and mocks.
 * They are a third of these packages, and each start of the program would load them.
 */
const leaveOutUnused = {
  name: 'leave out what is not used',
  setup(plugins) {
    plugins.onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
    }));
    plugins.onResolve({ filter: /^\.\/lib\/(?:cache|interceptor|mock|web)\// }, ({ path, importer }) =>
      importer.endsWith('undici/index.js') ? { path, namespace: 'left-out' } : undefined,
    );
    plugins.onLoad({ filter: /./, namespace: 'left-out' }, () => ({
      contents: 'module.exports = new Proxy({}, { get: () => class LeftOut {} });',
    }));
  },
};

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
    plugins: [leaveOutUnused],
    // Bundled CommonJS packages call `require`, which ES modules do not have.
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

/** Lists the bundled packages and their licences, because no list of installed packages names them. */
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

/** Returns the commit, marked as dirty if files were changed. Undefined if this is not a git checkout or git is missing. */
function commitHere() {
  const args = ['describe', '--always', '--dirty', '--exclude=*', '--abbrev=12'];
  return (existsSync('.git') && spawnSync('git', args, { encoding: 'utf8' }).stdout?.trim()) || undefined;
}

/** Writes files for editors, shells, `man` and programs, which the built program prints. */
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

/** Writes the type declarations of the library, and of all types that they name. */
function writeTypes() {
  const options = '--declaration --emitDeclarationOnly --allowImportingTsExtensions --strict --types node';
  const kind = '--ignoreConfig --target es2023 --module nodenext --rootDir src --outDir dist/types';
  const args = ['src/library/library.ts', ...`${options} ${kind}`.split(' ')];
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', ...args], { stdio: 'inherit' });
  // Older compilers find declarations only if the imports end with `.js`.
  for (const entry of readdirSync('dist/types', { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = `${entry.parentPath}/${entry.name}`;
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replaceAll(/((?:from |import\()['"]\.[^'"]+)\.ts(?=['"])/g, '$1.js'));
  }
}

/** Bundles each program of the tests into a file of its own, at the path of its source. */
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
