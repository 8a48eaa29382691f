/**
 * `npm run bench:serve` measures how much the built service can handle, in a separate process with its database on
 * disk.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeMachine } from './machine.ts';
import { Refusal } from './refusal.ts';
import { measureMany } from './serve-many.ts';
import { measureMemory } from './serve-memory.ts';
import { printServeHelp, readServeOptions, type ScenarioName, type ServeOptions } from './serve-options.ts';
import { measureRates } from './serve-rates.ts';
import { measureShared, sharedJobs } from './serve-shared.ts';
import { formatTargets } from './table.ts';
import type { Target } from './target.ts';

const scenarios: Record<ScenarioName, (dir: string, options: ServeOptions) => Promise<Target[]>> = {
  rates: measureRates,
  memory: measureMemory,
  million: measureMany,
  shared: measureShared,
};

try {
  const options = readServeOptions(process.argv.slice(2));
  if (options === 'help') printServeHelp();
  else await bench(options);
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

async function bench(options: ServeOptions): Promise<void> {
  const { cpu, cores, memory, node, os, fileSystem } = describeMachine();
  console.log(`${cpu}, ${cores} cores, ${memory}, ${node}, ${os}, ${fileSystem}`);
  for (const name of options.scenarios) {
    const dir = mkdtempSync(join(tmpdir(), 'nightrender-bench-serve-'));
    try {
      const jobs = {
        million: options.manyJobs,
        shared: sharedJobs,
        rates: options.jobs,
        memory: options.jobs,
      }[name];
      console.log(`\n${name}: ${jobs.toLocaleString('en-US')} jobs in the book, 64 connections\n`);
      console.log(formatTargets(await scenarios[name](dir, options)));
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  }
}
