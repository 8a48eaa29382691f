/** Text about a run: how it ended, where the results are, what to do next, its statistics, and its workers. */
import { formatCounts, formatDuration, plural } from '../lib/text/format.ts';
import { type EndingRule, endings } from '../runner/core/ending.ts';
import { type HeldResults, isTimeout } from '../runner/core/halting.ts';
import type { IdleReason, MoreJobs, Percentiles, RunStats } from '../runner/core/run-stats.ts';
import {
  type JobWord,
  oddWords,
  type ServiceHealth,
  workerStates,
} from '../runner/core/service-description.ts';
import { nounFor } from '../runner/core/picture.ts';
import { formatSpent } from '../runner/core/spending.ts';
import type { Event } from '../runner/pipeline/event.ts';
import { wrapIndented } from './fit-text.ts';
import type { Link } from './terminal.ts';
import type { ViewOptions } from './progress.ts';
import {
  describeValues,
  describeWords,
  formatBytes,
  formatClock,
  formatShortTime,
  titled,
  unneededOf,
} from './words.ts';

/** Returns the last words of a run. `took`: its duration, as text. `link` makes a link to a path if the terminal shows links. */
export function describeEnding(
  event: Event & { type: 'run-ended' },
  {
    shownDir,
    shownImages,
    file,
    runArguments,
    isFree,
  }: Pick<ViewOptions, 'shownDir' | 'shownImages' | 'file' | 'runArguments' | 'isFree'>,
  took: string,
  link: Link = (text) => text,
): string {
  const { saved, waiting, active, failed, withdrawn, invalid, unneeded = 0 } = event.counts;
  const total = saved + waiting + active + failed + invalid;
  const rows: [string, string][] = [];
  // If all scenes are saved, the first line already contains these numbers.
  const isAll = event.ending === 'complete' && event.part === undefined && total > 0;
  if (!isAll || withdrawn + unneeded > 0) rows.push(['scenes', countsOf(event.counts)]);
  if (!isAll) rows.push(['time', took]);
  if (event.cost !== undefined) rows.push(['cost', formatSpent(event.cost)]);
  if (event.untold > 0) rows.push(['in doubt', inDoubt(event.untold, isFree)]);
  for (const held of event.held ?? []) rows.push(['waiting', describeHeld(held)]);
  rows.push([event.pictures === undefined ? 'pictures' : `${nounFor(event.pictures)}s`, shownImages]);
  const words = event.pictures === undefined ? '' : describeWords(event.pictures);
  if (words !== '') rows.push(['words', words]);
  const values = event.pictures === undefined ? '' : describeValues(event.pictures);
  if (values !== '') rows.push(['values', values]);
  if (event.bias !== undefined) rows.push(['seeds', event.bias]);
  if (event.report !== undefined)
    rows.push(['gallery', link(`${shownDir}/report/index.html`, `${event.report}/index.html`)]);
  else if (event.ending !== 'output-unwritable' && total > 0)
    rows.push(['gallery', `not updated; run \`nightrender report ${file}\``]);
  if (event.moreJobs !== undefined) rows.push(['speed', describeMoreJobs(event.moreJobs)]);
  const hint = hintOf(event, file, runArguments);
  const reached = isAll ? `: ${saved.toLocaleString('en')} of ${plural(total, 'scene')} in ${took}` : '';
  const head = `${event.text.charAt(0).toUpperCase()}${event.text.slice(1)}${reached}.`;
  return [
    head,
    ...rows.map(([name, text]) => `  ${name.padEnd(10)}${text}`),
    ...(hint === '' ? [] : [hint]),
  ].join('\n');
}

function countsOf(counts: (Event & { type: 'run-ended' })['counts']): string {
  const { saved, waiting, active, failed, withdrawn, invalid } = counts;
  const shown = formatCounts([
    [saved, 'saved'],
    [failed, 'failed'],
    [active, 'in flight'],
    [waiting, 'waiting'],
    [invalid, 'invalid'],
    unneededOf(counts),
    [withdrawn, 'withdrawn'],
  ]);
  return shown || 'none';
}

function inDoubt(count: number, isFree = false): string {
  const billed = isFree ? '' : ', possibly billed';
  return `${plural(count, 'submission')} without an answer or a result${billed}; the report lists those on record`;
}

/** Text such as ``all 16 slots were in use and jobs began within 1 s: `concurrency: 64` may finish sooner``. */
function describeMoreJobs({ slots, beganWithinMs, concurrency }: MoreJobs): string {
  const began = `jobs began within ${Math.max(1, Math.ceil(beganWithinMs / 1000))} s`;
  const all = slots === 1 ? 'the only slot was' : `all ${slots.toLocaleString('en')} slots were`;
  return `${all} in use and ${began}: \`concurrency: ${concurrency}\` may finish sooner`;
}

function describeHeld({ setting, kind, count, kept, addresses, keptUntil }: HeldResults): string {
  if (kind === 'job-overdue')
    return `${plural(count, 'job')} for ${setting}; they continue at the service, and the next run collects them`;
  if (kind === 'job-timed-out')
    return `${plural(count, 'scene')} for ${setting}; the next run sends them again, one at first`;
  if (kind === 'default-timeout')
    return `${plural(count, 'scene')} for ${setting}; once it is set, the next run sends them again`;
  const results = `${plural(count, 'paid result')} for ${setting}`;
  const where =
    kept === count
      ? 'kept here'
      : `${kept === 0 ? '' : `${kept.toLocaleString('en')} kept here, the others `}at the service, at least until ${formatClock(keptUntil)}`;
  return `${results}; ${where}${addresses === 0 ? '' : '; their files exist only as long as their host keeps them'}`;
}

function hintOf(event: Event & { type: 'run-ended' }, file: string, runArguments: string): string {
  const ending: EndingRule = endings[event.ending];
  if (event.isLost === true) return '';
  if (ending.isResumable) {
    const first = ending.first === undefined ? '' : `${ending.first}, `;
    // A full or failing disk may have lost something, too. So have missing pictures and unanswered submissions.
    const lost = event.lostResults ?? 0;
    const isAnyLost =
      event.ending === 'output-unwritable' ||
      event.missingPictures !== undefined ||
      event.untold > 0 ||
      lost > 0;
    const isAtRisk = (event.held ?? []).some(
      ({ kind, count, kept, addresses }) => !isTimeout(kind) && (addresses > 0 || kept < count),
    );
    const goesOn = isAnyLost
      ? `${lost === 0 ? '' : `${plural(lost, 'paid result is', 'paid results are')} lost. `}Then the same command resumes.`
      : `Nothing is lost${isAtRisk ? ' yet' : ''}: ${first}the same command resumes.`;
    const held = (event.held ?? []).reduce((sum, { count }) => sum + count, 0);
    const inFlight = Math.max(0, event.counts.active - held);
    if (inFlight === 0) return goesOn;
    return `${goesOn} Start it within 30 minutes to collect ${plural(inFlight, 'job')} in flight.`;
  }
  if (event.missingPictures !== undefined)
    return `After that, \`nightrender run ${runArguments}\` renders them again.`;
  if (event.ending === 'complete' && event.part !== undefined && event.counts.waiting > 0)
    return `Their results are kept: \`nightrender run ${runArguments}\` renders the rest.`;
  if (event.counts.failed === 0) return '';
  return `The report says why each scene failed; \`nightrender retry ${file}\` gives them new attempts.`;
}

/**
 * Returns advice about a run that ended, and its statistics if they are asked for or worth reading. They are worth it
 * if the run took more than a minute and had less than nine tenths of the possible jobs in flight. `columns`: maximum
 * width of a line.
 */
export function describeLastRun(stats: RunStats, columns: number, isAsked: boolean): string[] {
  const { tookMs, timeMs, moreJobs } = stats;
  const advice = moreJobs === undefined ? [] : wrapIndented('speed', describeMoreJobs(moreJobs), columns, 10);
  const isSlowed = tookMs > minuteMs && timeMs.inFlight < 0.9 * (tookMs - timeMs.nothingLeft);
  return [...advice, ...(isAsked || isSlowed ? describeStats(stats, columns) : [])];
}

const minuteMs = 60_000;

/** Returns the statistics of a run as text. `columns`: maximum width of a line. */
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
  outage: 'the service or the host of its results did not answer',
  downloads: 'downloads',
  memory: 'waiting for memory (`limits.memory`)',
  checking: 'checking files',
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
  return `${formatBytes(bytes)} in ${plural(files, 'file')}${rate}`;
}

const healthWords = {
  running: 'running',
  idle: 'idle',
  ready: 'ready',
  initializing: 'starting',
  throttled: 'throttled',
  unhealthy: 'unhealthy',
} as const;

/** Text such as `7 running, 2 idle`. Undefined if the report has no workers. */
export function workersText({ workers }: ServiceHealth): string | undefined {
  const reported = workerStates.filter((state) => workers[state] !== undefined);
  if (reported.length === 0) return undefined;
  // Services count running and idle workers as ready, too.
  const isSplit = (workers.running ?? 0) + (workers.idle ?? 0) > 0;
  const some = reported.filter((state) => (workers[state] ?? 0) > 0 && !(state === 'ready' && isSplit));
  return (
    some.map((state) => `${workers[state]?.toLocaleString('en')} ${healthWords[state]}`).join(', ') || 'none'
  );
}

/** Says for how long nothing has finished, and why if known. Undefined if `stalledMs` is. */
export function stallText(
  { stalledMs, words: said = [] }: { stalledMs: number | undefined; words?: readonly JobWord[] },
  health: ServiceHealth | undefined,
): string | undefined {
  if (stalledMs === undefined) return undefined;
  const silence = `nothing has finished for ${formatDuration(stalledMs).replace(/ \d+ s$/, '')}`;
  const odd = oddWords(said);
  if (odd !== undefined) return `${silence}: the service says ${odd}`;
  if (health === undefined) return silence;
  if (hasNoJob(health)) return `${silence}: jobs in flight are done, their results wait to be saved`;
  if (!hasNoWorker(health)) return silence;
  const others = workersText(health);
  return `${silence}: no worker is ready${others === 'none' ? '' : ` (${others})`}`;
}

/** True if the service reports its jobs and none waits or runs, so no worker is needed. */
export function hasNoJob({ jobs }: ServiceHealth): boolean {
  return jobs.inQueue === 0 && jobs.inProgress === 0;
}

/** True if the service reports its workers and none can take a job. */
export function hasNoWorker({ workers }: ServiceHealth): boolean {
  const { running, idle, ready } = workers;
  const able = [running, idle, ready].filter((count) => count !== undefined);
  return able.length > 0 && able.every((count) => count === 0);
}
