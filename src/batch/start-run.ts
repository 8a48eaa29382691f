/** One start of a run, until its end: finds the record, reads the list, begins, and notifies the targets of `notify`. */
import type { RunEnded } from '../runner/pipeline/event.ts';
import type { ReadScenes } from '../runner/list/read-scenes.ts';
import { assertBucketConfigured } from './pictures-place.ts';
import { readUnlessStopped } from './lists.ts';
import { withNotifier, type RunNotifier } from './notifications.ts';
import type { BatchRecord, BegunRun, RunRequest } from './record.ts';
import { unknownPicturesOf } from './choices.ts';
import type { Config } from '../runner/config/config.ts';
import { describeEdits } from '../runner/core/plan.ts';
import { damageAsFailure } from '../runner/checkpoint/journal.ts';
import { endings } from '../runner/core/ending.ts';
import { untilNote } from '../runner/core/seeds-until.ts';
import type { BatchResult } from '../runner/pipeline/report-batch.ts';
import { runBatch } from '../runner/pipeline/run-batch.ts';
import type { Listener } from '../runner/pipeline/ports.ts';
import { configuredArguments, withFileNamed, shownLists } from './shown-path.ts';
import { noteBatch } from './disk-note.ts';
import type { Stop } from '../runner/pipeline/stop.ts';
import type { LocalService } from './local-service.ts';
import { recordEnd, recordThrown } from './result-files.ts';
import { withPorts } from './run-ports.ts';
import { systemClock } from './system-clock.ts';
import { program } from '../lib/files/program.ts';

export interface RunCall extends RunRequest {
  stop: Stop;
  /** Called with every event from `run-started` on, and with warnings before it. */
  emit: Listener;
  localService: LocalService;
}

/**
 * Runs the batch and closes everything that it opens. Throws errors that `refusalOf` explains, and bugs; the
 * targets of `notify` are notified of both.
 */
export async function startRun(call: RunCall, found: BatchRecord): Promise<RunEnded> {
  return withNotifier(call, async (notifier) => {
    const { config, choices, stop, emit } = call;
    await assertBucketConfigured(config.output.pictures, config.env);
    const record = await found.openForRun(choices);
    let scenes: ReadScenes | undefined;
    try {
      const { isAdopting } = choices;
      const onTrouble = (text: string): void => emit({ type: 'warning', text });
      const listed = { dir: record.dir, known: record.known, isAdopting, onTrouble };
      scenes = await readUnlessStopped(config, listed, stop);
      const begun = await record.begin(call, scenes);
      return await runBegun(call, begun, scenes, notifier);
    } finally {
      scenes?.stage.close();
      await record.close();
    }
  });
}

/**
 * Runs a begun batch. Without scenes it only collects jobs in flight. With a part, only scenes of the part
 * are rendered.
 */
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
    const endpoints = [config.endpoint, ...inFlight.map(({ endpoint }) => endpoint)];
    const result = await withPorts(
      { config, opened, endpoints, emit, stop, localService, kept, isAnyAccepted },
      (ports) => {
        // Earlier work on the folder may have been done on another disk.
        const text = noteBatch(dir, opened.dir, choices.isFresh, systemClock.now());
        if (text !== undefined) emit({ type: 'warning', text });
        return runBatch(
          scenes?.stage,
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
    // Writing the report also records the end. Without a report, the ending differs from the one that the
    // report was to show.
    if (result.report === undefined) await recordEnd(opened, result.ending, result.stats);
    const ended = endOf(file, config, result, opened.untold());
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
    ...(edits && scenes?.stage.refusal === undefined && { edits: describeEdits(edits) }),
  });
  for (const text of [...config.warnings, ...notes]) emit({ type: 'warning', text });
}

function endOf(
  file: string,
  config: Config,
  { ending, counts, part, pictures, report, cost, missingPictures, held, lostResults }: BatchResult,
  untold: number,
): RunEnded {
  const { kind, text, isLost } = ending;
  const until = config.scenes?.until;
  const { exitCode } = endings[kind];
  const outputDir = config.output.dir;
  const others = configuredArguments(file, config);
  const isApart = config.checkpoint !== undefined && config.output.pictures === undefined;
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
    ...(held.length > 0 && { held }),
    ...(lostResults > 0 && { lostResults }),
    ...(missingPictures > 0 && { missingPictures }),
  };
}
