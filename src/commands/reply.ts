/** How commands work on a batch: open it, do the work, and print why it was refused. */
import { overridesOf } from '../batch/start-choices.ts';
import type { Batch } from '../batch/batch.ts';
import { namedRefusal, type Refusal } from '../batch/refusal.ts';
import { pipelineIn } from '../lib/files/glob.ts';
import { endings } from '../runner/core/ending.ts';
import { clearStatus, writeError, writeJsonLine } from '../terminal/terminal.ts';
import { escapeControlsByLine } from '../terminal/fit-text.ts';

interface ReplyOptions {
  /** Path of pipeline.yaml, for commands that take several files. */
  file?: string;
  /** True if the command never sends or writes anything. */
  isReading?: boolean;
}

/** Opens the batch and runs `work`. Resolves to its exit code, or 0 if it returns none. */
export async function onBatch(
  argv: Record<string, unknown>,
  work: (batch: Batch, json: boolean) => Promise<number | void>,
  { file = pipelineFile(argv), isReading = false }: ReplyOptions = {},
): Promise<number> {
  const batch = await batchOf(file, argv);
  const json = argv['json'] === true;
  try {
    return (await work(batch, json)) ?? 0;
  } catch (thrown) {
    return show(batch.refusalOf(thrown, isReading), thrown, batch.knownConfig?.terminal.json ?? json);
  }
}

/** `file`: path of pipeline.yaml, as it was given. */
export async function batchOf(
  file: string,
  argv: Record<string, unknown>,
  env = process.env,
): Promise<Batch> {
  // Imported here, so that commands without a batch load neither.
  const { Batch: opened } = await import('../batch/batch.ts');
  const { localService } = await import('../service/instance/local-service.ts');
  const { output } = argv;
  return opened.at({
    file,
    overrides: overridesOf(argv, env),
    output,
    env,
    localService,
    onTrouble: writeError,
  });
}

/** Prints a refusal and returns the exit code. `others`: arguments of other commands for the batch. */
export function refuse(
  thrown: unknown,
  dir: string | undefined,
  json: boolean,
  others = '<pipeline>',
  isReading = false,
): number {
  return show(namedRefusal(thrown, dir, others, isReading), thrown, json);
}

/** Prints a refusal. An error without one is a bug and is printed with its stack. */
function show(known: Refusal | undefined, thrown: unknown, json: boolean): number {
  const refusal = known ?? {
    ending: 'bug' as const,
    text: `This is a bug of nightrender: please report it with the lines below. You can run the same command again.\n${stackOf(thrown)}`,
    problems: [],
  };
  const { exitCode } = endings[refusal.ending];
  printRefusal({ ...refusal, exitCode }, json);
  return exitCode;
}

function stackOf(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
}

export function printRefusal(refusal: Refusal & { exitCode: number }, json: boolean): void {
  if (json) writeJsonLine('refused', refusal);
  for (const { where, text } of refusal.problems)
    writeError(escapeControlsByLine(where === '' ? text : `${where}: ${text}`));
  if (refusal.text !== 'One problem was found.') writeError(escapeControlsByLine(refusal.text));
}

/** Returns the path of the pipeline.yaml that the command line names, by itself or by its folder. */
export function pipelineFile(argv: Record<string, unknown>): string {
  return pipelineIn(textIn(argv, 'pipeline'));
}

/** Paths of all pipeline files, for commands that take several. */
export function pipelineFiles(argv: Record<string, unknown>): string[] {
  return [argv['pipeline']].flat().map((file) => pipelineIn(String(file)));
}

export function textIn(argv: Record<string, unknown>, name: string): string {
  // If an option is given twice, the last value counts.
  const value: unknown = [argv[name]].flat().at(-1);
  return typeof value === 'string' ? value : '';
}

/** Prints something that users should know although the command continues. */
export function writeWarning(text: string, json: boolean): void {
  if (json) return writeJsonLine('warning', { text });
  clearStatus();
  writeError(text);
}
