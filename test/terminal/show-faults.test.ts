/** Promise: nobody misses that a service does wrong on purpose, however narrow the terminal is. */
import { expect, it } from 'vitest';
import { describeFaults } from '../../src/service/faults/describe-faults.ts';
import { faultLines } from '../../src/terminal/show-faults.ts';
import { noFaults, scripted } from '../service/faults/faulty-service.ts';

const told = describeFaults({
  ...noFaults,
  rates: { ...noFaults.rates, submit: new Map([['rate-limited', 0.125]]) },
  script: [scripted('status', 'endpoint-gone', { fromMs: 10_000, untilMs: 70_000, job: 2 })],
});

it('breaks no line within a word at 60 columns', () => {
  expect(faultLines(told, 60, (text) => text)).toEqual([
    'FAULTS ARE ON: this service does wrong on purpose (seed 7).',
    'Nothing that fails here says anything about your batch.',
    '  of the submissions: rate-limited 12.5 %',
    '  every status request about job 2, from 10 s after the',
    '  start for 1 min: endpoint-gone (404: the endpoint is not',
    '  known)',
    '  To serve without faults, start it again without --faults.',
  ]);
});

it('is said line by line where there is room, or no terminal', () => {
  expect(faultLines(told, 120, (text) => text)).toEqual(told);
  expect(faultLines(told, Infinity, (text) => text)).toEqual(told);
});

it('is red where there are colours, from its first line to the last that says so', () => {
  const [first, second, third] = faultLines(told, 60, (text, colour) => `<${colour}>${text}`);
  expect([first, second].every((line) => line?.startsWith('<red>'))).toBe(true);
  expect(third).toMatch(/^ {2}of/);
});

it('hands nothing on to the terminal that would steer it', () => {
  const match = 'red\u009b31mbarn\u202e';
  const lines = faultLines(
    describeFaults({ ...noFaults, script: [scripted('job', 'failed', { match })] }),
    120,
    (text) => text,
  );
  expect(lines.join('')).not.toMatch(/[\p{Cc}\u202e]/u);
  expect(lines.join('')).toContain('31mbarn');
});
