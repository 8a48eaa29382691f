/** The text at the end of a run: how it ended, where the results are, what to do next. */
import { formatCounts, plural } from '../lib/text/format.ts';
import { endings, type EndingRule } from '../runner/core/ending.ts';
import { isTimeout, type HeldResults } from '../runner/core/holding.ts';
import { formatCost } from '../runner/core/spending.ts';
import type { Event } from '../runner/pipeline/event.ts';
import type { ViewOptions } from './view.ts';
import { describeValues, describeWords, formatClock, unneededOf } from './words.ts';

/** `took`: duration of the run, as text. */
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
): string {
  const { saved, waiting, active, failed, withdrawn, invalid, unneeded = 0 } = event.counts;
  const total = saved + waiting + active + failed + invalid;
  const rows: [string, string][] = [];
  // If all scenes are saved, the first line already contains these numbers.
  const isAll = event.ending === 'complete' && event.part === undefined && total > 0;
  if (!isAll || withdrawn + unneeded > 0) rows.push(['scenes', countsOf(event.counts)]);
  if (!isAll) rows.push(['time', took]);
  if (event.cost !== undefined) rows.push(['cost', `${formatCost(event.cost)} so far`]);
  if (event.untold > 0) rows.push(['in doubt', inDoubt(event.untold, isFree)]);
  for (const held of event.held ?? []) rows.push(['waiting', describeHeld(held)]);
  rows.push(['pictures', shownImages]);
  const words = event.pictures === undefined ? '' : describeWords(event.pictures);
  if (words !== '') rows.push(['words', words]);
  const values = event.pictures === undefined ? '' : describeValues(event.pictures);
  if (values !== '') rows.push(['values', values]);
  if (event.bias !== undefined) rows.push(['seeds', event.bias]);
  if (event.report !== undefined) rows.push(['gallery', `${shownDir}/report/index.html`]);
  else if (event.ending !== 'output-unwritable' && total > 0)
    rows.push(['gallery', `not updated; run \`nightrender report ${file}\``]);
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

function describeHeld({ setting, kind, count, kept, addresses, keptUntil }: HeldResults): string {
  if (kind === 'job-overdue')
    return `${plural(count, 'job')} for ${setting}; they continue at the service, and the next run collects them`;
  if (kind === 'job-timed-out')
    return `${plural(count, 'scene')} for ${setting}; the next run sends them again, one at first`;
  const results = `${plural(count, 'paid result')} for ${setting}`;
  const where =
    kept === count
      ? 'kept here'
      : `${kept === 0 ? '' : `${kept.toLocaleString('en')} kept here, the others `}at the service, at least until ${formatClock(keptUntil)}`;
  return `${results}; ${where}${addresses === 0 ? '' : '; their pictures exist only as long as their host keeps them'}`;
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
    return `Their pictures are kept: \`nightrender run ${runArguments}\` renders the rest.`;
  if (event.counts.failed === 0) return '';
  return `The report says why each scene failed; \`nightrender retry ${file}\` gives them new attempts.`;
}
