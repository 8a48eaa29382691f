/** Cancels the jobs of a batch in flight, and saves the results of finished jobs. */
import { readBatch } from '../runner/checkpoint/batch-identity.ts';
import { damageAsFailure } from '../runner/checkpoint/journal.ts';
import {
  readJobsInFlight,
  type OpenCheckpoint,
  openCheckpointForReading,
} from '../runner/checkpoint/open-checkpoint.ts';
import type { Config } from '../runner/config/config.ts';
import { FatalFailure } from '../runner/core/failure.ts';
import { cancelBatch, type CancelResult } from '../runner/pipeline/cancel-batch.ts';
import type { Event } from '../runner/pipeline/event.ts';
import type { Listener } from '../runner/pipeline/ports.ts';
import type { Stop } from '../runner/pipeline/stop.ts';
import { assertCollectable, type LocalService } from './connect-service.ts';
import type { CancelRecord } from './record.ts';
import { recordEnd, recordThrown } from './result-files.ts';
import { withPorts } from './run-ports.ts';
import { configuredArguments, runArguments } from './refusal.ts';

interface CancelCall {
  file: string;
  config: Config;
  stop: Stop;
  emit: Listener;
  onEnd: (cancelled: CancelledBatch) => void;
  localService: LocalService;
}

export interface JobEnds {
  saved: number;
  cancelled: number;
  expired: number;
  failed: number;
}

export interface CancelledBatch extends CancelResult {
  ends: JobEnds;
  runArguments: string;
}

/** Cancels the jobs. The end is recorded like that of a run. */
export async function cancelJobs(call: CancelCall, record: CancelRecord): Promise<CancelledBatch> {
  const { file, config, emit, onEnd } = call;
  assertCollectable(file, config, readJobsInFlight(record.dir));
  const opened = await record.begin(config);
  const argumentsOfRun = recordedRun(configuredArguments(file, config), record.dir);
  const ends: JobEnds = { saved: 0, cancelled: 0, expired: 0, failed: 0 };
  const countAndTell: Listener = (event) => {
    count(ends, event);
    emit(event);
  };
  try {
    const result = await cancelOpened({ ...call, emit: countAndTell }, opened);
    const cancelled = { ...result, ends, runArguments: argumentsOfRun };
    // A disk that fails from here on must not hide the outcome from the user.
    onEnd(cancelled);
    if (result.report === undefined) await recordEnd(opened, result.ending);
    return cancelled;
  } catch (thrown) {
    const failure = damageAsFailure(thrown);
    await recordThrown(opened, failure, config.output.dir);
    throw failure;
  } finally {
    await opened.close();
  }
}

/** Returns the arguments of `nightrender run`. `others`: of other commands. `dir`: a readable checkpoint's. */
function recordedRun(others: string, dir: string): string {
  const db = openCheckpointForReading(dir);
  try {
    return runArguments(others, db && readBatch(db)?.lists);
  } finally {
    db?.close();
  }
}

function count(ends: JobEnds, event: Event): void {
  if (event.type === 'scene-saved') ends.saved += 1;
  if (event.type !== 'attempt-failed') return;
  ends[event.kind === 'cancelled' || event.kind === 'expired' ? event.kind : 'failed'] += 1;
}

/** Shorter than in a run, because the user is waiting and jobs that are not cancelled are billed. */
const patienceMs = 60_000;

async function cancelOpened(
  { config, stop, emit, localService }: CancelCall,
  opened: OpenCheckpoint,
): Promise<CancelResult> {
  const endpoints = readJobsInFlight(opened.dir).map(({ endpoint }) => endpoint);
  let hasBegun = false;
  try {
    return await withPorts({ config, opened, endpoints, emit, stop, localService, patienceMs }, (ports) => {
      hasBegun = true;
      return cancelBatch(ports, { ...config, names: opened.names }, stop);
    });
  } catch (thrown) {
    if (hasBegun || !(thrown instanceof FatalFailure)) throw thrown;
    const text = `no job was cancelled, and the jobs in flight continue: ${thrown.message}`;
    throw new FatalFailure({ ...thrown.failure, text });
  }
}
