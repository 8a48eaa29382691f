/**
 * `npm run mutate` breaks the sources at random places, one at a time, and checks whether a test of that area notices.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { seededRandom } from '../bench/random.ts';
import { mutated, mutationsOf, type Mutation } from './mutations.ts';

const help = `npm run mutate -- [options]
  --seed <n>     of the first mutation (default: 1); the same seed breaks the same place of the same sources
  --count <n>    so many mutations (default: 20)
  --area <path>  only of files below this folder
  --out <file>   a line of JSON for each; seeds that it has are not tried again
  --again <file> the places of such a file once more, found by file and text; those that are gone are counted`;

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '20' },
    area: { type: 'string' },
    out: { type: 'string' },
    again: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

interface Area {
  folder: string;
  /** Commands that run in turn until a test fails, fastest first. */
  tests: string[][];
}

const roads = [
  'road',
  'kill',
  'resume',
  'retry',
  'lost-answers',
  'plan',
  'verify',
  'signals',
  'starts',
  'status',
].map((name) => `test/e2e/${name}.test.ts`);
const pipelineTests = ['test/runner/pipeline', 'test/simulation'];
const serviceTests = [
  ['test/service'],
  ['test/e2e/serve', 'test/e2e/keys', 'test/e2e/work', 'test/contracts'],
];
const areas: Area[] = [
  {
    folder: 'src/runner/core',
    tests: [['test/runner/core'], ['test/runner', 'test/commands', 'test/terminal'], roads],
  },
  { folder: 'src/runner/pipeline', tests: [pipelineTests, ['test/runner', 'test/contracts'], roads] },
  {
    folder: 'src/runner/client',
    tests: [
      ['test/runner/client'],
      [...pipelineTests, 'test/contracts'],
      [...roads, 'test/e2e/other-services', 'test/e2e/comfyui.test.ts', 'test/e2e/downloads'],
    ],
  },
  { folder: 'src/service/jobs', tests: [['test/service/jobs'], ...serviceTests] },
  { folder: 'src/service/workers', tests: [['test/service/workers'], ...serviceTests] },
  {
    folder: 'src/lib',
    tests: [['test/lib'], ['test/runner', 'test/service'], ['test/e2e', 'test/commands']],
  },
];

/** Tests that pass on unchanged sources. */
const green = new Set<string>();

/** Result of a mutation. */
interface Told extends Mutation {
  seed: number;
  file: string;
  line: number;
  was: string;
  /** Name of the test that failed, or the reason why it could not run. Null if all tests passed. */
  killedBy: string | null;
}

function main(): void {
  const { out } = values;
  const done = out !== undefined && existsSync(out) ? readLines(out) : [];
  const places = placesIn(values.area);
  const chosen = values.again === undefined ? drawn(places) : found(places, readLines(values.again));
  const copy = copyOfTree();
  try {
    for (const [seed, { place, askedFirst }] of chosen) {
      if (done.some((each) => each.seed === seed)) continue;
      const told = attempt(copy, seed, place, askedFirst);
      done.push(told);
      if (out !== undefined) appendFileSync(out, `${JSON.stringify(told)}\n`);
      console.log(
        `${seed} ${told.killedBy === null ? 'SURVIVED' : 'killed'} ${told.file}:${told.line} ${told.kind}: ${told.was}`,
      );
    }
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
  console.log(tableOf(done));
}

/** A place to break, and the test that noticed the same mutation in an earlier run. */
interface Choice {
  place: Place;
  askedFirst?: string | undefined;
}

function drawn(places: Place[]): Map<number, Choice> {
  const seeds = Array.from({ length: Number(values.count) }, (_, i) => Number(values.seed) + i);
  return new Map(
    seeds.map((seed) => {
      const place = places[Math.floor(seededRandom(seed)() * places.length)];
      if (place === undefined) throw new Error('there is nothing to mutate');
      return [seed, { place }];
    }),
  );
}

/**
 * Finds places of an earlier run in today's sources: the same change of the same line, in the same file if it still has
 * that line.
 */
function found(places: Place[], earlier: Told[]): Map<number, Choice> {
  const choices = new Map<number, Choice>();
  for (const told of earlier) {
    const same = places.filter(
      (place) =>
        place.mutation.kind === told.kind && place.mutation.by === told.by && lineOf(place).text === told.was,
    );
    const inFile = same.filter(({ file }) => file === told.file);
    const [place] = (inFile.length > 0 ? inFile : same).toSorted(
      (a, b) => Math.abs(lineOf(a).number - told.line) - Math.abs(lineOf(b).number - told.line),
    );
    if (place !== undefined) choices.set(told.seed, { place, askedFirst: testIn(told.killedBy) });
  }
  console.log(`${choices.size} of ${earlier.length} places are still there`);
  return choices;
}

function lineOf({ text, mutation }: Place): { number: number; text: string } {
  const number = text.slice(0, mutation.start).split('\n').length;
  return { number, text: (text.split('\n')[number - 1] ?? '').trim() };
}

interface Place {
  area: Area;
  file: string;
  text: string;
  mutation: Mutation;
}

function placesIn(below = 'src'): Place[] {
  return areas.flatMap((area) =>
    filesBelow(area.folder)
      .filter((file) => file.endsWith('.ts') && file.startsWith(below))
      .flatMap((file) => {
        const text = readFileSync(file, 'utf8');
        return mutationsOf(file, text).map((mutation) => ({ area, file, text, mutation }));
      }),
  );
}

function filesBelow(...paths: string[]): string[] {
  const listed = ['ls-files', '-co', '--exclude-standard', '--', ...paths];
  return execFileSync('git', listed, { encoding: 'utf8' })
    .split('\n')
    .filter((file) => file !== '' && existsSync(file));
}

function copyOfTree(): string {
  const copy = mkdtempSync(join(tmpdir(), 'nightrender-mutation-'));
  for (const file of filesBelow()) cpSync(file, join(copy, file));
  symlinkSync(resolve('node_modules'), join(copy, 'node_modules'));
  return copy;
}

function attempt(copy: string, seed: number, place: Place, askedFirst?: string): Told {
  const { file, text, mutation, area } = place;
  const { number: line, text: was } = lineOf(place);
  writeFileSync(join(copy, file), mutated(text, mutation));
  const near = testsThatImport(file);
  const killedBy =
    (askedFirst !== undefined && existsSync(askedFirst) ? killerOf(copy, [[askedFirst]]) : null) ??
    (near.length > 0 ? failureIn(copy, [near], 120) : null) ??
    killerOf(copy, area.tests);
  writeFileSync(join(copy, file), text);
  const test = testIn(killedBy);
  return {
    seed,
    file,
    line,
    was,
    ...mutation,
    killedBy: test === undefined || isGreen(copy, test) ? killedBy : null,
  };
}

function testIn(killedBy: string | null): string | undefined {
  return killedBy === null ? undefined : /^test\/\S+\.test\.ts/.exec(killedBy)?.[0];
}

/** Returns tests that import the file. They need no build, and most mutations fail in them. */
function testsThatImport(file: string): string[] {
  const path = file.replace(/^src\//, '/src/');
  return filesBelow('test').filter(
    (test) => test.endsWith('.test.ts') && readFileSync(test, 'utf8').includes(`${path}'`),
  );
}

/** True if the test passes on unchanged sources. Otherwise its failure proves nothing. */
function isGreen(copy: string, test: string): boolean {
  if (!green.has(test) && killerOf(copy, [[test]]) === null) green.add(test);
  return green.has(test);
}

/** Limit in seconds for each command. A mutation that causes an endless loop counts as noticed. */
const patienceSeconds = 900;

function killerOf(copy: string, tests: string[][]): string | null {
  return runs(copy, 'npm', ['run', '--silent', 'build:test']) ? failureIn(copy, tests) : 'the build';
}

function failureIn(copy: string, tests: string[][], seconds = patienceSeconds): string | null {
  const results = join(copy, 'results.json');
  for (const some of tests) {
    rmSync(results, { force: true });
    const args = ['run', '--config', 'test/vitest.config.ts', '--bail', '1', '--passWithNoTests', ...some];
    const env = { NIGHTRENDER_TEST_RESULTS: results };
    if (!runs(copy, 'node_modules/.bin/vitest', args, env, seconds)) return failedIn(results);
  }
  return null;
}

/**
 * Runs a command with a limit. `timeout` kills the whole process group, because a worker in an endless loop never
 * handles a signal.
 */
function runs(cwd: string, command: string, args: string[], env = {}, seconds = patienceSeconds): boolean {
  const options = { cwd, env: { ...process.env, ...env }, stdio: 'ignore' } as const;
  return spawnSync('timeout', ['-s', 'KILL', String(seconds), command, ...args], options).status === 0;
}

function failedIn(results: string): string {
  if (!existsSync(results)) return 'the end of patience';
  const { testResults } = JSON.parse(readFileSync(results, 'utf8')) as {
    testResults: { name: string; status: string; assertionResults: { status: string; fullName: string }[] }[];
  };
  const file = testResults.find(({ status }) => status === 'failed');
  const test = file?.assertionResults.find(({ status }) => status === 'failed');
  return `${file?.name.replace(/^.*\/test\//, 'test/') ?? 'an error'}: ${test?.fullName ?? 'does not load'}`;
}

function readLines(file: string): Told[] {
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Told);
}

/** Returns a Markdown table with one row for each area. */
function tableOf(all: Told[]): string {
  const rows = areas.map(({ folder }) => {
    const its = all.filter(({ file }) => file.startsWith(`${folder}/`));
    const killed = its.filter(({ killedBy }) => killedBy !== null).length;
    return `| ${folder} | ${its.length} | ${killed} |`;
  });
  return ['| area | mutations | killed |', '| --- | --- | --- |', ...rows].join('\n');
}

// The call is last because it needs the constants above.
if (values.help) console.log(help);
else main();
