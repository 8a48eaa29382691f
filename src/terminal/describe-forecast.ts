/** What the rest of a batch will cost and take, in words that say by what. */
import { formatDuration } from '../lib/text/format.ts';
import type { Cut, Forecast } from '../runner/core/forecast.ts';
import { formatCost } from '../runner/core/spending.ts';
import { plural, formatShortTime } from './words.ts';

/** Empty where nothing is to be rendered. */
export function describeCost({ cost, scenes, isPriced, ground }: Forecast): string {
  if (scenes === 0) return '';
  if (cost === null) {
    if (!isPriced) return 'unknown: `pricing` is not set';
    if (ground.saved > 0) return 'unknown: the service reports no execution times';
    return `unknown: no scene of this batch has been rendered yet${previewHint}`;
  }
  const { amount, perScene, currency } = cost;
  const each = formatCost({ spent: perScene, currency });
  return `about ${formatCost({ spent: amount, currency })}: ${each} a scene, from ${plural(ground.saved, 'saved scene')} of this batch, failed attempts included`;
}

export function describeTime({ time, scenes, ground }: Forecast): string {
  if (scenes === 0) return '';
  if (time === null) return `unknown: no scene of this batch has been rendered yet${previewHint}`;
  const [from, to] = [formatTime(time.fromMs), formatTime(time.toMs)];
  const range = from === to ? `about ${from}` : `${from} to ${to}`;
  return `${range}: ${[inFlightGround(ground), paceGround(ground)].filter((text) => text !== '').join('; ')}`;
}

export function describeCuts({ cuts }: Forecast): string[] {
  return cuts.map(describeCut);
}

const previewHint = ' (render a preview: `nightrender run … --limit 20`)';

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
