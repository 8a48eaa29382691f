/** A block of lines on a terminal that says how the run stands, with failed attempts as lines above it. */
import { formatDuration } from '../lib/text/format.ts';
import type { Event } from '../runner/pipeline/event.ts';
import { createBlock, type Block } from './block.ts';
import { outColumns, writeOut, createPaint } from './console.ts';
import { describeEnding } from './describe-ending.ts';
import { describeEvent, sceneWords } from './describe-event.ts';
import { describeStats } from './describe-stats.ts';
import { frameLines, type Frame } from './frame.ts';
import { hanging } from './fit-text.ts';
import { ProgressCount } from './progress.ts';
import { RepeatLimit } from './repeat-limit.ts';
import { formatClock } from './words.ts';
import type { RunView, ViewOptions } from './view.ts';

const frameMs = 250;

export class LiveView implements RunView {
  readonly #options: ViewOptions;
  readonly #progress: ProgressCount;
  readonly #budget: RepeatLimit;
  readonly #startedElapsed: number;
  readonly #block: Block;
  readonly #paint = createPaint(process.stderr);
  /** Lines that follow the last words of the run. */
  #stats: string[] = [];
  #seen: Pick<Frame, 'health' | 'latest' | 'trouble' | 'stopping'>;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ViewOptions) {
    this.#options = options;
    this.#progress = new ProgressCount(options.elapsed);
    this.#budget = new RepeatLimit(options.elapsed);
    this.#startedElapsed = options.elapsed();
    this.#block = createBlock(process.stderr);
    this.#seen = { health: undefined, latest: undefined, trouble: undefined, stopping: undefined };
  }

  readonly emit = (event: Event): void => {
    this.#progress.count(event);
    this.#see(event);
    if (event.type === 'run-stats') this.#stats = describeStats(event, outColumns());
    if (event.type === 'run-ended') {
      this.close();
      const took = formatDuration(this.#options.elapsed() - this.#startedElapsed);
      writeOut([describeEnding(event, this.#options, took), ...this.#stats].join('\n'));
      return;
    }
    const line = describeEvent(event, this.#options.now(), this.#options.shownDir);
    if (line !== undefined && this.#stays(event)) this.#block.above(this.#stamped(line));
    if (event.type === 'plan-made') this.#begin();
  };

  close(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    process.stderr.off('resize', this.#draw);
    this.#timer = undefined;
    this.#block.clear();
  }

  #begin(): void {
    this.#timer ??= setInterval(this.#draw, frameMs).unref();
    process.stderr.on('resize', this.#draw);
    this.#draw();
  }

  readonly #draw = (): void => {
    const frame = { ...this.#seen, progress: this.#progress.now(), now: this.#options.now() };
    this.#block.draw(frameLines(frame, process.stderr.columns || 80, this.#paint));
  };

  /** With the time before it, broken between words. */
  #stamped(line: string): string {
    const columns = (process.stderr.columns || 80) - 1;
    return hanging(formatClock(this.#options.now()), line, columns, 7).join('\n');
  }

  /** Whether it is worth a line above. A request that is asked again, as each 429 is, is seen in the block alone. */
  #stays(event: Event): boolean {
    if (event.type === 'request-troubled') return false;
    return !isRepeated(event) || this.#budget.mayShow();
  }

  #see(event: Event): void {
    if (event.type === 'service-health') this.#seen.health = event;
    else if (event.type === 'stopping') this.#seen.stopping = event;
    else if (event.type === 'scene-saved') {
      this.#seen.latest = `${this.#options.shownImages}/${event.files.at(-1) ?? ''}`;
    } else if (isTrouble(event)) {
      this.#seen.trouble = { at: this.#options.now(), text: `${sceneWords(event)}: ${event.text}` };
    }
  }
}

function isRepeated({ type }: Event): boolean {
  return type === 'attempt-failed' || type === 'access-refused' || type === 'access-regained';
}

function isTrouble(event: Event): event is Event & { type: 'attempt-failed' | 'request-troubled' } {
  return event.type === 'attempt-failed' || event.type === 'request-troubled';
}
