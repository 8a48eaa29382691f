/** `nightrender cancel`: asks the service to cancel the jobs in flight, and saves those that are finished. */
import { endings } from '../runner/core/ending.ts';
import { isFreeOfCharge, pricingOf } from '../runner/core/spending.ts';
import type { CancelledBatch } from '../batch/cancel-jobs.ts';
import { configuredArguments } from '../batch/refusal.ts';
import { beginOptions, commonExits, type LoadedCommand } from './command.ts';
import { withSignals } from './signals.ts';
import { onBatch } from './reply.ts';
import { shellWord, plural } from '../lib/text/format.ts';
import type { Event } from '../runner/pipeline/event.ts';
import type { Listener } from '../runner/pipeline/ports.ts';
import { outColumns, writeError, writeOut, jsonLines, writeJsonLine } from '../terminal/terminal.ts';
import { describeEvent, sceneWords } from '../terminal/describe-event.ts';
import { escapeControls, wrapIndented } from '../terminal/fit-text.ts';
import { screenful } from '../terminal/words.ts';

export const cancelCommand: LoadedCommand = {
  purpose: `Asks the service to cancel every job in flight, then polls each once more: finished ones are saved; cancelled ones wait to be rendered again and lose no attempt; those still running stay in flight and are listed. Stop the run first.`,
  shared: ['output', 'json', 'quiet'],
  options: { 'accept-loss': beginOptions['accept-loss'] },
  examples: [
    ['$0 cancel pipeline.yaml', 'after Ctrl-C, to pay for nothing more tonight'],
    ['$0 cancel pipeline.yaml --json', 'for a script: the outcome of each job'],
  ],
  exits: {
    ...commonExits,
    'already-running': 'a run holds this batch: stop it first',
    complete: 'nothing is in flight',
    incomplete: 'some jobs are still in flight',
    'not-allowed': endings['not-allowed'].means,
    interrupted: endings.interrupted.means,
    terminated: endings.terminated.means,
  },
  work: (argv) =>
    onBatch(argv, async (batch) => {
      const config = await batch.config();
      const retry = configuredArguments(batch.file, config);
      const isFree = isFreeOfCharge(config.endpoint, pricingOf(config));
      const view = createCancelView({ ...config.terminal, retry, isFree, now: Date.now });
      const exitCodeOf = ({ ending }: CancelledBatch): number => endings[ending.kind].exitCode;
      const show = (cancelled: CancelledBatch): void => view.end(cancelled, exitCodeOf(cancelled));
      const isLossAccepted = argv['acceptLoss'] === true;
      return exitCodeOf(await withSignals((stop) => batch.cancel(isLossAccepted, stop, view.emit, show)));
    }),
};

interface CancelView {
  emit: Listener;
  end: (cancelled: CancelledBatch, exitCode: number) => void;
}

interface CancelViewOptions {
  json: boolean;
  quiet: boolean;
  /** Arguments after `nightrender retry`, for the advice that is printed. */
  retry: string;
  /** True if nobody sends a bill for the jobs. */
  isFree?: boolean;
  now: () => number;
}

/** Prints problems as they occur, and the outcome of the jobs at the end. */
export function createCancelView(options: CancelViewOptions): CancelView {
  return {
    emit: options.json ? jsonLines(options.now) : plainLines(options),
    end: (cancelled, exitCode) => {
      if (options.json) {
        const { ending, ends, runArguments: _, ...outcome } = cancelled;
        const facts = { ending: ending.kind, exitCode, text: ending.text, ...outcome, ...ends };
        writeJsonLine('cancel-ended', facts, options.now());
        return;
      }
      if (options.quiet && exitCode === 0) return;
      for (const line of describe(cancelled, options)) writeOut(line);
    },
  };
}

/** Prints failures and warnings; successfully cancelled jobs are only counted at the end. */
function plainLines({ quiet, now }: CancelViewOptions): Listener {
  return (event) => {
    const line = lineOf(event, quiet, now());
    if (line !== undefined) writeError(escapeControls(line));
  };
}

function lineOf(event: Event, isQuiet: boolean, now: number): string | undefined {
  if (event.type === 'warning' || event.type === 'stopping') return describeEvent(event, now, '');
  if (isQuiet) return undefined;
  if (event.type === 'request-troubled') return describeEvent(event, now, '');
  // Unlike `describeEvent`, this line announces no retry: `cancel` never retries.
  const isOwnFailure = event.type === 'attempt-failed' && event.kind !== 'cancelled';
  return isOwnFailure
    ? `${sceneWords(event)}: attempt ${event.attempt}: ${event.text} (${event.kind})`
    : undefined;
}

function describe(
  { ending, found, left, unanswered, ends, runArguments }: CancelledBatch,
  { retry, isFree = false }: CancelViewOptions,
): string[] {
  const rows: [string, number, string][] = [
    ['in flight', found, ''],
    ['cancelled', ends.cancelled, `their scenes wait for \`nightrender run ${runArguments}\``],
    ['saved', ends.saved, isFree ? 'already done' : 'already done and billed'],
    ['failed', ends.failed, 'on their own'],
    ['expired', ends.expired, 'the service has deleted them'],
    ['left', left.length, ''],
    ['unanswered', unanswered, 'possibly sent by a run that crashed; their job ids are unknown'],
  ];
  const shown = rows.filter(([name, number]) => number > 0 || name === 'in flight');
  const width = Math.max(...shown.map(([, number]) => number.toLocaleString('en').length));
  const more = left.length - screenful;
  return [
    escapeControls(`${ending.text}.`),
    ...shown.map(([name, number, note]) =>
      `  ${name.padEnd(12)}${number.toLocaleString('en').padStart(width)}  ${note}`.trimEnd(),
    ),
    ...left
      .slice(0, screenful)
      .flatMap(({ scene, jobId, why }) =>
        wrapIndented('', `${scene} (job ${jobId}): ${why}`, outColumns(), 2),
      ),
    ...(more > 0 ? [`  and ${more.toLocaleString('en')} more; --json names all of them`] : []),
    ...left
      .slice(0, 1)
      .flatMap(({ scene }) => [
        `${plural(left.length, 'job runs', 'jobs run')} on${isFree ? '' : ' and may be billed'}; the next run collects their results.`,
        escapeControls(
          `If one never ends: \`nightrender retry ${retry} --id ${shellWord(scene)} --give-up\`.`,
        ),
      ]),
  ];
}
