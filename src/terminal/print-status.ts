/** Where a batch stands, for people or as one JSON object. */
import { sceneWords } from './describe-event.ts';
import type { BatchNumbers, RunRecord } from '../runner/core/report-row.ts';
import { formatCost, type BatchCost } from '../runner/core/spending.ts';
import { formatDuration } from '../lib/text/format.ts';
import type { Throughput } from '../runner/core/time-left.ts';
import { outColumns, writeOut } from './console.ts';
import { describeStats } from './describe-stats.ts';
import { formatPart } from '../runner/core/part.ts';
import { hanging } from './hanging.ts';
import { jsonInstant, writeJsonLine } from './json-lines.ts';
import { plural, formatBytes, formatCounts, formatInstant, formatRate, titled } from './words.ts';

export interface BatchStatus {
  dir: string;
  shownDir: string;
  /** Where pictures are, as people should read it. */
  shownImages: string;
  /** Whether a run holds the batch at this moment. */
  isRunning: boolean;
  /** Since when a run at work has finished nothing, where something should have; undefined where all is well. */
  quietSince: number | undefined;
  summary: BatchNumbers;
  /** Undefined where no run is at work, or too little has finished of late to tell. */
  pace: Throughput | undefined;
  /** The newest picture, relative to the images folder. */
  latestPicture: string | undefined;
  /** Which files saved scenes lack, in words; undefined where none does. */
  lacking: string | undefined;
  lastTrouble: { sceneId: string; prompt?: string; kind: string; text: string; at: number } | undefined;
}

export function printStatus(status: BatchStatus, json: boolean): void {
  if (json) writeJsonLine('status', statusFacts(status));
  else writeOut(statusLines(status, outColumns()).join('\n'));
}

/** `columns`: the width that no line exceeds. */
export function statusLines(status: BatchStatus, columns: number): string[] {
  const { scenes, pictures, files, attempts, cost, part, lastRun } = status.summary;
  const doubtful = attempts.unanswered + attempts.expired;
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
    ['pictures', `${plural(pictures.files, 'file')}, ${formatBytes(pictures.bytes)}`],
    ['files', files === undefined ? '' : `${plural(files.files, 'file')}, ${formatBytes(files.bytes)}`],
    ['', status.lacking ?? ''],
    ['latest', describeLatest(status)],
    [
      'attempts',
      `${plural(attempts.total, 'submission')}, ${attempts.submitted.toLocaleString('en')} in flight`,
    ],
    [
      '',
      doubtful > 0
        ? `${attempts.unanswered} unanswered, ${attempts.expired} expired: these may have been billed for nothing`
        : '',
    ],
    ['cost', cost === null ? '' : describeCost(cost)],
    ...describeFailures(status.summary),
    ['trouble', describeTrouble(status)],
  ];
  const stats = lastRun?.stats ?? undefined;
  return [
    ...rows.flatMap(([name, text]) => (text === '' ? [] : hanging(name, text, columns, 10))),
    ...(stats === undefined || status.isRunning ? [] : describeStats(stats, columns)),
  ];
}

/** `12 of 40 saved (30 %)`. */
export function savedOf(scenes: BatchNumbers['scenes']): string {
  const total = scenes.waiting + scenes.active + scenes.saved + scenes.failed + scenes.invalid;
  const { saved } = scenes;
  return `${saved.toLocaleString('en')} of ${total.toLocaleString('en')} saved${percent(saved, total)}`;
}

/** Empty where unknown. */
export function describePace(pace: Throughput | undefined): string {
  if (pace === undefined) return '';
  const left = pace.leftMs === null ? '' : `, about ${formatDuration(pace.leftMs)} left`;
  return `${formatRate(pace.perSecond)} of late${left}`;
}

function describeFailures({ failures }: BatchNumbers): [string, string][] {
  const first = failures.slice(0, 8);
  return titled(
    'failures',
    first.map(({ kind, attempts, lastText }) => `${attempts.toLocaleString('en')} × ${kind}: ${lastText}`),
  );
}

/** While a run is at work, both are news. */
function describeLatest({ isRunning, shownImages, latestPicture }: BatchStatus): string {
  return isRunning && latestPicture !== undefined ? `${shownImages}/${latestPicture}` : '';
}

function describeTrouble({ isRunning, lastTrouble }: BatchStatus): string {
  if (!isRunning || lastTrouble === undefined) return '';
  const { at, sceneId: scene, kind, text, prompt } = lastTrouble;
  return `${formatInstant(at)} ${sceneWords({ scene, ...(prompt !== undefined && { prompt }) })}: ${kind}: ${text}`;
}

function describeCost(cost: BatchCost): string {
  const { inFlight, untold, currency } = cost;
  const parts = [
    `${formatCost(cost)} so far`,
    inFlight > 0 ? `up to ${formatCost({ spent: inFlight, currency })} more in flight` : '',
    untold > 0 ? `including an estimate for ${plural(untold, 'submission')} with unknown outcome` : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}

/** For a line of JSON. */
export function statusFacts({
  dir,
  isRunning,
  summary,
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

export function otherStates({ waiting, active, failed, invalid, withdrawn }: BatchNumbers['scenes']): string {
  return formatCounts([
    [active, 'in flight'],
    [waiting, 'waiting'],
    [failed, 'failed'],
    [invalid, 'invalid'],
    [withdrawn, 'withdrawn'],
  ]);
}

function percent(part: number, whole: number): string {
  return whole === 0 ? '' : ` (${Math.floor((part / whole) * 100)} %)`;
}
