/** Which field of the form a problem is shown beside. */
import type { Problem } from './ask.ts';
import type { Runs } from './endpoint-draft.ts';

const always = ['name', 'id', 'workload', 'gpu', 'retries', 'executionTimeout', 'ttl', 'maxQueued'];

/** Beside those that every endpoint has. */
const ofWorkload: Record<Runs, string[]> = {
  painter: ['workers', 'quickStart'],
  'scene-renderer': ['workers', 'quickStart', 'environment'],
  image: ['workers', 'quickStart', 'environment', 'memory', 'cpus', 'workload.image', 'workload.arguments'],
  command: ['workers', 'quickStart', 'environment', 'memory', 'workload.command', 'workload.cwd'],
  module: ['workers', 'quickStart', 'environment', 'memory', 'workload.path'],
  remote: [],
};

export interface PlacedProblems {
  /** By field. */
  beside: Record<string, string>;
  /** About nothing that is shown. */
  above: string[];
}

export function placeProblems(problems: Problem[], runs: Runs): PlacedProblems {
  const shown = [...always, ...ofWorkload[runs]];
  const placed: PlacedProblems = { beside: {}, above: [] };
  for (const { field, text } of problems) {
    const homes = shown.filter((each) => each === field || field.startsWith(`${each}.`));
    const home = homes.toSorted((a, b) => b.length - a.length)[0];
    if (home === undefined) placed.above.push(text);
    else placed.beside[home] = [placed.beside[home], text].filter(Boolean).join(' ');
  }
  return placed;
}
