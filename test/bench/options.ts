/** What `npm run bench -- …` takes. */
import { parseArgs } from 'node:util';
import { Refusal } from './refusal.ts';
import { scenarios, type Scenario } from './scenario.ts';

export interface Options {
  rounds: number;
  warmUps: number;
  scenarios: Scenario[];
  json: string | undefined;
  profile: string | undefined;
}

const help = `npm run bench -- [options]

  --rounds N       measured rounds, each of both sides (3)
  --warm-ups N     rounds before them that do not count (1)
  --scenario NAME  only this one: ${scenarios.map(({ name }) => `'${name}'`).join(', ')}
  --scenes N       scenes in each scenario (its own number)
  --seed N         of execution times and picture (1)
  --shortest TIME  our polling.shortest in every scenario; 'default' for the program's own
  --json FILE      write all results there as well
  --profile DIR    run our side once more and leave its CPU profile there`;

/** Refuses what it does not understand, in words. */
export function readOptions(args: string[]): Options | 'help' {
  const { values } = parseStrictly(args);
  if (values.help === true) return 'help';
  const chosen = scenarios.filter(({ name }) => values.scenario === undefined || name === values.scenario);
  const isKept = (line: string): boolean => values.shortest === undefined || !line.startsWith('polling:');
  if (chosen.length === 0) throw new Refusal(`There is no scenario '${values.scenario}'.\n\n${help}`);
  return {
    rounds: readCount('rounds', values.rounds, 1) ?? 3,
    warmUps: readCount('warm-ups', values['warm-ups'], 0) ?? 1,
    scenarios: chosen.map((scenario) => ({
      ...scenario,
      scenes: readCount('scenes', values.scenes, 1) ?? scenario.scenes,
      seed: readCount('seed', values.seed, 0) ?? scenario.seed,
      settings: [...scenario.settings.filter(isKept), ...pollingSettings(values.shortest)],
    })),
    json: values.json,
    profile: values.profile,
  };
}

export function printHelp(): void {
  console.log(help);
}

function parseStrictly(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        rounds: { type: 'string' },
        'warm-ups': { type: 'string' },
        scenario: { type: 'string' },
        scenes: { type: 'string' },
        seed: { type: 'string' },
        shortest: { type: 'string' },
        json: { type: 'string' },
        profile: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new Refusal(`${error instanceof Error ? error.message : String(error)}\n\n${help}`, {
      cause: error,
    });
  }
}

function readCount(name: string, text: string | undefined, least: number): number | undefined {
  if (text === undefined) return undefined;
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < least)
    throw new Refusal(`--${name} is a whole number from ${least} on.`);
  return count;
}

function pollingSettings(shortest = 'default'): string[] {
  return shortest === 'default' ? [] : [`polling: {shortest: ${shortest}}`];
}
