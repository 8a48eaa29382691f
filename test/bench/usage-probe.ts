/**
 * Loaded into a measured process by `--import`. At exit it writes the resource use into the file that BENCH_USAGE_FILE
 * names.
 */
import { writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const file = process.env['BENCH_USAGE_FILE'];
if (isMainThread && file !== undefined) {
  process.on('exit', () => writeFileSync(file, JSON.stringify(process.resourceUsage())));
}
