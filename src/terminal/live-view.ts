/** Shows a run as a block of lines on a terminal, with failed attempts as lines above. */
import { formatDuration } from '../lib/text/format.ts';
import type { Event } from '../runner/pipeline/event.ts';
import {
  type Block,
  type Colour,
  createBlock,
  createPaint,
  outColumns,
  createLink,
  type Paint,
  writeOut,
} from './terminal.ts';
import { describeEnding, describeStats, stallText, workersText } from './describe-ending.ts';
import { describeEvent, sceneWords, stopWords } from './describe-event.ts';
import { wrapIndented, truncate } from './fit-text.ts';
import { type Progress, ProgressCount, RepeatLimit, type RunView, type ViewOptions } from './progress.ts';
import { formatClock, formatLeft, formatRate } from './words.ts';
import type { ServiceHealth } from '../runner/core/service-description.ts';
import { formatCost } from '../runner/core/spending.ts';

const frameMs = 250;

export class LiveView implements RunView {
  readonly #options: ViewOptions;
  readonly #progress: ProgressCount;
  readonly #budget: RepeatLimit;
  readonly #startedElapsed: number;
  readonly #block: Block;
  readonly #paint = createPaint(process.stderr);
  /** Lines printed after the summary of the run. */
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
      writeOut(
        [describeEnding(event, this.#options, took, createLink(process.stdout)), ...this.#stats].join('\n'),
      );
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

  /** Prefixes a line with the time and wraps it. */
  #stamped(line: string): string {
    const columns = (process.stderr.columns || 80) - 1;
    return wrapIndented(formatClock(this.#options.now()), line, columns, 7).join('\n');
  }

  /** True if the event gets a line above the block. Repeated requests only show in the block. */
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

export interface Frame {
  progress: Progress;
  health: ServiceHealth | undefined;
  /** Path of the latest picture. */
  latest: string | undefined;
  /** Text of the latest failure, and when it occurred (epoch ms). */
  trouble: { at: number; text: string } | undefined;
  /** Set if the run ends early. */
  stopping: (Event & { type: 'stopping' }) | undefined;
  /** Epoch ms. */
  now: number;
}

/** Returns the lines that show a run at one moment, each narrower than the terminal. */
export function frameLines(frame: Frame, columns: number, paint: Paint): string[] {
  const { progress, health, latest, trouble, stopping, now } = frame;
  const room = Math.max(1, columns - 1);
  const workers = health === undefined ? undefined : workersText(health);
  const stalled = stallText(progress, health);
  const row = (name: string, text: string | undefined, colour?: Colour, from?: 'end'): string[] =>
    text === undefined ? [] : [labelled(name, text, room, paint, colour, from)];
  return [
    barLine(progress, room, paint),
    countLine(progress, room, paint),
    ...paceLine(progress, room, now),
    ...row('workers', workers),
    ...row('latest', latest, undefined, 'end'),
    ...row('trouble', trouble && `${formatClock(trouble.at)} ${trouble.text}`, 'yellow'),
    ...row('stalled', stalled, 'yellow'),
    ...row('stopping', stopping && stopWords(stopping, stopping.text, progress.inFlight), 'yellow'),
  ];
}

const maxCells = 50;
const minCells = 5;
const labelWidth = 10;

function barLine(progress: Progress, room: number, paint: Paint): string {
  const { total, saved, failed, inFlight } = progress;
  const percent = `${Math.floor((saved / Math.max(1, total)) * 100)} %`;
  const numbers = `${percent}  ${saved.toLocaleString('en')} of ${total.toLocaleString('en')} saved`;
  const cells = Math.min(maxCells, room - numbers.length - 2);
  if (cells < minCells) return truncate(numbers.length <= room ? numbers : percent, room);
  // Rounds down, so that a bar is only full once everything is done.
  const cellsOf = (count: number): number => Math.floor((count / Math.max(1, total)) * cells);
  const [done, over, active] = [saved, saved + failed, saved + failed + inFlight].map(cellsOf) as [
    number,
    number,
    number,
  ];
  const bar = [
    paint('█'.repeat(done), 'green'),
    paint('█'.repeat(over - done), 'red'),
    '▒'.repeat(Math.max(0, Math.min(cells, active) - over)),
    paint('░'.repeat(Math.max(0, cells - Math.max(over, active))), 'dim'),
  ];
  return `${bar.join('')}  ${numbers}`;
}

function countLine({ inFlight, waiting, failed }: Progress, room: number, paint: Paint): string {
  const active = `${inFlight.toLocaleString('en')} in flight`;
  const rest = `${waiting.toLocaleString('en')} waiting`;
  const lost = `${failed.toLocaleString('en')} failed`;
  const shown = firstFitting([[active, rest, lost], [rest, lost], [lost]], room);
  return failed > 0 ? shown.replace(lost, () => paint(lost, 'red')) : shown;
}

/** Line with throughput, time left and cost; empty while all are unknown. */
function paceLine({ perSecond, leftMs, cost }: Progress, room: number, now: number): string[] {
  const rate = perSecond === undefined ? [] : [formatRate(perSecond)];
  const money = cost === undefined ? [] : [formatCost(cost)];
  const left = [formatLeft(leftMs) ?? []].flat();
  // A remaining time below ten minutes needs no clock time.
  const clock = leftMs === undefined || leftMs < 10 * 60_000 ? '' : `, until ${formatClock(now + leftMs)}`;
  const until = left.map((text) => `${text}${clock}`);
  const shown = firstFitting(
    [
      [...rate, ...until, ...money],
      [...rate, ...left, ...money],
      [...left, ...money],
      [...money, ...left].slice(0, 1),
    ],
    room,
  );
  return shown === '' ? [] : [shown];
}

function firstFitting(choices: string[][], room: number): string {
  const lines = choices.map((parts) => parts.join(' · '));
  return lines.find((line) => line.length <= room) ?? '';
}

function labelled(
  name: string,
  text: string,
  room: number,
  paint: Paint,
  colour?: Colour,
  from?: 'end',
): string {
  // A very narrow terminal has no room for labels.
  const label = room < 3 * labelWidth ? '' : name.padEnd(labelWidth);
  const shown = truncate(text, room - label.length, from);
  return `${label && paint(label, 'dim')}${colour === undefined ? shown : paint(shown, colour)}`;
}
