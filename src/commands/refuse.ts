/** Says why a command did not do its work, and gives the exit code. */
import { endings } from '../runner/core/ending.ts';
import { printRefusal } from '../terminal/print-refusal.ts';
import { withFileNamed } from './command-arguments.ts';
import { refusalOf } from './refusal.ts';

/** A bug is shown with its stack: it is for whoever mends it. `others` is what follows other commands for the batch. */
export function refuse(
  thrown: unknown,
  dir: string | undefined,
  json: boolean,
  others = '<pipeline>',
): number {
  const refusal = refusalOf(thrown, dir) ?? {
    ending: 'bug' as const,
    text: `This is a bug of nightrender: please report it with the lines below. The same command can be started again.\n${stackOf(thrown)}`,
    problems: [],
  };
  const { exitCode } = endings[refusal.ending];
  printRefusal({ ...refusal, text: withFileNamed(refusal.text, others), exitCode }, json);
  return exitCode;
}

function stackOf(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
}
