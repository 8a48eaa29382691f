/** `nightrender cancel`: has the service cancel what is in flight, and takes what is done already. */
import { readBatch } from '../runner/checkpoint/batch-identity.ts';
import {
  openCheckpoint,
  openCheckpointForReading,
  readJobsInFlight,
  type OpenCheckpoint,
} from '../runner/checkpoint/open-checkpoint.ts';
import { damageAsFailure } from '../runner/checkpoint/journal.ts';
import type { Config } from '../runner/config/config.ts';
import { endings } from '../runner/core/ending.ts';
import { isFreeOfCharge } from '../runner/core/spending.ts';
import { FatalFailure } from '../runner/core/failure.ts';
import { cancelBatch, type CancelResult } from '../runner/pipeline/cancel-batch.ts';
import { batchSettings } from './batch-settings.ts';
import { assertPlace } from './known-batch.ts';
import { configuredArguments } from './shown-path.ts';
import { assertCollectable } from './connections.ts';
import { whileLocked, noBatch, recordedRun } from './existing-batch.ts';
import { recordEnd, recordThrown, withPorts } from './with-ports.ts';
import { withSignals } from './signals.ts';
import { systemClock } from './system-clock.ts';
import { program } from '../lib/files/program.ts';
import { type LoadedCommand, common } from './command.ts';
import { onConfig } from './on-config.ts';
import { fileIn } from './option-values.ts';
import { beginOptions } from './begin-options.ts';
import { shellWord, plural } from '../lib/text/format.ts';
import type { Event } from '../runner/pipeline/event.ts';
import type { Listener } from '../runner/pipeline/ports.ts';
import { outColumns, writeError, writeOut } from '../terminal/console.ts';
import { describeEvent, sceneWords } from '../terminal/describe-event.ts';
import { harmless, hanging } from '../terminal/fit-text.ts';
import { jsonLines, writeJsonLine } from '../terminal/json-lines.ts';
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
    ...common,
    'already-running': 'a run holds this batch: stop it first',
    complete: 'nothing is in flight',
    incomplete: 'some jobs are still in flight',
    'not-allowed': endings['not-allowed'].means,
    interrupted: endings.interrupted.means,
    terminated: endings.terminated.means,
  },
  work: (argv) => {
    const file = fileIn(argv);
    const isLossAccepted = argv['acceptLoss'] === true;
    return onConfig(
      file,
      argv,
      () => undefined,
      async (config) => {
        const { dir } = config.output;
        assertPlace(dir, config.checkpoint && config.placeOf(['checkpoint']));
        if (config.checkpoint !== undefined) {
          const { joinToCancel } = await import('./run-shared.ts');
          return joinToCancel(config, config.checkpoint, (recordDir, open) =>
            cancelLocked(file, config, recordDir, open),
          );
        }
        const open = (): OpenCheckpoint => openKnown(dir, isLossAccepted);
        return whileLocked(dir, () => cancelLocked(file, config, dir, open));
      },
    );
  },
};

/** `dir`: where the checkpoint can be read. */
async function cancelLocked(
  file: string,
  config: Config,
  dir: string,
  open: () => OpenCheckpoint | Promise<OpenCheckpoint>,
): Promise<number> {
  assertCollectable(file, config, readJobsInFlight(dir));
  const opened = await open();
  const retry = configuredArguments(file, config);
  const view = createCancelView({
    ...config.terminal,
    file: recordedRun(retry, dir),
    retry,
    isFree: isFreeOfCharge(config.endpoint, config.pricing),
    now: Date.now,
  });
  try {
    const result = await cancelOpened(config, opened, view);
    const { exitCode } = endings[result.ending.kind];
    view.end(result, exitCode);
    if (result.report === undefined) await recordEnd(opened, result.ending);
    return exitCode;
  } catch (thrown) {
    const failure = damageAsFailure(thrown);
    await recordThrown(opened, failure, config.output.dir);
    throw failure;
  } finally {
    await opened.close();
  }
}

/** The batch stays what its latest run has made of it. */
function openKnown(dir: string, isLossAccepted: boolean): OpenCheckpoint {
  const db = openCheckpointForReading(dir);
  const batch = db && readBatch(db);
  db?.close();
  if (batch === undefined) throw noBatch(dir, isLossAccepted);
  return openCheckpoint(dir, program, batch, Date.now(), isLossAccepted);
}

/** Somebody waits, and jobs that are not cancelled are billed. */
const patienceMs = 60_000;

async function cancelOpened(config: Config, opened: OpenCheckpoint, view: CancelView): Promise<CancelResult> {
  const endpoints = readJobsInFlight(opened.dir).map(({ endpoint }) => endpoint);
  let hasBegun = false;
  try {
    return await withSignals((stop) =>
      withPorts({ config, opened, endpoints, emit: view.emit, stop, patienceMs }, (ports) => {
        hasBegun = true;
        return cancelBatch(ports, batchSettings(config, systemClock.now(), opened.names), stop);
      }),
    );
  } catch (thrown) {
    if (hasBegun || !(thrown instanceof FatalFailure)) throw thrown;
    const text = `no job was cancelled, and what is in flight goes on: ${thrown.message}`;
    throw new FatalFailure({ ...thrown.failure, text });
  }
}

interface CancelView {
  emit: Listener;
  end(result: Omit<CancelResult, 'report'>, exitCode: number): void;
}

interface CancelViewOptions {
  json: boolean;
  quiet: boolean;
  /** What follows `nightrender run` for this batch. */
  file: string;
  /** What follows `nightrender retry`. */
  retry: string;
  /** True if nobody sends a bill for the jobs. */
  isFree?: boolean;
  now: () => number;
}

/** How many jobs ended in which way. */
interface Ends {
  saved: number;
  cancelled: number;
  expired: number;
  failed: number;
}

/** Troubles as they come, and what became of the jobs at the end. */
export function createCancelView(options: CancelViewOptions): CancelView {
  const ends: Ends = { saved: 0, cancelled: 0, expired: 0, failed: 0 };
  const say = options.json ? jsonLines(options.now) : plainLines(options);
  return {
    emit: (event) => {
      count(ends, event);
      say(event);
    },
    end: ({ ending, ...outcome }, exitCode) => {
      if (options.json) {
        const facts = { ending: ending.kind, exitCode, text: ending.text, ...outcome, ...ends };
        writeJsonLine('cancel-ended', facts, options.now());
        return;
      }
      if (options.quiet && exitCode === 0) return;
      for (const line of describe({ ending, ...outcome }, ends, options)) writeOut(line);
    },
  };
}

function count(ends: Ends, event: Event): void {
  if (event.type === 'scene-saved') ends.saved += 1;
  if (event.type !== 'attempt-failed') return;
  ends[event.kind === 'cancelled' || event.kind === 'expired' ? event.kind : 'failed'] += 1;
}

/** What was cancelled as it should be is only counted. */
function plainLines({ quiet, now }: CancelViewOptions): Listener {
  return (event) => {
    const line = lineOf(event, quiet, now());
    if (line !== undefined) writeError(harmless(line));
  };
}

function lineOf(event: Event, isQuiet: boolean, now: number): string | undefined {
  if (event.type === 'warning' || event.type === 'stopping') return describeEvent(event, now, '');
  if (isQuiet) return undefined;
  if (event.type === 'request-troubled') return describeEvent(event, now, '');
  // Nothing is tried again here.
  const isOwnFailure = event.type === 'attempt-failed' && event.kind !== 'cancelled';
  return isOwnFailure
    ? `${sceneWords(event)}: attempt ${event.attempt}: ${event.text} (${event.kind})`
    : undefined;
}

function describe(
  { ending, found, left, unanswered }: Omit<CancelResult, 'report'>,
  ends: Ends,
  { file, retry, isFree = false }: CancelViewOptions,
): string[] {
  const rows: [string, number, string][] = [
    ['in flight', found, ''],
    ['cancelled', ends.cancelled, `their scenes wait for \`nightrender run ${file}\``],
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
    harmless(`${ending.text}.`),
    ...shown.map(([name, number, note]) =>
      `  ${name.padEnd(12)}${number.toLocaleString('en').padStart(width)}  ${note}`.trimEnd(),
    ),
    ...left
      .slice(0, screenful)
      .flatMap(({ scene, jobId, why }) => hanging('', `${scene} (job ${jobId}): ${why}`, outColumns(), 2)),
    ...(more > 0 ? [`  and ${more.toLocaleString('en')} more; --json names all of them`] : []),
    ...left
      .slice(0, 1)
      .flatMap(({ scene }) => [
        `${plural(left.length, 'job runs', 'jobs run')} on${isFree ? '' : ' and may be billed'}; the next run collects their results.`,
        harmless(`If one never ends: \`nightrender retry ${retry} --id ${shellWord(scene)} --give-up\`.`),
      ]),
  ];
}
