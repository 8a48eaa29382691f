/** Promise: no id, file name or answer of a service can control the terminal, whichever command shows it. */
import { printRefusal } from '../../src/commands/reply.ts';
import { afterEach, expect, it, vi } from 'vitest';
import type { RecordedPicture } from '../../src/runner/core/scene-record.ts';
import { createCancelView } from '../../src/commands/cancel.ts';
import { writeStatus } from '../../src/terminal/terminal.ts';
import { printInspected } from '../../src/commands/explain.ts';
import { createRetryView } from '../../src/commands/retry.ts';
import { createVerifyView } from '../../src/commands/verify.ts';

const evil = 'night\u001b[2J\u0007\u202e';
const shown = String.raw`night\x1b[2J\x07\u202e`;
const file = 'pipeline.yaml';

afterEach(() => void vi.restoreAllMocks());

const picture: RecordedPicture = {
  attempt: 1,
  number: 1,
  label: null,
  sceneId: evil,
  sceneState: 'saved',
  file: `${evil}.png`,
  moveTo: null,
  width: 1,
  height: 1,
  bytes: 1,
  sha256: '',
};
const verified = { checked: 1, good: 0, missing: 1, damaged: 0, withdrawn: 0, putBack: 0 };

const views: [string, () => void][] = [
  [
    'a refusal',
    () => {
      const problems = [{ where: `${evil}.csv:2`, text: `is ${evil}` }];
      printRefusal({ ending: 'wrong-use', exitCode: 2, text: evil, problems }, false);
    },
  ],
  [
    'retry',
    () => {
      const view = createRetryView(false);
      view.onScene({ id: evil, was: evil });
      view.end({ scenes: 1, givenUp: 0, kept: 0, dir: 'out', runArguments: file, isFree: false });
    },
  ],
  [
    'verify',
    () => {
      const view = createVerifyView({ json: false, isRepair: false });
      view.onBad({ ...picture, verdict: { kind: 'missing' } });
      view.end(verified, 'incomplete', file);
    },
  ],
  [
    'cancel',
    () => {
      const view = createCancelView({
        json: false,
        quiet: false,
        retry: 'pipeline.yaml',
        now: () => 0,
      });
      view.emit({ type: 'warning', text: evil });
      const left = [{ scene: evil, jobId: evil, why: evil }];
      const ends = { saved: 0, cancelled: 0, expired: 0, failed: 0 };
      const result = { ending: { kind: 'halted', text: evil }, found: 1, left, unanswered: 0, ends } as const;
      view.end({ ...result, report: undefined, runArguments: file }, 4);
    },
  ],
  [
    'explain, of a picture',
    () => {
      const facts = {
        format: 'png',
        width: 1,
        height: 1,
        bytes: 1,
        sha256: '',
        from: null,
        isOfThisPicture: null,
      };
      const texts = [{ keyword: evil, text: `two\nlines ${evil}` }];
      printInspected(evil, { ...facts, provenance: null, texts }, false);
    },
  ],
];

function listen(): () => string {
  let said = '';
  for (const stream of [process.stdout, process.stderr])
    vi.spyOn(stream, 'write').mockImplementation((text) => {
      said += String(text);
      return true;
    });
  return () => said;
}

it.each(views)('a control character is made visible by %s', (_, show) => {
  const said = listen();
  show();
  expect(said()).toContain(shown);
  expect(said()).not.toMatch(/(?!\n)[\p{Cc}\u202e]/u);
});

it('the redrawn line is cut by cells of the terminal, not by letters', () => {
  const said = listen();
  vi.stubEnv('TERM', 'xterm');
  Object.assign(process.stderr, { isTTY: true, columns: 20 });
  writeStatus('夜'.repeat(30));
  vi.unstubAllEnvs();
  Object.assign(process.stderr, { isTTY: undefined, columns: undefined });
  expect(said()).toBe(`\r${'夜'.repeat(9)}…\u001b[K`);
});
