/** `npm run bench`: this program against what a user would write, on the same service, as ratios in one run. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describeMachine } from './machine.ts';
import { compare, type Comparison, type Results } from './measures.ts';
import { printHelp, readOptions, type Options } from './options.ts';
import { makePicture } from './picture.ts';
import { Refusal } from './refusal.ts';
import { runSide } from './run-side.ts';
import { describeScenario, type Scenario } from './scenario.ts';
import { ours, sides } from './sides.ts';
import { formatTable } from './table.ts';

const args = process.argv.slice(2);
try {
  const options = readOptions(args);
  if (options === 'help') printHelp();
  else await bench(options);
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

async function bench(options: Options): Promise<void> {
  const machine = describeMachine();
  const command = ['npm run bench', ...(args.length > 0 ? ['--', ...args] : [])].join(' ');
  console.log(
    `${command}\n${Object.values(machine)
      .join(', ')
      .replace(/, (\d+),/, ', $1 cores,')}`,
  );
  const outcomes: Outcome[] = [];
  for (const scenario of options.scenarios) outcomes.push(await runScenario(scenario, options));
  if (options.json !== undefined) {
    const at = new Date().toISOString();
    writeFileSync(options.json, `${JSON.stringify({ at, command, machine, outcomes }, undefined, 2)}\n`);
  }
}

interface Outcome {
  scenario: Scenario;
  pictureBytes: number;
  comparisons: Comparison[];
  results: Results;
}

async function runScenario(scenario: Scenario, options: Options): Promise<Outcome> {
  const picture = await makePicture(scenario.pictureBytes, scenario.seed);
  const settings = scenario.settings.length === 0 ? 'defaults' : scenario.settings.join(', ');
  console.log(`\n${scenario.name}: ${describeScenario(scenario)}; our settings: ${settings}\n`);
  const results = await takeTurns(scenario, picture, options);
  const comparisons = compare(scenario, results);
  console.log(formatTable(comparisons));
  if (options.profile !== undefined) await profileOurs(scenario, picture, options.profile);
  return { scenario, pictureBytes: picture.length, comparisons, results };
}

/** Alternately, so that a machine that grows slower or faster does so for both. */
async function takeTurns(scenario: Scenario, picture: Buffer, options: Options): Promise<Results> {
  const results: Results = { ours: [], peer: [] };
  for (let round = 1 - options.warmUps; round <= options.rounds; round++) {
    for (const side of sides) {
      const result = await runSide(side, scenario, picture);
      if (round > 0) results[side.name].push(result);
      const name = round > 0 ? `round ${round} of ${options.rounds}` : 'warm-up';
      console.error(`${scenario.name}, ${name}, ${side.name}: ${(result.wallMs / 1_000).toFixed(2)} s`);
    }
  }
  return results;
}

async function profileOurs(scenario: Scenario, picture: Buffer, folder: string): Promise<void> {
  const dir = resolve(folder);
  mkdirSync(dir, { recursive: true });
  await runSide(ours, scenario, picture, ['--cpu-prof', '--cpu-prof-dir', dir]);
  console.log(`\nThe CPU profile of our side is in ${dir}`);
}
