/** From faults.yaml to what is to go wrong at the local service, or to every problem at once. */
import type { z } from 'zod';
import {
  faultPlaces,
  type FaultPlace,
  type FaultSettings,
  type ScriptedFault,
} from '../faults/fault-settings.ts';
import { faultTable } from '../faults/fault-table.ts';
import { checkAgainst } from '../../lib/yaml/check-shape.ts';
import { faultsLayout, faultsSchema } from './faults-schema.ts';
import { gatherProblems, ConfigError } from '../../lib/yaml/problem.ts';
import { secretsOf } from '../../lib/yaml/shown.ts';
import { readYamlFile } from '../../lib/yaml/yaml-file.ts';

/** `file` may be relative to the working directory. Throws `ConfigError`. */
export function readFaults(file: string, env: NodeJS.ProcessEnv): FaultSettings {
  const yaml = readYamlFile(file, env, { expected: 'faults.yaml' });
  if (yaml.isBroken) throw new ConfigError(yaml.problems);
  const secrets = secretsOf(undefined, env);
  const { raw, problems } = checkAgainst(faultsSchema, yaml, secrets, faultsLayout);
  const all = gatherProblems(yaml, problems, secrets);
  if (raw === undefined || all.length > 0) throw new ConfigError(all);
  return {
    seed: raw.seed,
    rates: ratesOf(raw.rates),
    script: raw.script.map(scriptedOf),
    lateMs: raw.times.late,
    slowMs: raw.times.slow,
    freshMs: raw.times.fresh,
  };
}

type Raw = z.output<typeof faultsSchema>;

function ratesOf(rates: Raw['rates']): FaultSettings['rates'] {
  const entries = faultPlaces.map((place) => [place, new Map(sharesOf(place, rates[place]))]);
  return Object.fromEntries(entries) as Record<FaultPlace, Map<string, number>>;
}

/** One share for all stands for as much of each that a client can get around. */
function sharesOf(place: FaultPlace, rate: Raw['rates'][FaultPlace]): [string, number][] {
  if (typeof rate !== 'number')
    return Object.entries(rate ?? {}).flatMap(([name, share]) =>
      share === undefined ? [] : [[name, share]],
    );
  const names = faultTable[place].filter(({ isFinal }) => !isFinal).map(({ name }) => name);
  return names.map((name) => [name, rate / names.length]);
}

function scriptedOf({
  at,
  fault,
  nth,
  job,
  match,
  after,
  for: lasting,
}: Raw['script'][number]): ScriptedFault {
  return {
    at,
    fault,
    nth: nth ?? null,
    job: job ?? null,
    match: match ?? null,
    fromMs: after,
    untilMs: after + (lasting ?? Infinity),
  };
}
