/** A bar on a terminal, with the troubles as lines above it. */
import { showDuration } from '../core/duration.ts';
import cliProgress, { type MultiBar, type SingleBar } from 'cli-progress';
import type { Event } from '../pipeline/event.ts';
import { outColumns, writeError, writeOut } from './console.ts';
import { describeEnding } from './describe-ending.ts';
import { describeEvent } from './describe-event.ts';
import { describeStats } from './describe-stats.ts';
import { progressLine } from './progress-line.ts';
import { ProgressCount } from './progress.ts';
import type { RunView, ViewOptions } from './view.ts';
import { TroubleBudget } from './trouble-budget.ts';

export class LiveView implements RunView {
  readonly #options: ViewOptions;
  readonly #progress: ProgressCount;
  readonly #budget: TroubleBudget;
  readonly #startedElapsed: number;
  /** Lines that follow the last words of the run. */
  #stats: string[] = [];
  readonly #bars: MultiBar;
  #bar: SingleBar | undefined;

  constructor(options: ViewOptions) {
    this.#options = options;
    this.#progress = new ProgressCount(options.elapsed);
    this.#budget = new TroubleBudget(options.elapsed);
    this.#startedElapsed = options.elapsed();
    this.#bars = new cliProgress.MultiBar({
      format: (bar, { progress }) =>
        progressLine(this.#progress.now(), (process.stderr.columns || 80) - 3, (barsize) =>
          cliProgress.Format.BarFormat(progress, { ...bar, barsize }),
        ),
      stream: process.stderr,
      fps: 5,
      hideCursor: true,
      clearOnComplete: true,
      linewrap: true,
      gracefulExit: false,
      barCompleteChar: '█',
      barIncompleteChar: '░',
    });
  }

  readonly tell = (event: Event): void => {
    this.#progress.count(event);
    if (event.type === 'run-stats') this.#stats = describeStats(event, outColumns());
    if (event.type === 'run-ended') {
      this.close();
      const took = showDuration(this.#options.elapsed() - this.#startedElapsed);
      writeOut([describeEnding(event, this.#options, took), ...this.#stats].join('\n'));
      return;
    }
    const isTrouble = event.type === 'attempt-failed' || event.type === 'request-troubled';
    const line = describeEvent(event, this.#options.now(), this.#options.shownDir);
    if (line !== undefined && (!isTrouble || this.#budget.mayShow())) this.#above(line);
    if (event.type === 'plan-made') this.#bar = this.#bars.create(Math.max(1, this.#progress.now().total), 0);
    this.#bar?.update(this.#progress.now().saved + this.#progress.now().failed);
  };

  close(): void {
    if (this.#bar === undefined) return;
    // Draws what was still to be said above the bar.
    this.#bars.update();
    this.#bars.stop();
    this.#bar = undefined;
  }

  #above(line: string): void {
    if (this.#bar === undefined) writeError(line);
    else this.#bars.log(`${line}\n`);
  }
}
