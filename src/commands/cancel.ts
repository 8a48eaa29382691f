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
import { FatalFailure } from '../runner/core/failure.ts';
import { cancelBatch, type CancelResult } from '../runner/pipeline/cancel-batch.ts';
import { createCancelView, type CancelView } from '../terminal/cancel-view.ts';
import { batchSettings } from './batch-settings.ts';
import { assertPlace } from './batch-place.ts';
import { configuredArguments } from './command-arguments.ts';
import { assertCollectable } from './connections.ts';
import { whileLocked, noBatch, recordedRun } from './existing-batch.ts';
import { recordEnd, recordThrown, withPorts } from './with-ports.ts';
import { withSignals } from './signals.ts';
import { systemClock } from './system-clock.ts';
import { program } from './version.ts';
import type { LoadedCommand } from './command.ts';
import { onConfig } from './on-config.ts';
import { common } from './exit-codes.ts';
import { fileIn } from './option-values.ts';
import { beginOptions } from './begin-options.ts';

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
