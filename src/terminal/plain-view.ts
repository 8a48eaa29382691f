/** Shows a run as lines of a log, few enough that a long run stays readable. */
import { formatDuration, plural, formatInstant } from '../lib/text/format.ts';
import type { ServiceHealth } from '../runner/core/service-health.ts';
import { formatCost } from '../runner/core/spending.ts';
import type { Event } from '../runner/pipeline/event.ts';
import { outColumns, writeError, writeOut } from './console.ts';
import { describeEnding } from './describe-ending.ts';
import { describeEvent, stopWords } from './describe-event.ts';
import { stallText } from './describe-health.ts';
import { describeStats } from './describe-stats.ts';
import { escapeControls } from './fit-text.ts';
import { logPauseMs, RepeatLimit } from './repeat-limit.ts';
import { ProgressCount } from './progress.ts';
import type { RunView, ViewOptions } from './view.ts';
import { formatLeft, formatRate } from './words.ts';

/** Events that may occur thousands of times in a run, so their lines are limited. */
const troubles: ReadonlySet<Event['type']> = new Set([
  'attempt-failed',
  'request-troubled',
  'access-refused',
  'access-regained',
]);

export class PlainView implements RunView {
  readonly #options: ViewOptions;
  readonly #progress: ProgressCount;
  readonly #budget: RepeatLimit;
  readonly #startedElapsed: number;
  /** Lines printed after the summary of the run. */
  #stats: string[] = [];
  #health: ServiceHealth | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ViewOptions) {
    this.#options = options;
    this.#progress = new ProgressCount(options.elapsed);
    this.#budget = new RepeatLimit(options.elapsed);
    this.#startedElapsed = options.elapsed();
    if (!options.quiet) this.#schedule();
  }

  readonly emit = (event: Event): void => {
    this.#progress.count(event);
    if (event.type === 'service-health') this.#health = event;
    if (event.type === 'run-stats') this.#stats = describeStats(event, outColumns());
    if (event.type === 'run-ended') {
      this.close();
      this.#flushHeldBack();
      const took = formatDuration(this.#options.elapsed() - this.#startedElapsed);
      const said = [describeEnding(event, this.#options, took), ...this.#stats].join('\n');
      if (!this.#options.quiet) writeOut(said);
      else if (event.ending !== 'complete') writeError(said);
      return;
    }
    const isTrouble = troubles.has(event.type);
    const isWarning = event.type === 'warning' || (event.type === 'run-started' && event.edits !== undefined);
    if (this.#options.quiet && !isWarning) return;
    // Only the reason is shown, because the summary at the end has the details.
    const line =
      event.type === 'stopping'
        ? `stopping: ${stopWords(event, event.text.replace(/(: |; | \(\d)[^]*$/, ''), this.#progress.now().inFlight)}`
        : describeEvent(event, this.#options.now(), this.#options.shownDir);
    if (line !== undefined && (!isTrouble || this.#budget.mayShow())) this.#write(line);
  };

  close(): void {
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    const say = (): void => {
      this.#flushHeldBack();
      this.#writeProgress();
      this.#schedule();
    };
    const pauseMs = logPauseMs(this.#options.elapsed() - this.#startedElapsed);
    this.#timer = setTimeout(say, pauseMs).unref();
  }

  #writeProgress(): void {
    const progress = this.#progress.now();
    const { total, saved, failed, inFlight, perSecond, leftMs, cost } = progress;
    if (total === 0) return;
    const rate = perSecond === undefined ? '' : `, ${formatRate(perSecond)}`;
    const left = formatLeft(leftMs);
    const money = cost === undefined ? '' : `, ${formatCost(cost)} spent`;
    const [done, all, active, lost] = [saved, total, inFlight, failed].map((each) =>
      each.toLocaleString('en'),
    );
    const counts = `${done} of ${all} saved, ${active} in flight, ${lost} failed`;
    this.#write(`${counts}${rate}${left === undefined ? '' : `, about ${left}`}${money}`);
    const stalled = stallText(progress, this.#health);
    if (stalled !== undefined) this.#write(stalled);
  }

  #flushHeldBack(): void {
    const held = this.#budget.takeHeldBack();
    if (held > 0)
      this.#write(`and ${plural(held, 'more problem')} like these; the report counts failures by kind`);
  }

  #write(line: string): void {
    writeError(`${formatInstant(this.#options.now())}  ${escapeControls(line)}`);
  }
}
