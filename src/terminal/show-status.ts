/** Where a batch stands, for people or as one JSON object. */
import type { BatchNumbers, RunRecord } from '../core/report-row.ts';
import { showCost, type BatchCost } from '../core/spending.ts';
import { outColumns, writeOut } from './console.ts';
import { describeStats } from './describe-stats.ts';
import { showPart } from '../core/part.ts';
import { plural, showBytes, showInstant } from './words.ts';

export interface BatchStatus {
  dir: string;
  shownDir: string;
  /** Whether a run holds the batch at this moment. */
  isRunning: boolean;
  summary: BatchNumbers;
}

export function showStatus(status: BatchStatus, json: boolean): void {
  if (json) return writeOut(JSON.stringify(statusJson(status)));
  const { shownDir } = status;
  const { scenes, pictures, attempts, failures, cost, part } = status.summary;
  const total = scenes.waiting + scenes.active + scenes.saved + scenes.failed + scenes.invalid;
  const doubtful = attempts.unanswered + attempts.expired;
  const rows: [string, string][] = [
    ['batch', shownDir],
    ['run', describeRun(status)],
    [
      'scenes',
      `${scenes.saved.toLocaleString('en')} of ${total.toLocaleString('en')} saved${percent(scenes.saved, total)}`,
    ],
    ['', otherStates(scenes)],
    [
      'preview',
      part === null
        ? ''
        : `${plural(part.scenes, 'scene')} (${showPart(part)}); a run without it renders the rest`,
    ],
    ['pictures', `${plural(pictures.files, 'file')}, ${showBytes(pictures.bytes)}`],
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
    ...failures
      .slice(0, 8)
      .map(({ kind, attempts: count, lastText }, i): [string, string] => [
        i === 0 ? 'failures' : '',
        `${count.toLocaleString('en')} × ${kind}: ${lastText}`,
      ]),
  ];
  for (const [name, text] of rows) if (text !== '') writeOut(`${name.padEnd(10)}${text}`);
  const stats = status.summary.lastRun?.stats ?? undefined;
  if (stats !== undefined) writeOut(describeStats(stats, outColumns()).join('\n'));
}

function describeCost(cost: BatchCost): string {
  const { inFlight, untold, currency } = cost;
  const parts = [
    `${showCost(cost)} so far`,
    inFlight > 0 ? `up to ${showCost({ spent: inFlight, currency })} more in flight` : '',
    untold > 0 ? `of it an estimate for ${plural(untold, 'submission')} of which nobody knows` : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}

/** Instants as everywhere in JSON for others: ISO 8601. */
function statusJson({ dir, isRunning, summary }: BatchStatus) {
  const { lastRun: run } = summary;
  const instant = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
  const lastRun = run && { ...run, startedAt: instant(run.startedAt), endedAt: instant(run.endedAt) };
  return { type: 'status', dir, isRunning, summary: { ...summary, lastRun } };
}

function describeRun({ isRunning, summary }: BatchStatus): string {
  const run = summary.lastRun;
  if (run === null) return 'none yet';
  if (isRunning) return `running since ${showInstant(run.startedAt)} (process ${run.pid} on ${run.host})`;
  if (run.endedAt === null)
    return `died without a word; it began ${showInstant(run.startedAt)}. The same command goes on from there`;
  return `${endingOf(run)}; ended ${showInstant(run.endedAt)} with exit code ${run.exitCode}`;
}

function endingOf(run: RunRecord): string {
  return run.ending ?? 'ended';
}

function otherStates({ waiting, active, failed, invalid, withdrawn }: BatchNumbers['scenes']): string {
  const named: [number, string][] = [
    [active, 'in flight'],
    [waiting, 'waiting'],
    [failed, 'failed'],
    [invalid, 'invalid'],
    [withdrawn, 'withdrawn'],
  ];
  return named
    .filter(([count]) => count > 0)
    .map(([count, name]) => `${count.toLocaleString('en')} ${name}`)
    .join(', ');
}

function percent(part: number, whole: number): string {
  return whole === 0 ? '' : ` (${Math.floor((part / whole) * 100)} %)`;
}
