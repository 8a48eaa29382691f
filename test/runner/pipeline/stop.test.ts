/**
 * Promise: of several reasons to end a run, the strongest wins, and of equally strong ones the first. It is
 * reported at once.
 */
import { expect, it } from 'vitest';
import { FatalFailure } from '../../../src/runner/core/failure.ts';
import { Stop } from '../../../src/runner/pipeline/stop.ts';

const interrupted = (text: string) => ({ kind: 'interrupted', text }) as const;
const modesOf = (stop: Stop): boolean[] => [stop.draining.aborted, stop.leaving.aborted];

it('a run that is told to stop finishes its jobs first, and leaves when it is told again', () => {
  const stop = new Stop();
  const said: string[] = [];
  stop.onEnding(({ text }) => said.push(text));
  expect([stop.ending, modesOf(stop)]).toEqual([undefined, [false, false]]);
  stop.request('drain', interrupted('first'));
  stop.request('drain', interrupted('second'));
  expect([stop.ending, modesOf(stop)]).toEqual([interrupted('first'), [true, false]]);
  stop.request('leave', interrupted('third'));
  stop.request('leave', interrupted('fourth'));
  stop.request('drain', interrupted('fifth'));
  expect([stop.ending, modesOf(stop)]).toEqual([interrupted('third'), [true, true]]);
  expect(said).toEqual(['first', 'third']);
  stop.onEnding(({ text }) => said.push(`late: ${text}`));
  expect(said.at(-1)).toBe('late: third');
});

it.each([
  ['output-unwritable', 'output-unwritable', 'no room'],
  ['key-refused', 'not-allowed', 'no room'],
] as const)('a run ends for a reason that stops it, and names its kind (%s)', (kind, ending, text) => {
  for (const isCollecting of [false, true]) {
    const stop = new Stop();
    stop.forThrown(new FatalFailure({ kind, text: 'no room' }, isCollecting));
    expect([stop.ending, modesOf(stop), stop.bug]).toEqual([
      { kind: ending, text },
      [true, !isCollecting],
      undefined,
    ]);
  }
});

it('a run treats any other thrown value as a bug, and keeps the first bug', () => {
  const stop = new Stop((thrown) =>
    thrown === 'ENOSPC' ? new FatalFailure({ kind: 'output-unwritable', text: 'no room' }) : thrown,
  );
  stop.forThrown('a bug');
  stop.forThrown('another');
  stop.forThrown('ENOSPC');
  expect([stop.ending?.kind, modesOf(stop), stop.bug]).toEqual(['bug', [true, true], 'a bug']);
  expect(() => stop.forFailure({ kind: 'job-failed', text: '' })).toThrow('job-failed does not stop a run');
});
