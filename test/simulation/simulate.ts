/**
 * `npm run simulate`: thousands of nights on all processors, the complete sweep of damages, or a search for planted
 * bugs.
 */
import { build } from 'esbuild';
import { fork, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { night, type NightResult } from './night.ts';
import { sweep } from './sweep.ts';
import { plantedBugs, type PlantedBug } from './planted.ts';

const help = `npm run simulate -- [options]
  --nights <n>   so many nights (default: 10000)
  --seed <n>     the seed of the first (default: 1); NIGHT_SEED=<n> shows all of one night
  --sweep        every file of a batch, damaged in every way; --flips <n> bytes of each (default: 200)
  --planted      plants one bug after the other and looks for a night that finds it
  --workers <n>  processes (default: one a processor)`;

const { values } = parseArgs({
  options: {
    nights: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
    sweep: { type: 'boolean', default: false },
    flips: { type: 'string', default: '200' },
    planted: { type: 'boolean', default: false },
    workers: { type: 'string', default: String(availableParallelism()) },
    worker: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const nights = Number(values.nights);
const seed = Number(values.seed);
const workers = Number(values.workers);
const one = process.env['NIGHT_SEED'];

if (values.help) console.log(help);
else if (values.worker) await work();
else if (one !== undefined) await replay(Number(one));
else if (values.sweep) await sweepAll();
else if (values.planted) await findPlanted();
else await simulate();

/** Result of a night without its complete trace. */
type Told = Omit<NightResult, 'trace'> & { last: string[] };

/** Number of lines that are shown of a night that went wrong. */
const lastLines = 40;

async function work(): Promise<void> {
  for (let n = seed; n < seed + nights; n++) {
    const { trace, ...told } = await night(n);
    const last = told.wrong.length === 0 ? [] : trace.slice(-lastLines);
    const result: Told = { ...told, last };
    await new Promise((sent) => process.send?.(result, sent));
  }
  process.disconnect();
}

async function replay(from: number): Promise<void> {
  const { trace, hash } = await night(from);
  console.log(`${trace.join('\n')}\n${hash}`);
}

async function simulate(): Promise<void> {
  console.log(`npm run simulate -- --nights ${nights} --seed ${seed}`);
  const startedAt = performance.now();
  const sums = { nights: 0, starts: 0, kills: 0, damages: 0, wrong: 0 };
  await each(script(), (told) => {
    sums.nights += 1;
    sums.starts += told.starts;
    sums.kills += told.kills;
    sums.damages += told.damages;
    if (told.wrong.length > 0) {
      sums.wrong += 1;
      process.exitCode = 1;
      console.log(`${told.last.join('\n')}\nNIGHT_SEED=${told.seed}: ${told.wrong.join('; ')}`);
    }
  });
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  console.log(
    `${sums.nights} nights, ${sums.starts} starts, ${sums.kills} kills, ${sums.damages} damages, ${sums.wrong} nights went wrong (${seconds} s)`,
  );
}

async function sweepAll(): Promise<void> {
  const options = { flips: Number(values.flips), isWhole: true, emit: (line: string) => console.log(line) };
  const { cases, refused, wrong } = await sweep(seed, options);
  console.log(`seed ${seed}: ${cases} damages, ${refused} refused, ${wrong.length} violations`);
  if (wrong.length > 0) process.exitCode = 1;
}

/** Runs nights from the first on, in several processes, until `see` returns true. */
async function each(
  bundle: string,
  see: (told: Told) => boolean | void,
  { first, count } = { first: seed, count: nights },
): Promise<void> {
  const share = Math.ceil(count / workers);
  const children = Array.from({ length: Math.ceil(count / share) }, (_, i): ChildProcess => {
    const some = Math.min(share, count - i * share);
    const args = ['--worker', '--seed', String(first + i * share), '--nights', String(some)];
    // Every processor has a night of its own, so collecting garbage in parallel only costs more.
    const execArgv = [...process.execArgv, '--single-threaded-gc'];
    return fork(bundle, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], execArgv });
  });
  const ends = children.map(
    (child) =>
      new Promise<void>((end, fail) => {
        child.on('message', (told: Told) => {
          if (see(told) === true) for (const other of children) other.kill();
        });
        child.once('exit', (code) => (code === null || code === 0 ? end() : fail(new Error(`exit ${code}`))));
      }),
  );
  await Promise.all(ends);
}

async function findPlanted(): Promise<void> {
  let missed = 0;
  for (const [i, bug] of plantedBugs.entries()) {
    const found = await find(bug, i + 1);
    if (found === undefined) missed += 1;
    const how = found === undefined ? 'NOT FOUND' : `night ${found.seed}: ${found.wrong[0]?.split('\n')[0]}`;
    console.log(`${String(i + 1).padStart(2)} ${bug.name}: ${how}`);
  }
  console.log(`${plantedBugs.length - missed} of ${plantedBugs.length} planted bugs were found`);
  if (missed > 0) process.exitCode = 1;
}

async function find(bug: PlantedBug, number: number): Promise<Told | undefined> {
  const bundle = script(`planted-${number}.js`);
  await bundleWith(bug, bundle);
  let finder: Told | undefined;
  const see = (told: Told): boolean => {
    if (told.wrong.length > 0) finder ??= told;
    return finder !== undefined;
  };
  await each(bundle, see, { first: bug.seed, count: 1 });
  if (finder === undefined) await each(bundle, see);
  return finder;
}

async function bundleWith({ file, from, to }: PlantedBug, outfile: string): Promise<void> {
  const path = resolve(file);
  const source = readFileSync(path, 'utf8');
  if (source.split(from).length !== 2) throw new Error(`not once in ${file}: ${from}`);
  const contents = source.replace(from, () => to);
  await build({
    entryPoints: ['test/simulation/simulate.ts'],
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    outfile,
    logLevel: 'warning',
    plugins: [
      {
        name: 'plant',
        setup: (plugins) =>
          plugins.onLoad({ filter: /\.ts$/ }, (loaded) =>
            loaded.path === path ? { contents, loader: 'ts' } : undefined,
          ),
      },
    ],
  });
}

function script(name = 'simulate.js'): string {
  return join(import.meta.dirname, name);
}
