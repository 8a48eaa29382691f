/** One start of a run, until its end: finds the record, reads the list, begins, and notifies the targets of `notify`. */
import { program } from '../lib/files/package-file.ts';
import type { Problem } from '../lib/yaml/problem.ts';
import { BatchHeld } from '../runner/checkpoint/batch-lock.ts';
import { damageAsFailure } from '../runner/checkpoint/journal.ts';
import type { Config } from '../runner/config/config.ts';
import { endings } from '../runner/core/ending.ts';
import { describeEdits } from '../runner/core/batch-plan.ts';
import { untilNote } from '../runner/core/seeds-until.ts';
import type { ReadScenes } from '../runner/list/read-scenes.ts';
import { type Notifier, startNotifier } from '../runner/notify/notifier.ts';
import type { RunEnded } from '../runner/pipeline/event.ts';
import type { Listener } from '../runner/pipeline/ports.ts';
import type { BatchResult } from '../runner/pipeline/report-batch.ts';
import { runBatch } from '../runner/pipeline/run-batch.ts';
import type { Stop } from '../runner/pipeline/stop.ts';
import { describeEvent } from '../terminal/describe-event.ts';
import { escapeControls } from '../terminal/fit-text.ts';
import { assertNoneInFolder } from './begin.ts';
import { unknownPicturesOf } from './start-choices.ts';
import { readUnlessStopped } from './lists.ts';
import type { LocalService } from './connect-service.ts';
import { assertBucketConfigured, imagesFolder } from './pictures-place.ts';
import { type BatchRecord, type BegunRun, noteBatch, type RunRequest } from './record.ts';
import {
  configuredArguments,
  type Refusal,
  refusalOf,
  shownLists,
  shownPath,
  withFileNamed,
} from './refusal.ts';
import { recordEnd, recordThrown } from './result-files.ts';
import { withPorts } from './run-ports.ts';
import { systemClock } from './system-clock.ts';

export interface RunCall extends RunRequest {
  stop: Stop;
  /** Called with every event from `run-started` on, and with warnings before it. */
  emit: Listener;
  localService: LocalService;
}

/** Runs the batch and closes all. Throws errors that `refusalOf` explains, and bugs; both are notified. */
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
        // Earlier work on the folder may have been done on another disk.
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
    // Writing the report records the end. Without a report, the ending differs from that to be shown.
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

/** Listens to one run, and notifies the targets of its end. */
export interface RunNotifier {
  emit: Listener;
  /** Notifies the targets of the end. Resolves once each is notified, or after a timeout. */
  end: (ended: RunEnded) => Promise<void>;
  /** Like `end`, for a run that was refused or ended by an error. */
  endByError: (thrown: unknown) => Promise<void>;
}

/**
 * Passes a notifier to the work, and notifies the targets if the work throws, because a refused run is no
 * success either. If another run holds the batch, no notification is sent, because that run reports its own
 * end.
 */
export async function withNotifier<Result>(
  { file, config, emit }: RunRequest & { emit: Listener },
  work: (notifier: RunNotifier) => Promise<Result>,
): Promise<Result> {
  const notifier = notifierOf(file, config, (text) => emit({ type: 'warning', text }));
  let hasEnded = false;
  const end = async (ended: RunEnded): Promise<void> => {
    hasEnded = true;
    notifier.emit(ended);
    await notifier.close();
  };
  const endByError = (thrown: unknown): Promise<void> => end(endedBy(thrown, config.output.dir));
  try {
    return await work({ emit: notifier.emit, end, endByError });
  } catch (thrown) {
    if (!hasEnded) await (thrown instanceof BatchHeld ? notifier.close() : endByError(thrown));
    throw thrown;
  }
}

/** `file` is the path of pipeline.yaml as given. */
function notifierOf(file: string, config: Config, warn: (text: string) => void): Notifier {
  const { notify, folder, output } = config;
  return startNotifier(notify, {
    clock: systemClock,
    proxies: config.proxies,
    about: { manifest: shownLists(config, file), outputDir: output.dir },
    folder,
    env: withoutKeys(config),
    describe: (event) => {
      const line = describeEvent(event, Date.now(), shownPath(output.dir));
      // The line may be read in a terminal there, too.
      return line === undefined ? undefined : escapeControls(line);
    },
    warn,
  });
}

/** Removes variables that contain a key, whatever their names, because commands do not need it. */
function withoutKeys({ env, apiKey = '', comfyApiKey = '' }: Config): NodeJS.ProcessEnv {
  const keys = [apiKey, comfyApiKey, env['NIGHTRENDER_API_KEY'] ?? ''].filter((key) => key !== '');
  const kept = Object.entries(env).filter(([, value = '']) => !keys.some((key) => value.includes(key)));
  return Object.fromEntries(kept);
}

/** Returns the end of a run that threw. An unexpected error is the ending `bug`. */
function endedBy(thrown: unknown, outputDir: string): RunEnded {
  const { ending, text, problems } = refusalOf(thrown, outputDir) ?? bug;
  return {
    type: 'run-ended',
    ending,
    exitCode: endings[ending].exitCode,
    text: textOf(text.replace(/\.$/, ''), problems),
    counts: noCounts,
    outputDir,
    report: undefined,
    cost: undefined,
    untold: 0,
  };
}

const bug: Refusal = { ending: 'bug', text: endings.bug.means, problems: [] };

/** Maximum number of problems in a notification, which may be read in a chat. */
const maxProblems = 3;

function textOf(text: string, problems: Problem[]): string {
  const first = problems
    .slice(0, maxProblems)
    .map((each) => `${each.where}: ${each.text}`.replace(/^: /, ''));
  return first.length === 0 ? text : `${text}: ${first.join('; ')}`;
}

const noCounts = { waiting: 0, active: 0, saved: 0, failed: 0, withdrawn: 0, invalid: 0 };
