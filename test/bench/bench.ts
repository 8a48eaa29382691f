/**
 * `npm run bench` compares this program with a loop that a user would write, on the same service, as ratios within one
 * run.
 */
import { writeFileSync } from 'node:fs';
import { describeLoad } from './load.ts';
import { describeMachine } from './machine.ts';
import { printHelp, readOptions, type Options } from './options.ts';
import { Refusal } from './refusal.ts';
import type { Outcome, Scenario } from './scenario.ts';
import { formatAllTargets, formatComparisons, formatTargets } from './table.ts';

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
  const outcomes: (Pick<Scenario, 'name' | 'load' | 'rounds'> & Outcome)[] = [];
  for (const scenario of options.scenarios) {
    const outcome = await runScenario(scenario, options);
    const { name, load, rounds } = scenario;
    if (outcome !== undefined) outcomes.push({ name, load, rounds, ...outcome });
    if (options.json === undefined) continue;
    // The file is written after each scenario, because a night of measurements may end early.
    const at = new Date().toISOString();
    writeFileSync(options.json, `${JSON.stringify({ at, command, machine, outcomes }, undefined, 2)}\n`);
  }
  if (options.isMarkdown) console.log(`\n${formatAllTargets(outcomes)}`);
}

/**
 * Runs a scenario. If its results do not count, prints the reason and returns undefined, so that the next scenario can
 * run.
 */
async function runScenario(scenario: Scenario, options: Options): Promise<Outcome | undefined> {
  const { name, load } = scenario;
  const settings = load.settings.length === 0 ? 'defaults' : load.settings.join(', ');
  console.log(`\n${name}: ${describeLoad(load)}; our settings: ${settings}\n`);
  try {
    const outcome = await scenario.run(scenario, options);
    if (outcome.comparisons.length > 0) console.log(`${formatComparisons(outcome.comparisons)}\n`);
    console.log(formatTargets(outcome.targets));
    return outcome;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    console.error(`${name}: ${error.message}`);
    process.exitCode = 1;
    return undefined;
  }
}
