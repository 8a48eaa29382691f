/** The batch's lock before the heavier parts are loaded: of fifty starts at once, forty-nine have nothing else to do. */
import { parseArgs } from 'node:util';
import { BatchHeld, isBatch, lockBatch, type BatchLock } from '../runner/checkpoint/batch-lock.ts';
import { readGlance } from '../runner/config/read-output-dir.ts';
import { refuse } from './refusal.ts';
import { partOptions } from './begin-options.ts';
import { optionRules, overridesOf } from './run-options.ts';

/**
 * Takes the lock where `run` is asked for on a folder that is a batch already; the exit code where another run holds it.
 * Undefined for all else, also for whatever is wrong: the full reading of command line and file tells of that.
 */
export async function lockEarly(args: string[]): Promise<BatchLock | number | undefined> {
  let held: { dir: string; isJson: boolean } | undefined;
  try {
    const asked = readRun(args);
    if (asked === undefined) return undefined;
    const overrides = overridesOf(asked.options, process.env);
    const { outputDir: dir, isJson } = readGlance(asked.file, overrides, process.env);
    if (!isBatch(dir)) return undefined;
    held = { dir, isJson };
    return await lockBatch(dir, Date.now());
  } catch (thrown) {
    if (thrown instanceof BatchHeld) return refuse(thrown, held?.dir, held?.isJson === true);
    return undefined;
  }
}

/** `run`, one file and known options, plainly written; throws or is undefined for what only the full parser may judge. */
function readRun(args: string[]): { file: string; options: Record<string, unknown> } | undefined {
  if (args[0] !== 'run' || args.includes('--')) return undefined;
  const { values, positionals } = parseArgs({ args, options: plainOptions(), allowPositionals: true });
  const [, file, ...more] = positionals;
  return file === undefined || more.length > 0 ? undefined : { file, options: values };
}

/** Numbers are texts here, and nobody reads them. */
function plainOptions() {
  const rules = [...Object.entries(optionRules), ...Object.entries(partOptions)];
  return Object.fromEntries(
    rules.map(([name, { type }]) => [
      name,
      { type: type === 'boolean' ? ('boolean' as const) : ('string' as const) },
    ]),
  );
}
