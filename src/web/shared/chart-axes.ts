/** Labels and scales for the axes of charts. */
import { hourWords } from './number-words.ts';

/** Label of an axis. `at`: its position from 0 to 1. */
export interface Tick {
  at: number;
  text: string;
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const steps = [1, 2, 5, 10, 15, 30].flatMap((n) => [n * second, n * minute]);
const allSteps = [...steps, ...[1, 2, 3, 6, 12, 24, 48].map((n) => n * hour)].toSorted((a, b) => a - b);

/** More labels don't fit beside each other on a phone. */
const maxTicks = 5;

/** Returns round local times between two instants (epoch ms). */
export function clockTicks(from: number, to: number): Tick[] {
  const span = Math.max(1, to - from);
  const step = allSteps.find((each) => span / each < maxTicks) ?? span / maxTicks;
  const zone = new Date(from).getTimezoneOffset() * minute;
  const ticks: Tick[] = [];
  for (let at = Math.ceil((from - zone) / step) * step + zone; at <= to; at += step)
    ticks.push({ at: (at - from) / span, text: clockText(at, step, span) });
  return ticks;
}

function clockText(at: number, step: number, span: number): string {
  const clock = step < minute ? `${hourWords(at)}:${two(new Date(at).getSeconds())}` : hourWords(at);
  const day = new Date(at).toLocaleDateString('en-GB', { weekday: 'short' });
  return span > 22 * hour ? `${day} ${clock}` : clock;
}

function two(number: number): string {
  return String(number).padStart(2, '0');
}

/** Returns the end of an axis that starts at 0: a round number whose half is round, too. */
export function roundTop(most: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, most)));
  return ([1, 2, 3, 4, 5, 6, 8].find((each) => each * power >= most) ?? 10) * power;
}

/** Returns the shortest unit (in seconds) that makes a rate at least 1, with its name. */
export function rateUnit(perSecond: number): { seconds: number; words: string } {
  if (perSecond >= 1) return { seconds: 1, words: 'a second' };
  return perSecond * 60 >= 1 ? { seconds: 60, words: 'a minute' } : { seconds: 3600, words: 'an hour' };
}
