/** What a terminal shows of a run at one moment: a few lines, each narrower than it. */
import type { ServiceHealth } from '../runner/core/service-health.ts';
import { formatCost } from '../runner/core/spending.ts';
import type { Event } from '../runner/pipeline/event.ts';
import { stopWords } from './describe-event.ts';
import { stallText, workersText } from './describe-health.ts';
import type { Colour, Paint } from './console.ts';
import { fitted } from './fit-text.ts';
import type { Progress } from './progress.ts';
import { formatClock, formatLeft, formatRate } from './words.ts';

export interface Frame {
  progress: Progress;
  health: ServiceHealth | undefined;
  /** Path of the latest picture. */
  latest: string | undefined;
  /** The latest problem in words, and when it came (epoch ms). */
  trouble: { at: number; text: string } | undefined;
  /** Why the run ends early. */
  stopping: (Event & { type: 'stopping' }) | undefined;
  /** Epoch ms. */
  now: number;
}

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
  if (cells < minCells) return fitted(numbers.length <= room ? numbers : percent, room);
  // Rounded down, so that a bar is full when all is done.
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

/** Nothing before anything is known. */
function paceLine({ perSecond, leftMs, cost }: Progress, room: number, now: number): string[] {
  const rate = perSecond === undefined ? [] : [formatRate(perSecond)];
  const money = cost === undefined ? [] : [formatCost(cost)];
  const left = [formatLeft(leftMs) ?? []].flat();
  // What is soon over is not looked up on a clock.
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
  // Where it is very narrow, the words say enough without their name.
  const label = room < 3 * labelWidth ? '' : name.padEnd(labelWidth);
  const shown = fitted(text, room - label.length, from);
  return `${label && paint(label, 'dim')}${colour === undefined ? shown : paint(shown, colour)}`;
}
