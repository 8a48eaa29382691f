/**
 * Promise: long lists do not flood the terminal. One screenful is shown and the rest is counted. JSON has all
 * of it.
 */
import { afterEach, expect, it, vi } from 'vitest';
import type { BadPicture } from '../../src/runner/core/scene-record.ts';
import { createRetryView } from '../../src/commands/retry.ts';
import { createVerifyView } from '../../src/commands/verify.ts';

const many = 1_050;

afterEach(() => void vi.restoreAllMocks());

function listen(): () => string[] {
  const said: string[] = [];
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => said.push(String(text)) > 0);
  return () => said.join('').trimEnd().split('\n');
}

const bad = (i: number): BadPicture => ({
  attempt: i,
  number: 1,
  label: null,
  sceneId: `s${i}`,
  sceneState: 'saved',
  file: `s${i}.png`,
  moveTo: null,
  width: 1,
  height: 1,
  bytes: 1,
  sha256: '',
  verdict: { kind: 'missing' },
});

it.each([
  [false, 4 + 20 + 2],
  [true, many + 1],
])('shows one screenful of bad pictures (json: %j)', (json, lines) => {
  const said = listen();
  const view = createVerifyView({ json, isRepair: false });
  for (let i = 0; i < many; i++) view.onBad(bad(i));
  view.end(
    { checked: 2_000, good: 950, missing: many, damaged: 0, withdrawn: 0, putBack: 0 },
    'incomplete',
    'p.yaml',
  );
  expect(said()).toHaveLength(lines);
  if (!json) expect(said()).toContain('  and 1,030 more; --json names all of them');
});

it.each([
  [false, 1 + 20 + 2],
  [true, many + 1],
])('shows one screenful of scenes that were put back (json: %j)', (json, lines) => {
  const said = listen();
  const view = createRetryView(json);
  for (let i = 0; i < many; i++) view.onScene({ id: `s${i}`, was: 'job-failed' });
  view.end({ scenes: many, givenUp: 0, kept: 0, dir: 'out', runArguments: 'p.yaml', isFree: false });
  expect(said()).toHaveLength(lines);
  if (!json) expect(said()).toContain('  and 1,030 more; --json names all of them');
});
