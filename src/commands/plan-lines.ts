/** The text of a plan, as `nightrender plan` shows it. */
import { comingText } from '../batch/dry-run.ts';
import type { Endpoint } from '../runner/core/attempt.ts';
import type { NamedFile } from '../runner/core/picture.ts';
import { formatPart, type Part, type SceneCounts } from '../runner/core/scene.ts';
import type { BatchPlan, EndpointCheck, FirstRequest } from '../runner/core/batch-plan.ts';
import { wrapIndented, escapeControls } from '../terminal/fit-text.ts';
import { describeRepeated } from '../terminal/describe-event.ts';
import { formatBytes, formatShortTime, titled, unneededOf } from '../terminal/words.ts';
import { formatDuration, formatCounts, plural } from '../lib/text/format.ts';
import type { Cut, Forecast } from '../runner/core/forecast.ts';
import { formatCost, type Billed, type UnitPrice } from '../runner/core/spending.ts';
import { withFilesNamed } from '../runner/core/file-text.ts';

export interface ShownPlan extends Omit<BatchPlan, 'notes'> {
  program: string;
  file: string;
  commandArguments: string;
  runArguments: string;
  manifest: string[];
  endpoint: Endpoint;
  /** URL of the proxy on the way to the endpoint; null if there is none. */
  proxy: string | null;
  dir: string;
  shownDir: string;
  /** The `--limit` or `--sample` that was given; null for all of the batch. */
  asked: Part | null;
  /** Files that each job returns besides its pictures. */
  files: NamedFile[];
  warnings: string[];
  /** For a stage planned together with its source: maximum number of further scenes that its source may add. */
  upTo?: number;
  /** Null unless `--check` was given. */
  check: EndpointCheck | null;
  /** A sentence that says why a run could not write; null if it could. */
  obstacle: string | null;
  exitCode: number;
}

/** Returns what a run would do, send, cost and take, as lines for people. */
export function planLines(shown: ShownPlan, columns: number): string[] {
  const rows = rowsOf(shown).filter(([, text]) => text !== '');
  return [
    ...wrapIndented('', headOf(shown), columns, 0),
    '',
    ...rows.flatMap(([name, text]) => wrapIndented(`  ${name}`, text, columns)),
    ...shown.requests.flatMap((request, i) => ['', ...describeRequest(request, i + 1, columns)]),
    '',
    ...wrapIndented('', lastWords(shown), columns, 0),
  ];
}

function headOf({ counts, part, asked, shownDir, file }: ShownPlan): string {
  const { waiting, active } = part ?? counts;
  if (waiting + active === 0) {
    const rest = counts.waiting;
    if (rest === 0) return `Nothing is left to render in ${shownDir} (${file}).`;
    return `Nothing of this preview is left to render in ${shownDir} (${file}); ${plural(rest, 'scene')} wait${rest === 1 ? 's' : ''} for a full run.`;
  }
  const what = plural(waiting, 'scene');
  const preview =
    asked === null ? '' : `, a preview (${formatPart(asked)}) of ${plural(counts.waiting, 'waiting scene')}`;
  return `A run of ${file} would submit ${what}${preview}.`;
}

function rowsOf(shown: ShownPlan): [string, string][] {
  const { manifest, endpoint, shownDir, changes, counts, part, setAside, forecast, check } = shown;
  const where = endpoint.baseUrl === 'local' ? 'the local service' : endpoint.baseUrl;
  return [
    ['manifest', manifest.join(', ')],
    ['endpoint', endpoint.id === '' ? where : `${where}, ${endpoint.id}`],
    ['proxy', shown.proxy ?? ''],
    ['', check === null ? '' : describeCheck(check)],
    ['price', describePrice(check?.price)],
    ...titled('reads', [...(check?.reads ?? []), ...foundAtOf(shown)]),
    ['output', shownDir],
    ['files', shown.files.map(({ label, kind }) => `${label} (${kind})`).join(', ')],
    ['scenes', statesOf(counts)],
    ['', changesOf(changes)],
    ['', changes.repeated === undefined ? '' : describeRepeated(changes.repeated)],
    ['', shown.upTo ? `besides, ${comingText(manifest.join(), shown.upTo)}` : ''],
    ['preview', part === null ? '' : statesOf(part)],
    ['run', shown.isRunning ? 'a run is active; these are its present numbers' : ''],
    ['in flight', inFlightOf(shown)],
    [
      'failed',
      setAside.failed.map(({ kind, scenes }) => `${scenes.toLocaleString('en')} × ${kind}`).join(', '),
    ],
    [
      '',
      setAside.failed.length === 0
        ? ''
        : `\`nightrender retry ${shown.commandArguments}\` gives them new attempts`,
    ],
    ...badRowsOf(shown),
    ['cost', costOf(forecast)],
    ['seeds', atMostOf(shown)],
    ['time', timeOf(forecast)],
    ...titled('limits', forecast.cuts.map(describeCut)),
    ...titled('list', shown.remarks),
    ...[
      ...shown.warnings,
      check?.warning ?? '',
      shown.warning ?? '',
      shown.lacking ?? '',
      shown.misnamed ?? '',
    ].map((text): [string, string] => ['warning', text]),
    ['problem', shown.obstacle ?? ''],
  ];
}

function foundAtOf({ foundAt, check }: ShownPlan): string[] {
  if (check === null || foundAt === null) return [];
  return [`pictures at ${foundAt} of the output, where the last one was found (\`output.image\`)`];
}

function statesOf(counts: SceneCounts): string {
  const { waiting, active, saved, failed, invalid, withdrawn } = counts;
  return formatCounts([
    [waiting, 'to render'],
    [active, 'in flight'],
    [saved, 'saved'],
    [failed, 'failed'],
    unneededOf(counts),
    [withdrawn, 'withdrawn'],
    [invalid, invalid === 1 ? 'bad row skipped' : 'bad rows skipped'],
  ]);
}

function changesOf({ added, changed, withdrawn }: BatchPlan['changes']): string {
  const named: [number, string][] = [
    [added, 'new'],
    [changed, 'edited since: the old files are kept'],
    [withdrawn, 'no longer listed: their files are kept'],
  ];
  return formatCounts(named, '; ');
}

function inFlightOf({ setAside: { inFlight, intended }, isRunning }: ShownPlan): string {
  const jobs = isRunning
    ? `${plural(inFlight, 'job')} of that run`
    : `${plural(inFlight, 'job')} of an earlier run, collected first`;
  const doubt = isRunning
    ? `${plural(intended, 'submission')} on the way`
    : `${plural(intended, 'submission')} of an earlier run, possibly sent and billed`;
  return [inFlight > 0 ? jobs : [], intended > 0 ? doubt : []].flat().join('; ');
}

function badRowsOf({ setAside: { badRows }, counts }: ShownPlan): [string, string][] {
  const shown = badRows.map(({ source, problem }) => `${source}: ${problem}`);
  const more = counts.invalid - badRows.length;
  const all = more > 0 ? [...shown, `and ${more.toLocaleString('en')} more`] : shown;
  return titled('bad rows', all);
}

/** Empty unless `scenes.until` decides how many seeds are rendered. */
function atMostOf({ atMost, forecast: { scenes, cost } }: ShownPlan): string {
  if (atMost === null) return '';
  const priced = (count: number, amount: number | null): string =>
    cost === null || amount === null
      ? count.toLocaleString('en')
      : `${count.toLocaleString('en')} (about ${formatCost({ spent: amount, currency: cost.currency })})`;
  const least = priced(scenes, cost && cost.amount);
  return `\`scenes.until\` decides how many are sent: ${least} at least, ${priced(atMost.scenes, atMost.cost)} at most`;
}

function costOf({ cost, scenes, isPriced, ground }: Forecast): string {
  if (scenes === 0) return '';
  if (cost === null) {
    if (!isPriced) return 'unknown: `pricing` sets no price';
    return `unknown: ${whyUnknown(ground)}`;
  }
  const { amount, perScene, currency, assumed } = cost;
  const each = formatCost({ spent: perScene, currency });
  const about = `about ${formatCost({ spent: amount, currency })}: ${each} a scene`;
  if (assumed !== undefined)
    return `${about}, by \`pricing\` for ${assumedOf(assumed)}; ${whyUnknown(ground)}`;
  return `${about}, from ${plural(ground.saved, 'saved scene')} of this batch, failed attempts included`;
}

function assumedOf({ ms, pictures, pixels, clipMs }: Partial<Billed>): string {
  const parts = [
    ms === undefined ? '' : `${formatShortTime(ms)} of execution`,
    pictures === undefined ? '' : plural(pictures, 'picture'),
    pixels === undefined ? '' : plural(pixels / 1e6, 'megapixel'),
    clipMs === undefined ? '' : `${formatShortTime(clipMs)} of video`,
  ];
  return parts.filter((text) => text !== '').join(' and ');
}

function whyUnknown({ saved }: Forecast['ground']): string {
  return saved > 0 ? 'the service has reported neither execution times nor prices' : nothingRendered;
}

function timeOf({ time, scenes, ground }: Forecast): string {
  if (scenes === 0) return '';
  if (time === null) return `unknown: ${nothingRendered}`;
  const [from, to] = [formatTime(time.fromMs), formatTime(time.toMs)];
  const range = from === to ? `about ${from}` : `${from} to ${to}`;
  const grounds = [inFlightGround(ground), paceGround(ground)].filter((text) => text !== '');
  return `${range}: ${grounds.length === 0 ? 'by `pricing.expect`, without waiting in the queue' : grounds.join('; ')}`;
}

const nothingRendered =
  'no scene of this batch has been rendered yet (render a preview: `nightrender run … --limit 20`)';

function inFlightGround({ inFlightMs, executionMs, sample }: Forecast['ground']): string {
  if (inFlightMs === null) return '';
  const worked = executionMs === null ? '' : `, ${formatShortTime(executionMs)} of it executing`;
  return `a job was in flight for ${formatShortTime(inFlightMs)}${worked} (median of ${sample.toLocaleString('en')})`;
}

function paceGround({ lastRun }: Forecast['ground']): string {
  if (lastRun === null) return '';
  const { jobs, tookMs, concurrency } = lastRun;
  return `the last run did ${plural(jobs, 'job')} in ${formatTime(tookMs)} with ${concurrency.toLocaleString('en')} at once`;
}

function describeCut(cut: Cut): string {
  switch (cut.limit) {
    case 'cost': {
      const { of, spent, currency, scenes } = cut;
      return `\`limits.cost\` ends the run after about ${plural(scenes, 'scene')}: ${formatCost({ spent, currency, limit: of })} spent`;
    }
    case 'jobs':
      return `\`limits.jobs\` ends the run after ${plural(cut.scenes, 'submission')}: ${cut.submitted.toLocaleString('en')} of ${cut.of.toLocaleString('en')} used`;
    case 'time':
      return `\`limits.for\` or \`limits.until\` may end the run after about ${plural(cut.scenes, 'scene')}, in ${formatDuration(cut.leftMs)}`;
  }
}

function formatTime(ms: number): string {
  return ms < 60_000 ? formatShortTime(ms) : formatDuration(ms);
}

function describeCheck({ text, workers = {} }: EndpointCheck): string {
  const shown = formatCounts(Object.entries(workers).map(([state, count]) => [count, state]));
  return shown === '' ? `asked: ${text}` : `asked: ${text}; workers: ${shown}`;
}

function describePrice(price: UnitPrice | undefined): string {
  if (price === undefined) return '';
  const { amount, unit, currency } = price;
  const shown = currency === '' ? `${amount}` : `${amount} ${currency}`;
  return unit === '' ? shown : `${shown} for the service's unit, "${unit}"`;
}

function lastWords({ runArguments, asked, counts, part, check, obstacle }: ShownPlan): string {
  const nothing =
    check === null ? 'Nothing was sent and nothing written' : 'No scene was sent and nothing written';
  if (obstacle !== null) return `${nothing}. A run could not write: ${obstacle}.`;
  if (check?.ending === 'not-allowed') return `${nothing}. A run would end at once: ${check.text}.`;
  if (check?.ending === 'halted') return `${nothing}. The service gave ${check.text}.`;
  const { waiting, active } = part ?? counts;
  if (waiting + active === 0) return `${nothing}.`;
  const options = asked === null ? '' : ` ${formatPart(asked)}`;
  return `${nothing}. Start it with \`nightrender run ${runArguments}${options}\`.`;
}

const indent = 5;

/** Describes one of the first requests as it would be sent. Only a long word exceeds `columns`. */
function describeRequest(request: FirstRequest, number: number, columns: number): string[] {
  const { scene, before, method, url, body, file, taken } = request;
  const again = before === 0 ? '' : `, submission ${(before + 1).toLocaleString('en')}`;
  const why = taken === null ? '' : `: ${taken} belongs to another scene`;
  return [
    ...wrapIndented(`  ${number}.`, `${scene}${again} → images/${file}${why}`, columns, indent),
    ...wrapIndented('', `${method} ${url.replace(/^local/, 'the local service')}`, columns, indent),
    ...bodyLines(body, columns),
  ];
}

function bodyLines(body: FirstRequest['body'], columns: number): string[] {
  const shown = JSON.parse(JSON.stringify(withFilesNamed(body), shorten)) as unknown;
  const short = escapeControls(JSON.stringify(shown));
  const text = indent + short.length <= Math.min(columns, 100) ? short : JSON.stringify(shown, undefined, 2);
  return text.split('\n').flatMap((line) => {
    const [, deeper = '', rest = ''] = /^( *)(.*)$/.exec(line) ?? [];
    return wrapIndented('', rest, columns, indent + deeper.length);
  });
}

/** Longer texts are shortened: a picture in a body would fill the screen. */
const maxCharacters = 2_000;

function shorten(_: string, value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= maxCharacters) return value;
  const left = value.length - maxCharacters / 2;
  const more = left < 10_000 ? plural(left, 'character') : formatBytes(left);
  return `${value.slice(0, maxCharacters / 2)}… and ${more} more, which --json shows`;
}
