/** Options of `npm run bench -- …`. */
import { parseArgs } from 'node:util';
import { Refusal } from './refusal.ts';
import type { Load } from './load.ts';
import type { Scenario } from './scenario.ts';
import { scenarios } from './scenarios/scenarios.ts';

export interface Options {
  scenarios: Scenario[];
  isMarkdown: boolean;
  json: string | undefined;
  profile: string | undefined;
}

const help = `npm run bench -- [options]

  --scenario NAME  only this one, or these where it is given several times:
                   ${scenarios.map(({ name }) => `'${name}'`).join(', ')}
  --quick          one round each, with fewer scenes where that says something
  --rounds N       measured rounds (each scenario's own number)
  --warm-ups N     rounds before them that do not count (each scenario's own number)
  --scenes N       scenes in each scenario (its own number)
  --seed N         of execution times and picture (1)
  --shortest TIME  our polling.shortest in every scenario; 'default' for the program's own
  --markdown       all targets as one table at the end
  --json FILE      write all results there as well
  --profile DIR    run our side once more and leave its CPU profile there`;

/** Reads the options. Throws `Refusal` with a message for the user if they are invalid. */
export function readOptions(args: string[]): Options | 'help' {
  const { values } = parseStrictly(args);
  if (values.help === true) return 'help';
  const unknown = values.scenario?.find((wanted) => scenarios.every(({ name }) => name !== wanted));
  if (unknown !== undefined) throw new Refusal(`There is no scenario '${unknown}'.\n\n${help}`);
  const chosen = scenarios.filter(({ name }) => values.scenario?.includes(name) ?? true);
  return {
    scenarios: chosen.map((scenario) => withValues(scenario, values)),
    isMarkdown: values.markdown === true,
    json: values.json,
    profile: values.profile,
  };
}

function withValues(scenario: Scenario, values: ReturnType<typeof parseStrictly>['values']): Scenario {
  const isQuick = values.quick === true;
  const load: Load = { ...scenario.load, ...(isQuick && scenario.quick) };
  const isKept = (line: string): boolean => values.shortest === undefined || !line.startsWith('polling:');
  return {
    ...scenario,
    rounds: readCount('rounds', values.rounds, 1) ?? (isQuick ? 1 : scenario.rounds),
    warmUps: readCount('warm-ups', values['warm-ups'], 0) ?? (isQuick ? 0 : scenario.warmUps),
    load: {
      ...load,
      scenes: readCount('scenes', values.scenes, 1) ?? load.scenes,
      seed: readCount('seed', values.seed, 0) ?? load.seed,
      settings: [...load.settings.filter(isKept), ...pollingSettings(values.shortest)],
    },
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
        scenario: { type: 'string', multiple: true },
        quick: { type: 'boolean' },
        markdown: { type: 'boolean' },
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
