/** Numbers, times and amounts as text, and the labels and scales of chart axes. */

/** Formats a number, such as `12,345`. */
export function countWords(count: number): string {
  return count.toLocaleString('en');
}

/** Text such as `1 picture` or `1,200 pictures`. `many`: plural, if it isn't formed with an s. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${countWords(count)} ${count === 1 ? one : many}`;
}

/** Formats a duration, such as `320 ms`, `8.4 s`, `3 min 20 s`, `2 h 5 min` or `3 d 4 h`. */
export function durationWords(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 59_500) return `${(ms / 1000).toFixed(ms < 9950 ? 1 : 0)} s`;
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return inTwo(minutes, 'min', seconds % 60, 's');
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return inTwo(hours, 'h', minutes % 60, 'min');
  return inTwo(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

function inTwo(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

/** Formats a size, such as `312 B` or `1.4 MB`. */
export function byteWords(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let amount = bytes;
  let unit = 0;
  while (amount >= 999.5 && unit < units.length - 1) {
    amount /= 1000;
    unit += 1;
  }
  return `${unit === 0 || amount >= 99.95 ? Math.round(amount) : amount.toFixed(1)} ${units[unit]}`;
}

/** Formats an amount, such as `3.20 USD`. Small amounts get as many digits as they need. */
export function moneyWords(amount: number, currency: string): string {
  const digits = amount <= 0 || amount >= 1 ? 2 : Math.min(8, 1 - Math.floor(Math.log10(amount)));
  const shown = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return `${amount.toLocaleString('en', shown)} ${currency}`;
}

/** Formats an instant (epoch ms) in local time, such as `Fri 3 May, 23:07`. */
export function instantWords(at: number): string {
  const day = new Date(at).toLocaleDateString('en-GB', { weekday: 'short', day: 'numeric', month: 'short' });
  return `${day}, ${hourWords(at)}`;
}

/** Formats an instant (epoch ms) with seconds, such as `Fri 3 May, 23:07:41`. */
export function exactInstantWords(at: number): string {
  return `${instantWords(at)}:${String(new Date(at).getSeconds()).padStart(2, '0')}`;
}

/** Formats the local time of an instant (epoch ms), such as `23:07`. */
export function hourWords(at: number): string {
  return new Date(at).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
}

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
