/** Promise: the live display of a run fits the terminal with any numbers and texts, and cannot control it. */
import fc from 'fast-check';
import stringWidth from 'string-width';
import { expect, it } from 'vitest';
import type { Paint } from '../../src/terminal/terminal.ts';
import { jobsDescription, readDescription } from '../../src/runner/config/read-description.ts';
import type { EndingKind } from '../../src/runner/core/ending.ts';
import { frameLines, type Frame } from '../../src/terminal/live-view.ts';
import type { Progress } from '../../src/terminal/progress.ts';

const plain: Paint = (text) => text;
const minuteMs = 60_000;
const now = new Date(2026, 0, 2, 22, 41).getTime();

const usual: Progress = {
  total: 1_632,
  saved: 815,
  failed: 3,
  inFlight: 16,
  waiting: 798,
  perSecond: 0.5,
  leftMs: 27.2 * minuteMs,
  stalledMs: undefined,
  cost: { spent: 1.2345, currency: 'USD', limit: 5 },
};
const stop = (ending: EndingKind, text: string) => ({ type: 'stopping', ending, text }) as const;
const frame: Frame = {
  progress: usual,
  health: { workers: { running: 7, idle: 2, ready: 9, initializing: 1, throttled: 0 }, jobs: {} },
  latest: 'renders/scenes/images/harbour-at-dawn.png',
  trouble: { at: now - minuteMs, text: 'harbour-7: FAILED: out of memory' },
  stopping: undefined,
  now,
};

it.each([
  [
    120,
    [
      `${'█'.repeat(25)}${'░'.repeat(25)}  49 %  815 of 1,632 saved`,
      '16 in flight · 798 waiting · 3 failed',
      '30.0/min · 27 min left, until 23:08 · 1.23 of 5.00 USD',
      'workers   7 running, 2 idle, 1 starting',
      'latest    renders/scenes/images/harbour-at-dawn.png',
      'trouble   22:40 harbour-7: FAILED: out of memory',
    ],
  ],
  [
    60,
    [
      `${'█'.repeat(16)}${'░'.repeat(17)}  49 %  815 of 1,632 saved`,
      '16 in flight · 798 waiting · 3 failed',
      '30.0/min · 27 min left, until 23:08 · 1.23 of 5.00 USD',
      'workers   7 running, 2 idle, 1 starting',
      'latest    renders/scenes/images/harbour-at-dawn.png',
      'trouble   22:40 harbour-7: FAILED: out of memory',
    ],
  ],
  [
    40,
    [
      `${'█'.repeat(6)}${'░'.repeat(7)}  49 %  815 of 1,632 saved`,
      '16 in flight · 798 waiting · 3 failed',
      '27 min left · 1.23 of 5.00 USD',
      'workers   7 running, 2 idle, 1 starting',
      'latest    …s/images/harbour-at-dawn.png',
      'trouble   22:40 harbour-7: FAILED: out…',
    ],
  ],
])('the live display fits %i columns', (columns, lines) => {
  expect(frameLines(frame, columns, plain)).toEqual(lines);
});

it('the live display leaves out unknown values', () => {
  const progress = { ...usual, saved: 0, perSecond: undefined, leftMs: undefined, cost: undefined };
  const start = { ...frame, progress, health: undefined, latest: undefined, trouble: undefined };
  expect(frameLines(start, 80, plain)).toHaveLength(2);
});

it('the live display says that no worker is ready if nothing finishes', () => {
  const progress = { ...usual, stalledMs: 6.5 * minuteMs };
  const health = { workers: { running: 0, idle: 0, initializing: 2, throttled: 1 }, jobs: {} };
  const last = (shown: Frame): string | undefined => frameLines(shown, 100, plain).at(-1);
  expect(last({ ...frame, progress, health })).toBe(
    'stalled   nothing has finished for 6 min: no worker is ready (2 starting, 1 throttled)',
  );
  expect(last({ ...frame, progress })).toBe('stalled   nothing has finished for 6 min');
  expect(last({ ...frame, progress, health, stopping: stop('interrupted', 'Interrupted (SIGINT)') })).toBe(
    'stopping  Interrupted (SIGINT)',
  );
});

it('the live display says that jobs in flight are collected, and never shows 0 s as the time left', () => {
  const stopping = stop('limit-reached', 'The time for submissions (`limits.for`) has passed');
  const shown = (inFlight: number, leftMs: number): string[] =>
    frameLines({ ...frame, progress: { ...usual, inFlight, leftMs }, stopping }, 120, plain);
  expect(shown(2, 60_000).at(-1)).toMatch(/has passed; 2 jobs in flight are still collected$/);
  expect(shown(1, 60_000).at(-1)).toMatch(/has passed; 1 job in flight is still collected$/);
  expect(shown(0, 60_000).at(-1)).toMatch(/has passed$/);
  expect(shown(0, 60_000)[2]).toBe('30.0/min · 1 min 0 s left · 1.23 of 5.00 USD');
  expect(shown(0, 0)[2]).toBe('30.0/min · 1.23 of 5.00 USD');
});

it('the live display does not blame workers if all jobs are done and results wait to be saved', () => {
  const progress = { ...usual, stalledMs: 6.5 * minuteMs };
  const last = (health: Frame['health']): string | undefined =>
    frameLines({ ...frame, progress, health }, 100, plain).at(-1);
  const workers = { running: 0, idle: 0, throttled: 1 };
  expect(last({ workers, jobs: { inQueue: 0, inProgress: 0, completed: 7 } })).toBe(
    'stalled   nothing has finished for 6 min: jobs in flight are done, their results wait to be saved',
  );
  expect(last({ workers, jobs: { inQueue: 1, inProgress: 0 } })).toMatch(/no worker is ready/);
});

it('the live display names an unknown status if nothing finishes because of it', () => {
  const words = [
    { word: 'IN_QUEUE', jobs: 11 },
    { word: 'SUCCEEDED', jobs: 5 },
  ];
  const progress = { ...usual, stalledMs: 6.5 * minuteMs, words };
  const health = { workers: { running: 0 }, jobs: { inQueue: 0, inProgress: 0 } };
  expect(frameLines({ ...frame, progress, health }, 100, plain).at(-1)).toBe(
    'stalled   nothing has finished for 6 min: the service says "SUCCEEDED" of 5 jobs in flight',
  );
});

it.each(['v2', 'dev', 'fal', 'replicate'] as const)(
  'the live display does not mention the usual statuses of jobs that wait or run: %s',
  (name) => {
    const { status } =
      name === 'v2' || name === 'dev' ? jobsDescription(name) : readDescription(name, '', {});
    const words = Object.entries(status.map).flatMap(([word, meaning]) =>
      meaning === 'waiting' || meaning === 'running' ? [{ word, jobs: 1 }] : [],
    );
    const progress = { ...usual, stalledMs: 6.5 * minuteMs, words };
    expect(words.length).toBeGreaterThan(1);
    expect(frameLines({ ...frame, progress, health: undefined }, 100, plain).at(-1)).toBe(
      'stalled   nothing has finished for 6 min',
    );
  },
);

it('the live display colours only meaningful parts', () => {
  const paint: Paint = (text, colour) => `<${colour}>${text}</>`;
  const shown = frameLines(frame, 120, paint);
  expect(shown[1]).toBe('16 in flight · 798 waiting · <red>3 failed</>');
  expect(shown[5]).toMatch(/^<dim>trouble {3}<\/><yellow>/);
  const calm = frameLines({ ...frame, progress: { ...usual, failed: 0 } }, 120, paint);
  expect(calm[1]).toBe('16 in flight · 798 waiting · 0 failed');
});

it('the live display fits the terminal with any numbers and texts', () => {
  const number = fc.oneof(fc.nat(20), fc.nat(3_000_000));
  const text = fc.string({ unit: 'binary', maxLength: 150 });
  const progress = fc
    .record({ saved: number, failed: number, inFlight: number, waiting: number, left: number })
    .map(({ left, ...counts }) => ({
      ...usual,
      ...counts,
      total: counts.saved + counts.failed + counts.inFlight + counts.waiting,
      leftMs: left * 100_000,
      stalledMs: left * 1_000,
    }));
  fc.assert(
    fc.property(progress, text, text, text, fc.integer({ min: 4, max: 200 }), (counts, a, b, c, columns) => {
      const shown = {
        ...frame,
        progress: counts,
        latest: a,
        trouble: { at: now, text: b },
        stopping: stop('halted', c),
      };
      for (const line of frameLines(shown, columns, plain)) {
        expect(stringWidth(line)).toBeLessThan(columns);
        expect(line).not.toMatch(/[\p{Cc}\u202A-\u202E\u2066-\u2069]/u);
      }
    }),
  );
});
