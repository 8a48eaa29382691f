/** One start of a run, until its end: opens the record, reads the list, begins, and renders. */
import { program } from '../lib/files/package-file.ts';
import { damageAsFailure } from '../runner/checkpoint/journal.ts';
import type { Config } from '../runner/config/config.ts';
import { endings } from '../runner/core/ending.ts';
import { describeEdits } from '../runner/core/batch-plan.ts';
import { untilNote } from '../runner/core/seeds-until.ts';
import type { ReadScenes } from '../runner/list/read-scenes.ts';
import type { RunEnded } from '../runner/pipeline/event.ts';
import type { Listener } from '../runner/pipeline/ports.ts';
import type { BatchResult } from '../runner/pipeline/report-batch.ts';
import { runBatch } from '../runner/pipeline/run-batch.ts';
import { type Stop, StoppedEarly } from '../runner/pipeline/stop.ts';
import { assertNoneInFolder } from './begin.ts';
import { unknownPicturesOf } from './start-choices.ts';
import type { LocalService } from './connect-service.ts';
import { assertBucketConfigured, imagesFolder } from './pictures-place.ts';
import { type BatchRecord, type BegunRun, noteBatch, type RunRequest } from './record.ts';
import { configuredArguments, shownLists, withFileNamed } from './refusal.ts';
import { recordEnd, recordThrown } from './result-files.ts';
import { type RunNotifier, withNotifier } from './run-notifier.ts';
import { withPorts } from './run-ports.ts';
import { systemClock } from './system-clock.ts';
import { readJobsInFlight } from '../runner/checkpoint/open-checkpoint.ts';
import { type ListedBatch, batchLists } from './lists.ts';

export interface RunCall extends RunRequest {
  stop: Stop;
  /** Called with every event from `run-started` on, and with warnings before it. */
  emit: Listener;
  localService: LocalService;
}

/**
 * Runs the batch and closes all. Throws errors that `refusalOf` explains, and bugs. The targets are notified of both, unless
 * another run holds the batch.
 */
export async function startRun(call: RunCall, found: BatchRecord): Promise<RunEnded> {
  return withNotifier(call, async (notifier) => {
    const { config, choices, stop, emit } = call;
    await assertBucketConfigured(config.output.pictures, config);
    const record = await found.openForRun(choices);
    let scenes: ReadScenes | undefined;
    try {
      const { isAdopting } = choices;
      const onTrouble = (text: string): void => emit({ type: 'warning', text });
      const listed = { dir: record.dir, recordKind: record.recordKind, isAdopting, onTrouble };
      scenes = await readUnlessStopped(config, listed, stop);
      const begun = await record.begin(call, scenes);
      return await runBegun(call, begun, scenes, notifier);
    } finally {
      scenes?.list.close();
      await record.close();
    }
  });
}

/**
 * Reads the lists. Undefined if a stop interrupted this while jobs are in flight, which still have to be collected. Throws
 * `StoppedEarly` if none is.
 */
async function readUnlessStopped(
  config: Config,
  batch: ListedBatch,
  stop: Stop,
): Promise<ReadScenes | undefined> {
  try {
    return await batchLists(config, batch, stop.draining);
  } catch (error) {
    if (stop.ending === undefined || !isAbort(error)) throw error;
    if (!stop.leaving.aborted && readJobsInFlight(batch.dir).length > 0) return undefined;
    throw new StoppedEarly(
      stop.ending,
      'The run was still reading the manifest: nothing was sent or changed.',
    );
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

/** Runs a begun batch: without scenes only jobs in flight, with a part only its scenes. */
async function runBegun(
  { file, config, choices, stop, emit: show, localService }: RunCall,
  { opened, inFlight, kept }: BegunRun,
  scenes: ReadScenes | undefined,
  notifier: RunNotifier,
): Promise<RunEnded> {
  const { part } = choices;
  const { dir } = config.output;
  const emit: Listener = (event) => {
    show(event);
    notifier.emit(event);
  };
  try {
    emitStart(config, file, scenes, emit);
    const isAnyAccepted = choices.isFresh || choices.isAdopting;
    const assertNew = () => assertNoneInFolder(file, config, opened.dir);
    const endpoints = [config.endpoint, ...inFlight.map(({ endpoint }) => endpoint)];
    const result = await withPorts(
      { config, opened, endpoints, emit, stop, localService, kept, isAnyAccepted, assertNew },
      (ports) => {
        // Noted now, because earlier work on the folder may have been done on another disk.
        const text = noteBatch(dir, opened.dir, choices.isFresh, systemClock.now());
        if (text !== undefined) emit({ type: 'warning', text });
        return runBatch(
          scenes?.list,
          ports,
          {
            ...config,
            names: opened.names,
            part,
            unknownPictures: unknownPicturesOf(choices),
          },
          stop,
        );
      },
    );
    // A written report has recorded the end. A failed one has changed it.
    if (result.report === undefined) await recordEnd(opened, result.ending, result.stats);
    const ended = endOf(file, config, result, await opened.untold());
    // The final event is last: notifications that failed are reported before it.
    await notifier.end(ended);
    if (config.terminal.stats) show({ type: 'run-stats', ...result.stats });
    show(ended);
    return ended;
  } catch (thrown) {
    const failure = damageAsFailure(thrown);
    await recordThrown(opened, failure, dir);
    await notifier.endByError(failure);
    throw failure;
  } finally {
    await opened.close();
  }
}

function emitStart(config: Config, file: string, scenes: ReadScenes | undefined, emit: Listener): void {
  const { baseUrl, id } = config.endpoint;
  const { notes = [], edits } = scenes ?? {};
  emit({
    type: 'run-started',
    program,
    manifest: shownLists(config, file),
    endpoint: id === '' ? baseUrl : `${baseUrl} ${id}`,
    outputDir: config.output.dir,
    concurrency: config.concurrency,
    ...(edits && scenes?.list.refusal === undefined && { edits: describeEdits(edits) }),
  });
  for (const text of [...config.warnings, ...notes]) emit({ type: 'warning', text });
}

function endOf(
  file: string,
  config: Config,
  { ending, counts, part, pictures, report, cost, missingPictures, held, lostResults, stats }: BatchResult,
  untold: number,
): RunEnded {
  const { kind, text, isLost } = ending;
  const until = config.scenes?.until;
  const { exitCode } = endings[kind];
  const outputDir = config.output.dir;
  const others = configuredArguments(file, config);
  const isApart = config.checkpoint !== undefined && imagesFolder(config) !== undefined;
  const elsewhere =
    missingPictures > 0 && isApart
      ? '. Runs that share a batch need one output folder that every machine mounts, or output.pictures'
      : '';
  const repair =
    missingPictures === 0 || isLost === true
      ? ''
      : `; \`nightrender verify ${others} --repair\` puts the scenes of missing pictures back`;
  return {
    type: 'run-ended',
    ending: kind,
    exitCode,
    text: withFileNamed(text, others) + repair + elsewhere,
    ...(isLost && { isLost }),
    counts,
    ...(part && { part }),
    ...(until !== undefined && { bias: untilNote(until) }),
    pictures,
    outputDir,
    report,
    cost,
    untold,
    ...(stats.moreJobs && { moreJobs: stats.moreJobs }),
    ...(held.length > 0 && { held }),
    ...(lostResults > 0 && { lostResults }),
    ...(missingPictures > 0 && { missingPictures }),
  };
}
