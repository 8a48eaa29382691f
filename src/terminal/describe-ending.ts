/** The last words of a run: how it ended, where things are, what to do. */
import { endings } from '../core/ending.ts';
import type { Event } from '../pipeline/event.ts';
import { plural } from './words.ts';

export function describeEnding(event: Event & { type: 'run-ended' }, shownDir: string, took: string): string {
  const { saved, waiting, active, failed, invalid } = event.counts;
  const total = saved + waiting + active + failed + invalid;
  const rows: [string, string][] = [
    ['scenes', countsOf(event.counts)],
    ['pictures', `${shownDir}/images`],
  ];
  if (event.report !== undefined)
    rows.push(['report', `${shownDir}/report/results.csv, results.jsonl, summary.json`]);
  const hint = hintOf(event);
  const head = `${event.text}: ${saved.toLocaleString('en')} of ${plural(total, 'scene')} in ${took}.`;
  return [
    head,
    ...rows.map(([name, text]) => `  ${name.padEnd(10)}${text}`),
    ...(hint === '' ? [] : [hint]),
  ].join('\n');
}

function countsOf(counts: (Event & { type: 'run-ended' })['counts']): string {
  const { saved, waiting, active, failed, withdrawn, invalid } = counts;
  const named: [number, string][] = [
    [saved, 'saved'],
    [failed, 'failed'],
    [active, 'in flight'],
    [waiting, 'waiting'],
    [invalid, 'invalid'],
    [withdrawn, 'withdrawn'],
  ];
  const parts = named
    .filter(([count]) => count > 0)
    .map(([count, name]) => `${count.toLocaleString('en')} ${name}`);
  return parts.join(', ') || 'none';
}

function hintOf(event: Event & { type: 'run-ended' }): string {
  if (endings[event.ending].isResumable) {
    const inFlight = event.counts.active;
    const soon =
      inFlight > 0 ? ` within 30 minutes, so that ${plural(inFlight, 'job')} in flight can be collected` : '';
    return `Nothing is lost: the same command goes on from here. Start it again${soon}.`;
  }
  if (event.counts.failed > 0) return 'The report says of each failed scene why it failed.';
  return '';
}
