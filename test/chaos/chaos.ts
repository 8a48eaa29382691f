/**
 * `npm run chaos` kills the program at random moments, with a service that makes every mistake, and compares the books
 * with the jobs that the service has seen.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { help, readOptions, type Options } from './options.ts';
import { describeResult } from './describe-result.ts';
import { runChaos } from './run-chaos.ts';

// On exit, each part of the driver ends the processes that it has started.
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));

const options = readOptions(process.argv.slice(2));
if (options === 'help') console.log(help);
else await chaos(options);

async function chaos({ keep, ...settings }: Options): Promise<void> {
  const { kills, scenes, seed } = settings;
  console.log(`npm run chaos -- --kills ${kills} --scenes ${scenes} --seed ${seed}`);
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-chaos-'));
  const startedAt = performance.now();
  const result = await runChaos({ ...settings, dir });
  console.log(describeResult(result, performance.now() - startedAt));
  const isWell = result.complaints.length === 0;
  if (!isWell) process.exitCode = 1;
  if (isWell && !keep) rmSync(dir, { recursive: true, force: true });
  else console.log(`The batch is left in ${dir}`);
}
