/** Options of `npm run bench:serve -- …`. */
import { parseArgs } from 'node:util';
import { Refusal } from './refusal.ts';
import type { Traffic } from './serve-traffic.ts';

export const scenarioNames = ['rates', 'memory', 'million', 'shared'] as const;

const kinds = ['submit', 'status', 'mixed', 'pull', 'health'] as const satisfies Traffic['kind'][];

export type ScenarioName = (typeof scenarioNames)[number];

export interface ServeOptions {
  scenarios: readonly ScenarioName[];
  /** Kinds of traffic for `rates`. Empty means all. */
  kinds: Traffic['kind'][];
  /** Number of jobs in the database at the start, for `rates` and `memory`. */
  jobs: number;
  /** Number of jobs in the database at the start, for `million`. */
  manyJobs: number;
  seconds: number;
  /** Number of requests for `memory`. */
  requests: number;
  profile: string | undefined;
}

const help = `npm run bench:serve -- [options]

  --scenario NAME  only this one, or these where it is given several times:
                   ${scenarioNames.join(', ')}
  --kind NAME      of requests, for 'rates': ${kinds.join(', ')}
  --jobs N         in the book for 'rates' and 'memory' (100000)
  --many-jobs N    in the book for 'million' (1000000)
  --seconds N      of each measure of 'rates' (8)
  --requests N     of 'memory', two submissions on five status requests (1400000)
  --profile DIR    leave CPU profiles of the service there`;

/** Reads the options. Throws `Refusal` with a message for the user if they are invalid. */
export function readServeOptions(args: string[]): ServeOptions | 'help' {
  const values = parseStrictly(args);
  if (values.help === true) return 'help';
  const chosen = scenarioNames.filter((name) => values.scenario?.includes(name) ?? true);
  assertKnown('scenario', values.scenario, scenarioNames);
  assertKnown('kind', values.kind, kinds);
  return {
    scenarios: chosen,
    kinds: kinds.filter((kind) => values.kind?.includes(kind)),
    jobs: readCount('jobs', values.jobs) ?? 100_000,
    manyJobs: readCount('many-jobs', values['many-jobs']) ?? 1_000_000,
    seconds: readCount('seconds', values.seconds) ?? 8,
    requests: readCount('requests', values.requests) ?? 1_400_000,
    profile: values.profile,
  };
}

export function printServeHelp(): void {
  console.log(help);
}

function parseStrictly(args: string[]) {
  const text = { type: 'string' } as const;
  const several = { type: 'string', multiple: true } as const;
  const counts = { jobs: text, 'many-jobs': text, seconds: text, requests: text };
  const named = { scenario: several, kind: several, profile: text };
  const options = { ...counts, ...named, help: { type: 'boolean', short: 'h' } } as const;
  try {
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new Refusal(`${error instanceof Error ? error.message : String(error)}\n\n${help}`, {
      cause: error,
    });
  }
}

function assertKnown(what: string, given: string[] | undefined, known: readonly string[]): void {
  const unknown = given?.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Refusal(`There is no ${what} '${unknown}'.\n\n${help}`);
}

function readCount(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1) throw new Refusal(`--${name} is a whole number from 1 on.`);
  return count;
}
