/** Flags override the environment, which overrides the file. A problem with such a value names its source. */
import { overridesOf } from '../../../src/batch/start-choices.ts';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { configOf, problemsOf, withRequired } from '../../runner/config/pipeline-file.ts';

function given(argv: Record<string, unknown>, env: NodeJS.ProcessEnv = {}) {
  return { overrides: overridesOf(argv, env) };
}

it('a flag overrides a variable, which overrides the file', () => {
  const text = withRequired('concurrency: 2\nterminal: {quiet: true}');
  const concurrencyOf = (...args: Parameters<typeof given>) => configOf(text, given(...args)).concurrency;
  expect(concurrencyOf({})).toBe(2);
  expect(concurrencyOf({}, { NIGHTRENDER_CONCURRENCY: '3' })).toBe(3);
  expect(concurrencyOf({ concurrency: 4 }, { NIGHTRENDER_CONCURRENCY: '3' })).toBe(4);
  const { terminal } = configOf(text, given({ json: true, quiet: false }));
  expect(terminal).toEqual({ json: true, quiet: false, stats: false });
});

it('paths of flags and variables are relative to the working directory', () => {
  const { manifest, output } = configOf(
    withRequired(''),
    given({ manifest: 'x.csv' }, { NIGHTRENDER_OUTPUT: 'y' }),
  );
  expect([manifest, output.dir]).toEqual([[resolve('x.csv')], resolve('y')]);
  expect(configOf(withRequired(''), given({ manifest: '-' })).manifest).toEqual(['-']);
  expect(configOf(withRequired(''), given({ manifest: ['a.csv', '-'] })).manifest).toEqual([
    resolve('a.csv'),
    '-',
  ]);
});

it('flags and variables stand in for sections that the file does not have', () => {
  const { output } = configOf('manifest: a\nendpoint: {baseUrl: local, id: x}', given({ output: 'here' }));
  expect(output.dir).toBe(join(process.cwd(), 'here'));
});

it('a problem names the flag or variable that caused it', () => {
  const env = { NIGHTRENDER_JSON: '1', NIGHTRENDER_CONCURRENCY: 'many', NIGHTRENDER_SKIP_BAD_ROWS: 'yes' };
  expect(
    problemsOf(withRequired('foo: 1\nconcurrency: x'), given({ concurrency: 0, output: '' }, env)),
  ).toEqual([
    '--concurrency: concurrency is 0; expected jobs in flight, a whole number from 1 to 10000',
    '--output: output.dir is ""; expected a path',
    'NIGHTRENDER_JSON: terminal.json is "1"; expected true or false',
    'NIGHTRENDER_SKIP_BAD_ROWS: skipBadRows is "yes"; expected true or false',
    expect.stringContaining('7:1: the key "foo" is unknown'),
  ]);
});

it('a flag that is no number is reported as a flag', () => {
  expect(problemsOf(withRequired(''), given({ concurrency: Number.NaN }))).toEqual([
    expect.stringContaining('--concurrency: concurrency is not a number; expected jobs in flight'),
  ]);
});

it('an empty variable counts as unset', () => {
  expect(configOf(withRequired(''), given({}, { NIGHTRENDER_CONCURRENCY: '' })).concurrency).toBe(16);
});
