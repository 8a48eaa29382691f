/** What is said, loudly, where faults are on. */
import { expect, it } from 'vitest';
import { describeFaults } from '../../../src/service/faults/describe-faults.ts';
import { faultTable } from '../../../src/service/faults/fault-table.ts';
import { noFaults, scripted } from './faulty-service.ts';

it('says that faults are on, which, and how to be rid of them', () => {
  const lines = describeFaults({
    ...noFaults,
    rates: {
      ...noFaults.rates,
      submit: new Map([
        ['reset', 0.01],
        ['rate-limited', 0.025],
      ]),
      job: new Map([['failed', 0.0004]]),
    },
    script: [
      scripted('submit', 'reset', { nth: { first: 3, last: 3 } }),
      scripted('status', 'endpoint-gone', { fromMs: 10_000, untilMs: 70_000, job: 2 }),
      scripted('everything', 'key-refused', { untilMs: 600_000 }),
      scripted('job', 'failed', { match: 'red', nth: { first: 2, last: 5 } }),
    ],
  });
  expect(lines).toEqual([
    'FAULTS ARE ON: this service does wrong on purpose (seed 7). Nothing that fails here says anything about your batch.',
    '  of the submissions: reset 1 %, rate-limited 2.5 %, 3.5 % in all',
    '  of the jobs: failed 0.04 %',
    '  submission 3: reset (The connection is reset before anything is done)',
    '  every status request about job 2, from 10 s after the start for 1 min: endpoint-gone (404: the endpoint is not known)',
    '  every request, for 10 min from the start: key-refused (401 with an empty body: the key is not accepted)',
    '  jobs 2 to 5 with "red" in the input: failed (FAILED; the error is a string)',
    '  To serve without faults, start it again without --faults.',
  ]);
});

it('says of many in equal shares how many they are', () => {
  const names = faultTable.status.slice(0, 20).map(({ name }) => name);
  const rates = { ...noFaults.rates, status: new Map(names.map((name) => [name, 0.002])) };
  expect(describeFaults({ ...noFaults, rates })).toContain(
    '  of the status requests: one of 20 faults at random, 4 % in all',
  );
});

it('says where no fault is asked for', () => {
  expect(describeFaults(noFaults)).toContain('  no fault is asked for so far');
});
