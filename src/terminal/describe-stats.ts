/** Statistics of a run as text: requests, lag, data, and what held the run back. */
import { plural } from '../lib/text/format.ts';
import type { IdleReason } from '../runner/core/slot-usage.ts';
import type { Percentiles, RunStats } from '../runner/core/run-stats.ts';
import { wrapIndented } from './fit-text.ts';
import { formatBytes, formatShortTime, titled } from './words.ts';

/** `columns`: maximum width of a line. */
export function describeStats(stats: RunStats, columns: number): string[] {
  const { pictures, requestsPerJob } = stats;
  const looks = requestsPerJob.status === null ? [] : `${requestsPerJob.status} status requests`;
  const sent = requestsPerJob.submissions === null ? [] : plural(requestsPerJob.submissions, 'submission');
  const requests = [sent, looks].flat().join(' and ');
  const rows: [string, string][] = [
    ['in flight', belowLimit(stats)],
    ['requests', requests === '' ? '' : `${requests} a job`],
    ...lagRows(stats),
    ['429', describe429(stats)],
    ['data', pictures.files === 0 ? '' : describePictures(stats)],
  ];
  const shown = rows.filter(([, text]) => text !== '');
  return [
    `What slowed the run down, in ${formatShortTime(stats.tookMs)}:`,
    ...shown.flatMap(([name, text]) => wrapIndented(`  ${name}`, text, columns)),
  ];
}

/** Text such as `below the limit of 16 for 23 % of the time: 15 % nothing left, 8 % the service answered 429`. */
export function belowLimit({ timeMs, tookMs, concurrency }: RunStats): string {
  const { inFlight, ...others } = timeMs;
  const limit = `the limit of ${concurrency.toLocaleString('en')}`;
  const percentOf = (ms: number): number => Math.round((100 * ms) / tookMs);
  if (inFlight >= tookMs) return `at ${limit} all the time`;
  const below = percentOf(tookMs - inFlight);
  if (below === 0) return `at ${limit} for more than 99 % of the time`;
  const reasons = (Object.entries(others) as [IdleReason, number][])
    .toSorted((a, b) => b[1] - a[1])
    .filter(([, ms]) => percentOf(ms) > 0)
    .map(([reason, ms]) => `${percentOf(ms)} % ${words[reason]}`);
  return `below ${limit} for ${below} % of the time${reasons.length === 0 ? '' : `: ${reasons.join(', ')}`}`;
}

const words: Record<IdleReason, string> = {
  rate: 'your `rate`',
  slowed: '`Retry-After` of the service',
  load: 'the service answered 429',
  outage: 'the service did not answer',
  downloads: 'downloads of pictures',
  memory: 'waiting for memory (`limits.memory`)',
  checking: 'checking pictures',
  disk: 'writing to disk',
  limits: '`limits` reached',
  resuming: 'planning and resuming',
  retries: 'only retries left',
  stopping: 'the run was stopping',
  nothingLeft: 'nothing left',
};

function lagRows({ lagMs, lagAtMostMs }: RunStats): [string, string][] {
  const rows: string[] = [];
  if (lagMs !== null)
    rows.push(`${formatPercentiles(lagMs)} from completion to collection, by the service's times`);
  if (lagAtMostMs !== null)
    rows.push(
      `at most ${formatPercentiles(lagAtMostMs)}, since last seen running: the service reports no times`,
    );
  return titled('lag', rows);
}

function formatPercentiles({ jobs, p50, p95 }: Percentiles): string {
  return `${formatShortTime(p50)} at p50, ${formatShortTime(p95)} at p95 (${plural(jobs, 'job')})`;
}

function describe429({ lostTo429, requests }: RunStats): string {
  const { answers, backOffMs, slowedMs, looksMs } = lostTo429;
  if (answers.submissions + answers.status === 0) return '';
  const lost: [number, string][] = [
    [backOffMs, 'backing off'],
    [slowedMs, '`Retry-After`'],
    [looksMs, 'polling later'],
  ];
  const parts = lost.filter(([ms]) => ms > 0).map(([ms, how]) => `${formatShortTime(ms)} ${how}`);
  const sent = requests.submissions + requests.status;
  const of = `${(answers.submissions + answers.status).toLocaleString('en')} of ${plural(sent, 'request')}`;
  return parts.length === 0 ? of : `${of}; lost to it: ${parts.join(', ')}`;
}

function describePictures({ pictures: { files, bytes, bytesPerSecond } }: RunStats): string {
  const rate = bytesPerSecond === null ? '' : `, ${formatBytes(bytesPerSecond)} a second`;
  return `${formatBytes(bytes)} in ${plural(files, 'picture')}${rate}`;
}
