/** The last words of a run: how it ended, where things are, what to do. */
import { endings, type EndingRule } from '../runner/core/ending.ts';
import { formatCost } from '../runner/core/spending.ts';
import type { Event } from '../runner/pipeline/event.ts';
import type { ViewOptions } from './view.ts';
import { describeValues, describeWords, formatCounts, plural, unneededOf } from './words.ts';

/** `took` is how long it all took, in words. */
export function describeEnding(
  event: Event & { type: 'run-ended' },
  {
    shownDir,
    shownImages,
    file,
    runArguments,
  }: Pick<ViewOptions, 'shownDir' | 'shownImages' | 'file' | 'runArguments'>,
  took: string,
): string {
  const { saved, waiting, active, failed, withdrawn, invalid, unneeded = 0 } = event.counts;
  const total = saved + waiting + active + failed + invalid;
  const rows: [string, string][] = [];
  // The first words say it where all are saved.
  const isAll = event.ending === 'complete' && event.part === undefined && total > 0;
  if (!isAll || withdrawn + unneeded > 0) rows.push(['scenes', countsOf(event.counts)]);
  if (!isAll) rows.push(['time', took]);
  if (event.cost !== undefined) rows.push(['cost', `${formatCost(event.cost)} so far`]);
  if (event.untold > 0) rows.push(['in doubt', inDoubt(event.untold)]);
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

function inDoubt(count: number): string {
  return `${plural(count, 'submission')} without an answer or a result, possibly billed; the report lists those on record`;
}

function hintOf(event: Event & { type: 'run-ended' }, file: string, runArguments: string): string {
  const ending: EndingRule = endings[event.ending];
  if (event.isLost === true) return '';
  if (ending.isResumable) {
    const first = ending.first === undefined ? '' : `${ending.first}, `;
    // A disk that refuses to be written may have lost something, too; pictures that are missing are, and so is what was paid for nothing.
    const goesOn =
      event.ending === 'output-unwritable' || event.missingPictures !== undefined || event.untold > 0
        ? 'Then the same command resumes.'
        : `Nothing is lost: ${first}the same command resumes.`;
    const inFlight = event.counts.active;
    if (inFlight === 0) return goesOn;
    return `${goesOn} Start it within 30 minutes to collect ${plural(inFlight, 'job')} in flight.`;
  }
  if (event.missingPictures !== undefined)
    return `After that, \`nightrender run ${runArguments}\` renders them again.`;
  if (event.ending === 'complete' && event.part !== undefined && event.counts.waiting > 0)
    return `Their pictures count: \`nightrender run ${runArguments}\` renders the rest.`;
  if (event.counts.failed === 0) return '';
  return `The report says why each scene failed; \`nightrender retry ${file}\` gives them new attempts.`;
}
