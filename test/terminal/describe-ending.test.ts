/** Promise: the last lines of a run say what to do next. */
import { describe, expect, it } from 'vitest';
import { describeEnding } from '../../src/terminal/describe-ending.ts';
import type { Event } from '../../src/runner/pipeline/event.ts';

type Ended = Event & { type: 'run-ended' };

const ended: Ended = {
  type: 'run-ended',
  ending: 'complete',
  exitCode: 0,
  text: 'Every scene is saved',
  counts: { waiting: 0, active: 0, saved: 3, failed: 0, withdrawn: 0, invalid: 0 },
  outputDir: '/night/out',
  report: '/night/out/report',
  cost: undefined,
  untold: 0,
};

function lastWords(event: Partial<Ended>): string[] {
  return describeEnding(
    { ...ended, ...event },
    { shownDir: 'out', shownImages: 'out/images', file: 'night.yaml', runArguments: 'night.yaml' },
    '3 s',
  ).split('\n');
}

describe('the last words of a run', () => {
  it('name nothing to do if all is done, and the gallery last', () => {
    expect(lastWords({})).toEqual([
      'Every scene is saved: 3 of 3 scenes in 3 s.',
      '  pictures  out/images',
      '  gallery   out/report/index.html',
    ]);
  });

  it('make the gallery a link if the terminal shows one', () => {
    const paths = { shownDir: 'out', shownImages: 'out/images', file: 'n.yaml', runArguments: 'n.yaml' };
    const said = describeEnding(ended, paths, '3 s', (text, path) => `<${path}>${text}</>`);
    expect(said).toMatch(/  gallery   <\/night\/out\/report\/index\.html>out\/report\/index\.html<\/>$/);
  });

  it.each([
    [
      { labelled: 12, ignored: 1_040 },
      'drawn as labelled boxes in 12 and left out in 1,040 of 2,000 pictures',
    ],
    [{ labelled: 0, ignored: 1 }, 'left out in 1 of 2,000 pictures'],
    [{ labelled: 3, ignored: 0 }, 'drawn as labelled boxes in 3 of 2,000 pictures'],
  ])('say how many pictures do not show every word as it is, and where the words are: %o', (lost, words) => {
    const pictures = { files: 2_000, bytes: 1, ...lost };
    expect(lastWords({ pictures })[2]).toBe(`  words     ${words}; results.csv names them`);
    expect(lastWords({ pictures: { files: 2_000, bytes: 1 } }).join('\n')).not.toContain('words');
  });

  it('name the concurrency to try', () => {
    const moreJobs = { slots: 16, beganWithinMs: 1_200, concurrency: 64 };
    expect(lastWords({ moreJobs })).toContain(
      '  speed     all 16 slots were in use and jobs began within 2 s: `concurrency: 64` may finish sooner',
    );
  });

  it('count saved and other scenes, under their names', () => {
    const counts = { ...ended.counts, saved: 19_440, failed: 560 };
    const words = lastWords({ ending: 'incomplete', text: '560 scenes are not saved', counts });
    expect(words.slice(0, 3)).toEqual([
      '560 scenes are not saved.',
      '  scenes    19,440 saved, 560 failed',
      '  time      3 s',
    ]);
  });

  it.each([
    ['interrupted', 'Nothing is lost: the same command resumes.'],
    ['not-allowed', 'Nothing is lost: once that is fixed, the same command resumes.'],
    ['limit-reached', 'Nothing is lost: as soon as `limits` allow it, the same command resumes.'],
  ] as const)('say that the same command continues after %s, and what comes first', (ending, words) => {
    expect(lastWords({ ending, counts: { ...ended.counts, waiting: 2 } }).at(-1)).toBe(words);
  });

  it('say until when jobs in flight can be collected', () => {
    const words = lastWords({ ending: 'halted', counts: { ...ended.counts, active: 2 } }).at(-1);
    expect(words).toContain('Start it within 30 minutes to collect 2 jobs in flight.');
  });

  it.each([
    ['job-overdue', '2 jobs for it; they continue at the service, and the next run collects them'],
    ['job-timed-out', '2 scenes for it; the next run sends them again, one at first'],
  ] as const)('say what becomes of jobs that wait for a time-out (%s)', (kind, text) => {
    const held = [{ setting: 'it', kind, count: 2, kept: 0, addresses: 0, keptUntil: 0 }];
    const words = lastWords({ ending: 'halted', held, counts: { ...ended.counts, active: 2 } });
    expect(words).toContain(`  waiting   ${text}`);
  });

  it('say that nothing is lost yet if a result is only at the service or at a host', () => {
    const held = {
      setting: '`limits.body`',
      kind: 'result-too-large',
      count: 2,
      kept: 2,
      addresses: 0,
      keptUntil: 0,
    } as const;
    const last = (more: object): string =>
      lastWords({ ending: 'halted', held: [{ ...held, ...more }] }).at(-1) ?? '';
    expect(last({})).toContain('Nothing is lost:');
    expect(last({ kept: 1 })).toContain('Nothing is lost yet:');
    expect(last({ addresses: 1 })).toContain('Nothing is lost yet:');
  });

  it('name the command that gives failed scenes fresh attempts', () => {
    const words = lastWords({ ending: 'incomplete', counts: { ...ended.counts, failed: 1 } }).at(-1);
    expect(words).toContain('`nightrender retry night.yaml`');
  });

  it('say how to have a report if none was written, and nothing of scenes if none is known', () => {
    const cut = { ending: 'interrupted', text: 'Interrupted (SIGINT)', report: undefined } as const;
    expect(lastWords(cut).join('\n')).toContain('not updated; run `nightrender report night.yaml`');
    const none = { ...cut, counts: { ...ended.counts, saved: 0 } };
    expect(lastWords(none)[0]).toBe('Interrupted (SIGINT).');
    expect(lastWords(none).join('\n')).not.toContain('gallery');
  });

  it('say of a preview that it is one, and how the rest is rendered', () => {
    const part = { ...ended.counts, saved: 2 };
    const counts = { ...ended.counts, saved: 2, waiting: 8 };
    const words = lastWords({
      text: 'The 2 scenes of this preview are saved; 8 wait for the full run',
      part,
      counts,
    });
    expect(words[0]).toBe('The 2 scenes of this preview are saved; 8 wait for the full run.');
    expect(words).toContain('  time      3 s');
    expect(words.at(-1)).toBe('Their results are kept: `nightrender run night.yaml` renders the rest.');
  });

  it('say what may be billed for nothing', () => {
    expect(lastWords({}).join('\n')).not.toContain('billed');
    expect(lastWords({ untold: 2 }).join('\n')).toContain(
      'in doubt  2 submissions without an answer or a result, possibly billed; the report lists those on record',
    );
  });

  it('do not say that nothing is lost if pictures are missing', () => {
    const counts = { ...ended.counts, waiting: 2 };
    const words = lastWords({ ending: 'interrupted', counts, missingPictures: 1 }).join('\n');
    expect(words).not.toContain('Nothing is lost');
  });

  it('begin as a sentence does, whatever ended the run', () => {
    const text = 'the service does not accept the key of `endpoint.apiKey` (401)';
    expect(lastWords({ ending: 'not-allowed', text })[0]).toBe(
      'The service does not accept the key of `endpoint.apiKey` (401).',
    );
  });

  it('show the cost if the price is known', () => {
    expect(lastWords({ cost: { spent: 1.5, currency: 'USD', limit: 5 } })).toContain(
      '  cost      1.50 of 5.00 USD so far',
    );
  });
});
