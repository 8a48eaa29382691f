/** Numbers, sizes and durations as text. */

import { formatDuration, formatInstant, plural } from '../lib/text/format.ts';
import { nounFor, type PictureTotals } from '../runner/core/picture.ts';
import type { SceneCounts } from '../runner/core/scene.ts';

/** Maximum number of list entries shown; further ones are only counted. */
export const screenful = 20;

/** Says how many pictures draw words as boxes or leave them out. Empty if none is known to. */
export function describeWords({ files, labelled = 0, ignored = 0 }: PictureTotals): string {
  const shown = [
    labelled === 0 ? [] : `drawn as labelled boxes in ${labelled.toLocaleString('en')}`,
    ignored === 0 ? [] : `left out in ${ignored.toLocaleString('en')}`,
  ].flat();
  if (shown.length === 0) return '';
  return `${shown.join(' and ')} of ${plural(files, 'picture')}; results.csv names them`;
}

/** Says which values of outputs could not be kept as requested. Empty if all were kept. */
export function describeValues(totals: PictureTotals): string {
  const { odd = 0, unjudged = 0, cut = 0 } = totals;
  const noun = nounFor(totals);
  const said = [
    unjudged === 0
      ? []
      : `${plural(unjudged, 'scene lacks', 'scenes lack')} a value that \`scenes.until\` needs, and did not meet it`,
    odd === 0
      ? []
      : `${plural(odd, noun)} ${odd === 1 ? 'has' : 'have'} an empty value: a list or an object is at its place`,
    cut === 0 ? [] : `${plural(cut, 'output was', 'outputs were')} longer than the 2 kB that are kept`,
  ];
  return said.flat().join('; ');
}

/** Number of seeds that were not sent, and its text. Pending scenes may still change the number. */
export function unneededOf({ unneeded = 0, waiting, active }: SceneCounts): [count: number, text: string] {
  return [unneeded, waiting + active > 0 ? 'not needed so far' : 'not needed'];
}

/** Turns texts into rows; only the first row gets the name. */
export function titled(name: string, texts: string[]): [name: string, text: string][] {
  return texts.map((text, i) => [i === 0 ? name : '', text]);
}

/** Text such as `3.1/s`, `12/min` or `40/h`, in the first unit that gives at least 1. */
export function formatRate(perSecond: number): string {
  if (perSecond >= 1) return `${perSecond.toFixed(1)}/s`;
  if (perSecond * 60 >= 1) return `${(perSecond * 60).toFixed(1)}/min`;
  return `${(perSecond * 3600).toFixed(1)}/h`;
}

export function formatBytes(bytes: number): string {
  if (bytes >= 1e9) return `${(bytes / 1e9).toFixed(1)} GB`;
  if (bytes >= 1e6) return `${(bytes / 1e6).toFixed(1)} MB`;
  return `${Math.ceil(bytes / 1e3)} kB`;
}

/** Text such as `137 ms`, `2.1 s` or `3 min 20 s`. */
export function formatShortTime(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 59_950 ? `${(ms / 1_000).toFixed(1)} s` : formatDuration(ms);
}

/** A rounded estimate: `45 s`, `8 min 20 s`, `25 min`, `3 h 20 min`. */
export function formatRoughly(ms: number): string {
  const toS = ms < 60_000 ? 1 : ms < 600_000 ? 10 : ms < 3_600_000 ? 60 : 300;
  const text = formatDuration(Math.round(ms / 1000 / toS) * toS * 1000);
  return toS === 60 ? text.replace(/ 0 s$/, '') : text;
}

/** Text such as `8 min 20 s left`. Undefined if the time is unknown or rounds to 0 s. */
export function formatLeft(ms: number | null | undefined): string | undefined {
  return ms === null || ms === undefined || ms < 500 ? undefined : `${formatRoughly(ms)} left`;
}

/** Local time such as `22:47`. */
export function formatClock(at: number): string {
  return formatInstant(at).slice(11, 16);
}
