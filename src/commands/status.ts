/** `nightrender status`: shows the state of a batch while it runs, after it ended and after a crash. */
import { plural, formatCounts, formatInstant } from '../lib/text/format.ts';
import { performance } from 'node:perf_hooks';
import type { Throughput } from '../runner/core/forecast.ts';
import { type BatchStatus, type Book, followStatus, readStatus } from '../batch/book.ts';
import { type LoadedCommand, commonExits } from './command.ts';
import { onBatch } from './reply.ts';
import { sceneWords } from '../terminal/describe-event.ts';
import type { BatchNumbers, RunRecord } from '../runner/core/scene-record.ts';
import { isFailureKind } from '../runner/core/failure.ts';
import { nounFor } from '../runner/core/picture.ts';
import { isTimeout, settingFor } from '../runner/core/halting.ts';
import { oddWords } from '../runner/core/service-description.ts';
import { formatCost, formatSpent, type BatchCost } from '../runner/core/spending.ts';
import {
  canRedraw,
  createBlock,
  outColumns,
  writeOut,
  writeOutPart,
  writeJsonLine,
  jsonInstant,
  jsonLine,
} from '../terminal/terminal.ts';
import { describeLastRun } from '../terminal/describe-ending.ts';
import { formatPart } from '../runner/core/scene.ts';
import { wrapIndented } from '../terminal/fit-text.ts';
import {
  describeValues,
  describeWords,
  unneededOf,
  formatBytes,
  formatLeft,
  formatRate,
  titled,
} from '../terminal/words.ts';
import { logPauseMs } from '../terminal/progress.ts';

export const statusCommand: LoadedCommand = {
  purpose: `Shows how many scenes are saved, in flight and failed, what failed most, whether a run is working, and what slowed the last one down; for a live run also its throughput, the time left and the latest file. Read-only, also during a run.`,
  shared: ['output', 'json'],
  options: {
    watch: { type: 'boolean', describe: 'update every second until the run ends, or Ctrl-C' },
    stats: { type: 'boolean', describe: 'show what limited the last run, even if little did' },
  },
  examples: [
    ['$0 status pipeline.yaml', 'while it runs, or in the morning'],
    ['$0 status', 'the same, for the pipeline.yaml of this folder'],
    ['$0 status pipeline.yaml --watch', 'from another terminal'],
    ['$0 status pipeline.yaml --json', 'for a script: one JSON object'],
  ],
  exits: { ...commonExits, complete: 'the batch was shown' },
  work: (argv) =>
    onBatch(
      argv,
      (batch, json) =>
        batch.read((book) =>
          argv['watch'] === true
            ? watch(book, json, argv['stats'] === true)
            : printStatus(readStatus(book), json, argv['stats'] === true),
        ),
      { isReading: true },
    ),
};

/** Follows the batch until its run ends, a signal comes, or the reader closes the pipe: all normal. */
async function watch(book: Book, json: boolean, isAsked: boolean): Promise<void> {
  const { withSignals } = await import('./signals.ts');
  const view = watchStatus(json, isAsked, () => performance.now(), Date.now);
  await withSignals(async ({ draining }) => {
    for await (const seen of followStatus(book, draining)) {
      if (!seen.isRunning || draining.aborted) return view.end(seen);
      if (!(await view.show(seen))) return;
    }
  });
}

function printStatus(status: BatchStatus, json: boolean, isAsked: boolean): void {
  if (json) writeJsonLine('status', statusFacts(status));
  else writeOut(statusLines(status, outColumns(), isAsked).join('\n'));
}

/** `columns`: maximum width of a line. `isAsked`: true to show what limited the last run, even if little did. */
export function statusLines(status: BatchStatus, columns: number, isAsked = false): string[] {
  const { scenes, pictures, files, attempts, cost, part, lastRun } = status.summary;
  const stats = status.isRunning ? undefined : (lastRun?.stats ?? undefined);
  const doubtful = attempts.unanswered + attempts.expired;
  const odd = oddWords(status.words);
  const rows: [string, string][] = [
    ['batch', status.shownDir],
    ['run', describeRun(status)],
    ['scenes', savedOf(scenes)],
    ['', otherStates(scenes)],
    [
      'preview',
      part === null
        ? ''
        : `${plural(part.scenes, 'scene')} (${formatPart(part)}); a run without it renders the rest`,
    ],
    ['pace', describePace(status.pace)],
    [`${nounFor(pictures)}s`, `${plural(pictures.files, 'file')}, ${formatBytes(pictures.bytes)}`],
    ['words', describeWords(pictures)],
    ['values', describeValues(pictures)],
    ['files', files === undefined ? '' : `${plural(files.files, 'file')}, ${formatBytes(files.bytes)}`],
    ['', status.lacking ?? ''],
    ['latest', describeLatest(status)],
    [
      'attempts',
      `${plural(attempts.total, 'submission')}, ${attempts.submitted.toLocaleString('en')} in flight`,
    ],
    ['', odd === undefined ? '' : `the service says ${odd}`],
    [
      '',
      doubtful > 0
        ? `${formatCounts([
            [attempts.unanswered, 'unanswered'],
            [attempts.expired, 'expired'],
          ])}: these may have been billed without a result`
        : '',
    ],
    ...describeHeld(status.summary),
    ['cost', cost === null ? '' : describeCost(cost)],
    ...describeFailures(status.summary),
    ['trouble', describeTrouble(status)],
  ];
  return [
    ...rows.flatMap(([name, text]) => (text === '' ? [] : wrapIndented(name, text, columns, 10))),
    ...(stats === undefined ? [] : describeLastRun(stats, columns, isAsked)),
  ];
}

/** Lists paid results and jobs that wait until the user changes a setting. */
function describeHeld({ held }: BatchNumbers): [string, string][] {
  return held.map(({ kind, results, kept, lastText }, i) => {
    const isKnown = isFailureKind(kind);
    const setting = isKnown ? settingFor(kind) : kind;
    const what =
      isKnown && isTimeout(kind)
        ? `${plural(results, 'job')} for ${setting}`
        : `${plural(results, 'paid result')} for ${setting}, ${kept.toLocaleString('en')} kept here`;
    return [i === 0 ? 'waiting' : '', `${what}: ${lastText}`];
  });
}

export function savedOf(scenes: BatchNumbers['scenes']): string {
  const total = scenes.waiting + scenes.active + scenes.saved + scenes.failed + scenes.invalid;
  const { saved } = scenes;
  return `${saved.toLocaleString('en')} of ${total.toLocaleString('en')} saved${percent(saved, total)}`;
}

export function describePace(pace: Throughput | undefined): string {
  if (pace === undefined) return '';
  const left = formatLeft(pace.leftMs);
  return `${formatRate(pace.perSecond)} of late${left === undefined ? '' : `, about ${left}`}`;
}

function describeFailures({ failures }: BatchNumbers): [string, string][] {
  const first = failures.slice(0, 8);
  return titled(
    'failures',
    first.map(({ kind, attempts, lastText }) => `${attempts.toLocaleString('en')} × ${kind}: ${lastText}`),
  );
}

/** The latest picture and failure are only shown during a run. */
function describeLatest({ isRunning, shownImages: images, latestPicture }: BatchStatus): string {
  return isRunning && latestPicture !== undefined ? `${images}/${latestPicture}` : '';
}

function describeTrouble({ isRunning, lastTrouble }: BatchStatus): string {
  if (!isRunning || lastTrouble === undefined) return '';
  const { at, sceneId: scene, kind, text, prompt } = lastTrouble;
  return `${formatInstant(at)} ${sceneWords({ scene, ...(prompt !== undefined && { prompt }) })}: ${kind}: ${text}`;
}

function describeCost(cost: BatchCost): string {
  const { inFlight, untold, currency } = cost;
  const parts = [
    formatSpent(cost),
    inFlight > 0 ? `up to ${formatCost({ spent: inFlight, currency })} more in flight` : '',
    untold > 0 ? `including an estimate for ${plural(untold, 'submission')} with unknown outcome` : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}

export function statusFacts({
  dir,
  isRunning,
  summary,
  words,
  pace,
  latestPicture,
  lacking,
  lastTrouble,
}: BatchStatus): object {
  const { lastRun: run } = summary;
  const lastRun = run && { ...run, startedAt: jsonInstant(run.startedAt), endedAt: jsonInstant(run.endedAt) };
  return {
    dir,
    isRunning,
    summary: { ...summary, lastRun },
    words,
    pace: pace ?? null,
    ...(lacking !== undefined && { lacking }),
    latestPicture: latestPicture === undefined ? null : `images/${latestPicture}`,
    lastTrouble: lastTrouble === undefined ? null : { ...lastTrouble, at: jsonInstant(lastTrouble.at) },
  };
}

function describeRun({ isRunning, quietSince, summary }: BatchStatus): string {
  const run = summary.lastRun;
  if (run === null) return 'none yet';
  const quiet = quietSince === undefined ? '' : `; nothing has finished since ${formatInstant(quietSince)}`;
  if (isRunning)
    return `running since ${formatInstant(run.startedAt)} (process ${run.pid} on ${run.host})${quiet}`;
  if (run.endedAt === null)
    return `exited without a final status; it began ${formatInstant(run.startedAt)}. The same command resumes`;
  return `${endingOf(run)}; ended ${formatInstant(run.endedAt)} with exit code ${run.exitCode}`;
}

function endingOf(run: RunRecord): string {
  return run.ending ?? 'ended';
}

export function otherStates(scenes: BatchNumbers['scenes']): string {
  const { waiting, active, failed, invalid, withdrawn } = scenes;
  return formatCounts([
    [active, 'in flight'],
    [waiting, 'waiting'],
    [failed, 'failed'],
    [invalid, 'invalid'],
    unneededOf(scenes),
    [withdrawn, 'withdrawn'],
  ]);
}

function percent(part: number, whole: number): string {
  return whole === 0 ? '' : ` (${Math.floor((part / whole) * 100)} %)`;
}

interface StatusWatch {
  /** Shows a status unless it is unchanged or not due yet. False if the reader has closed the pipe. */
  show(status: BatchStatus): Promise<boolean>;
  end(status: BatchStatus): Promise<void>;
}

/** A block redrawn on a terminal, lines elsewhere, or JSON. `elapsed`: monotonic ms; `now`: epoch ms. */
function watchStatus(json: boolean, isAsked: boolean, elapsed: () => number, now: () => number): StatusWatch {
  if (json) return jsonWatch(now);
  return canRedraw(process.stdout) ? blockWatch(isAsked) : plainWatch(isAsked, elapsed, now);
}

function blockWatch(isAsked: boolean): StatusWatch {
  const block = createBlock(process.stdout);
  return {
    show: async (status) => {
      block.draw(watchedLines(status, outColumns() - 1));
      return true;
    },
    end: async (status) => {
      block.clear();
      writeOut(statusLines(status, outColumns(), isAsked).join('\n'));
    },
  };
}

const maxCells = 40;

/** The status below a progress bar as wide as the terminal allows. */
function watchedLines(status: BatchStatus, columns: number): string[] {
  const { saved, failed, waiting, active } = status.summary.scenes;
  const total = saved + failed + waiting + active;
  const cells = Math.max(0, Math.min(maxCells, columns - 10));
  const full = total === 0 ? 0 : Math.floor((cells * (saved + failed)) / total);
  return [`${' '.repeat(10)}${'█'.repeat(full)}${'░'.repeat(cells - full)}`, ...statusLines(status, columns)];
}

function jsonWatch(now: () => number): StatusWatch {
  const show = skipUnchanged((status) =>
    writeOutPart(`${JSON.stringify(jsonLine('status', statusFacts(status), now()))}\n`),
  );
  return { show, end: async (status) => void (await show(status)) };
}

/** Prints lines at the same intervals as a run's own log. */
function plainWatch(isAsked: boolean, elapsed: () => number, now: () => number): StatusWatch {
  const startedElapsed = elapsed();
  let nextElapsed = startedElapsed;
  const emit = skipUnchanged((status) => writeOutPart(`${formatInstant(now())}  ${plainLine(status)}\n`));
  return {
    show: async (status) => {
      if (elapsed() < nextElapsed) return true;
      nextElapsed = elapsed() + logPauseMs(elapsed() - startedElapsed);
      return emit(status);
    },
    end: async (status) =>
      void (await writeOutPart(`${statusLines(status, outColumns(), isAsked).join('\n')}\n`)),
  };
}

function plainLine({ summary, pace }: BatchStatus): string {
  return [savedOf(summary.scenes), otherStates(summary.scenes), describePace(pace)]
    .filter((part) => part !== '')
    .join(', ');
}

/** Skips a status that equals the last one. Throughput is ignored, because it changes all the time. */
function skipUnchanged(
  show: (status: BatchStatus) => Promise<boolean>,
): (status: BatchStatus) => Promise<boolean> {
  let last: string | undefined;
  return async (status) => {
    const news = JSON.stringify(statusFacts({ ...status, pace: undefined }));
    if (news === last) return true;
    last = news;
    return show(status);
  };
}
