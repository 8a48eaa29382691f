/** Promise: the log of a run stays readable, however much goes wrong. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Event } from '../../src/runner/pipeline/event.ts';
import type { SceneCounts } from '../../src/runner/core/scene.ts';
import { PlainView } from '../../src/terminal/run-view.ts';

const none: SceneCounts = { waiting: 0, active: 0, saved: 0, failed: 0, withdrawn: 0, invalid: 0 };
const hour = 3_600_000;

let lines: string[] = [];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
  lines = [];
  const take = (text: string | Uint8Array): boolean => {
    lines.push(...String(text).trimEnd().split('\n'));
    return true;
  };
  vi.spyOn(process.stdout, 'write').mockImplementation(take);
  vi.spyOn(process.stderr, 'write').mockImplementation(take);
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

function view(quiet = false): PlainView {
  return new PlainView({
    json: false,
    quiet,
    file: 'night.yaml',
    runArguments: 'night.yaml',
    shownDir: 'out',
    shownImages: 'out/images',
    now: () => Date.now(),
    elapsed: () => performance.now(),
  });
}

function planMade(counts: Partial<SceneCounts>): Event {
  return {
    type: 'plan-made',
    added: 0,
    changed: 0,
    unchanged: 0,
    withdrawn: 0,
    counts: { ...none, ...counts },
  };
}

const failure: Event = {
  type: 'attempt-failed',
  scene: 'fox',
  attempt: 1,
  jobId: 'job-1',
  kind: 'job-failed',
  text: 'out of memory',
  next: 'waiting',
  dueAt: 0,
};

const ended: Event = {
  type: 'run-ended',
  ending: 'incomplete',
  exitCode: 3,
  text: '2 scenes are not saved',
  counts: { ...none, saved: 8, failed: 2 },
  outputDir: '/out',
  report: '/out/report',
  cost: undefined,
  untold: 0,
};

it('the log stays under 2,000 lines in eight hours in which everything goes wrong', () => {
  const shown = view();
  shown.emit(planMade({ waiting: 100_000 }));
  for (let minute = 0; minute < 8 * 60; minute++) {
    for (let i = 0; i < 200; i++) shown.emit(failure);
    for (let i = 0; i < 200; i++) {
      shown.emit({ type: 'request-troubled', scene: 'fox', kind: 'poll-failed', text: '502', waitMs: 1 });
    }
    vi.advanceTimersByTime(60_000);
  }
  shown.emit(ended);
  expect(lines.length).toBeLessThan(2_000);
  expect(lines.length).toBeGreaterThan(240);
  const heldBack = lines.flatMap(
    (line) => /and ([\d,]+) more problems/.exec(line)?.[1]?.replaceAll(',', '') ?? [],
  );
  const told = lines.filter((line) => line.includes('fox:')).length;
  expect(told + heldBack.reduce((sum, count) => sum + Number(count), 0)).toBe(8 * 60 * 400);
});

it('the plain log reports progress now and then, with the right rate and time left', () => {
  const shown = view();
  shown.emit(planMade({ waiting: 100 }));
  for (let i = 0; i < 50; i++) {
    shown.emit({ type: 'scene-submitted', scene: `s${i}`, attempt: 1, jobId: `j${i}` });
    vi.advanceTimersByTime(1_000);
    shown.emit({ type: 'scene-saved', scene: `s${i}`, attempt: 1, jobId: `j${i}`, files: [`s${i}.png`] });
  }
  vi.advanceTimersByTime(10_000);
  expect(lines.at(-1)).toContain('50 of 100 saved, 0 in flight, 0 failed');
  const during = lines.find((line) => line.includes('39 of 100 saved'));
  expect(during).toMatch(/39 of 100 saved, 1 in flight, 0 failed, 1\.0\/s, about 1 min 0 s left$/);
});

it('the plain log never shows 0 s as the time left, and writes numbers as people do', () => {
  const shown = view();
  shown.emit(planMade({ waiting: 1_126 }));
  for (let i = 0; i < 1_000; i++) {
    shown.emit({ type: 'scene-submitted', scene: `s${i}`, attempt: 1, jobId: `j${i}` });
    shown.emit({ type: 'scene-saved', scene: `s${i}`, attempt: 1, jobId: `j${i}`, files: [`s${i}.png`] });
  }
  shown.emit({ type: 'stopping', ending: 'limit-reached', text: 'The time has passed' });
  vi.advanceTimersByTime(10_000);
  expect(lines.join('\n')).toContain('1,000 of 1,126 saved, 0 in flight');
  expect(lines.join('\n')).not.toMatch(/ 0 s left|still collected/);
});

it('the plain log names failures and their consequences, and ends with the places of results', () => {
  const shown = view();
  shown.emit({ ...failure, dueAt: Date.now() + 4_000 });
  shown.emit({ ...failure, attempt: 3, next: 'failed' });
  shown.emit(ended);
  expect(lines[0]).toMatch(/fox: attempt 1: out of memory; trying again in 4 s$/);
  expect(lines[1]).toMatch(/fox: attempt 3: out of memory; the scene has failed \(job-failed\)$/);
  expect(lines.slice(2).join('\n')).toContain('out/report/index.html');
  expect(lines.slice(2).join('\n')).toContain('8 saved, 2 failed');
});

it('the plain log says that a submission without an answer may be billed', () => {
  const shown = view();
  shown.emit({ ...failure, kind: 'unanswered', text: 'the service answered 502', dueAt: Date.now() + 4_000 });
  expect(lines[0]).toMatch(/the service answered 502; it may run and be billed; trying again in 4 s$/);
});

it('with --quiet, prints warnings and an end that is not a good one, and nothing else', () => {
  const shown = view(true);
  shown.emit(planMade({ waiting: 3 }));
  shown.emit(failure);
  shown.emit({ type: 'warning', text: 'the key stands in the file' });
  shown.emit({ type: 'stopping', ending: 'halted', text: 'Halted: 20 attempts' });
  vi.advanceTimersByTime(hour);
  shown.emit(ended);
  const said = lines.map((line) => line.replace(/^20\S+ \S+ {2}/, ''));
  expect(said[0]).toBe('warning: the key stands in the file');
  expect(said[1]).toBe('2 scenes are not saved.');
});

it('the plain log says once why the run stops, in its last lines', () => {
  const shown = view();
  shown.emit({ type: 'stopping', ending: 'halted', text: 'Halted: 20 attempts' });
  shown.emit({ ...ended, ending: 'halted', text: 'Halted: 20 attempts' });
  expect(lines[0]).toMatch(/ {2}stopping: Halted$/);
  expect(lines.join('\n').match(/20 attempts/g)).toHaveLength(1);
});

it.each([
  ['Asked to finish (SIGHUP): the next run renders the rest', 'Asked to finish (SIGHUP)'],
  ['the endpoint is not known; see `endpoint.id` (404: gone)', 'the endpoint is not known'],
])('the plain log says in the first words of %s that the run stops', (text, words) => {
  view().emit({ type: 'stopping', ending: 'halted', text });
  expect(lines[0]?.endsWith(`  stopping: ${words}`)).toBe(true);
});

it('with --quiet, prints nothing of a good night', () => {
  const shown = view(true);
  shown.emit(planMade({ waiting: 3 }));
  shown.emit({ ...ended, ending: 'complete', exitCode: 0 });
  expect(lines).toEqual([]);
});

it('the plain log says that access is refused, what that means, and when it is back', () => {
  const log = view();
  log.emit({ type: 'access-refused', kind: 'key-refused', text: 'the key is unknown (401)', waitMs: 2_000 });
  log.emit({ type: 'access-regained', afterMs: 3_000 });
  log.close();
  expect(lines.map((line) => line.replace(/^\S+ \S+ +/, ''))).toEqual([
    expect.stringContaining(
      'the key is unknown (401); it has worked in this run, so nothing more is submitted for now; asking again in 2 s',
    ),
    expect.stringContaining('the service accepts requests again after 3 s; the run continues'),
  ]);
});
