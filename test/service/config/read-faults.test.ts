/** Promise: a faults.yaml says in few lines what is to go wrong, and what is wrong with it is said where it stands. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readFaults } from '../../../src/service/config/read-faults.ts';
import { FaultPlan } from '../../../src/service/faults/fault-plan.ts';
import { faultPlaces, type FaultSettings } from '../../../src/service/faults/fault-settings.ts';
import { faultTable } from '../../../src/service/faults/fault-table.ts';
import { linesOf, marked, placesOf, tempFolder } from '../../runner/config/pipeline-file.ts';

describe('reads', () => {
  it('rates, a script and times', () => {
    const faults = faultsOf(`
seed: 12
times: {late: 2s, slow: 3m, fresh: 500ms}
rates:
  submit: {reset: 1%, rate-limited: 2.5 %}
  job: {failed: 2%, no-output: 1%}
script:
  - {at: submit, nth: 3, fault: reset}
  - {at: submit, nth: 4 .. 6, fault: html-502}
  - {at: job, match: red barn, fault: failed}
  - {at: status, job: 2, after: 10s, for: 1m, fault: endpoint-gone}
`);
    expect(faults).toEqual({
      seed: 12,
      lateMs: 2_000,
      slowMs: 180_000,
      freshMs: 500,
      rates: {
        submit: new Map([
          ['reset', 0.01],
          ['rate-limited', 0.025],
        ]),
        status: new Map(),
        job: new Map([
          ['failed', 0.02],
          ['no-output', 0.01],
        ]),
        everything: new Map(),
      },
      script: [
        entry({ at: 'submit', fault: 'reset', nth: { first: 3, last: 3 } }),
        entry({ at: 'submit', fault: 'html-502', nth: { first: 4, last: 6 } }),
        entry({ at: 'job', fault: 'failed', match: 'red barn' }),
        entry({ at: 'status', fault: 'endpoint-gone', job: 2, fromMs: 10_000, untilMs: 70_000 }),
      ],
    });
  });

  it('an empty file, in which nothing goes wrong', () => {
    const nothing = new Map();
    const rates = { submit: nothing, status: nothing, job: nothing, everything: nothing };
    expect(faultsOf('')).toEqual({
      seed: 1,
      lateMs: 5_000,
      slowMs: 60_000,
      freshMs: 10_000,
      rates,
      script: [],
    });
  });

  it('one share for a place, evenly for all that a client can get around', () => {
    const { rates } = faultsOf('rates: {submit: 5%, job: 10%}');
    const names = faultTable.submit.filter(({ isFinal }) => !isFinal).map(({ name }) => name);
    expect([...rates.submit.keys()]).toEqual(names);
    expect(names).not.toContain('key-refused');
    expect([...rates.submit.values()].reduce((sum, share) => sum + share)).toBeCloseTo(0.05, 9);
    expect([...rates.job.values()].reduce((sum, share) => sum + share)).toBeCloseTo(0.1, 9);
    expect(rates.status.size).toBe(0);
  });

  it('variables', () => {
    expect(faultsOf('seed: ${SEED}\nrates: {status: "${SHARE}%"}', { SEED: '9', SHARE: '2' })).toMatchObject({
      seed: 9,
    });
  });

  it.each(faultPlaces)('every fault of %s that there is, and they can be met', (place) => {
    const names = faultTable[place].map(({ name }) => name);
    const rates = `rates: {${place}: {${names.map((name) => `${name}: 0.1%`).join(', ')}}}`;
    const script = `script: [${names.map((fault) => `{at: ${place}, fault: ${fault}}`).join(', ')}]`;
    const settings = faultsOf(`${rates}\n${script}`);
    expect([...settings.rates[place].keys()]).toEqual(names);
    expect(() => new FaultPlan({ ...settings, now: () => 0 })).not.toThrow();
  });
});

describe('says where the trouble is', () => {
  it.each<[string, RegExp[]]>([
    ['▸rate: {submit: 5%}', [/the key "rate" is not known; did you mean rates\?/]],
    ['rates: {▸submits: 5%}', [/not known in rates; did you mean submit\?/]],
    ['rates: {submit: {▸resett: 1%}}', [/not known in rates\.submit; did you mean reset\?/]],
    [
      'rates: {status: {▸failed: 1%}}',
      [/not known in rates\.status; expected rate-limited, .* \(failed belongs under rates\.job\)/],
    ],
    ['rates: {job: ▸5}', [/rates\.job is 5; expected a share such as 2% or 0\.5%/]],
    ['rates: {job: ▸0%}', [/expected a share such as 2%/]],
    ['rates: {job: {failed: ▸101%}}', [/rates\.job\.failed is "101%"; expected a share such as 2%/]],
    ['rates: {job: ▸{failed: 60%, no-output: 50%}}', [/expected shares of at most 100% together/]],
    ['script: ▸{at: submit, fault: reset}', [/expected a list of faults such as \[\{at: submit/]],
    ['script: [{at: job, fault: ▸reset}]', [/reset is one of `submit`/]],
    ['script: [{at: submit, fault: ▸resett}]', [/did you mean reset\?/]],
    ['script: [{at: ▸sumbit, fault: reset}]', [/expected submit, status, job, everything/]],
    ['script:\n  - ▸at: submit', [/script\[0\]\.fault is missing; expected the name of a fault/]],
    ['script: [{at: submit, fault: reset, ▸nthh: 3}]', [/did you mean nth\?/]],
    [
      'script: [{at: submit, fault: reset, nth: ▸0}]',
      [/expected a number from 1, or a range such as 3\.\.5/],
    ],
    ['script: [{at: submit, fault: reset, nth: ▸5..3}]', [/expected a number from 1, or a range/]],
    ['script: [{at: submit, fault: reset, after: ▸ten}]', [/expected a duration from 0s to 20d/]],
    ['script: [{at: submit, fault: reset, match: ▸red}]', [/expected it with `at: job` only/]],
    ['script: [{at: job, fault: failed, job: ▸2}]', [/expected it with `at: status` or `at: everything`/]],
    ['times: {late: ▸5}', [/expected a duration from 1ms to 20d/]],
    ['seed: ▸-1', [/expected a seed, a whole number from 0/]],
    ['▸5%', [/the file is "5%"; expected the keys seed, times, rates, script/]],
    ['rates: {submit: 5%\n▸', [/./]],
    ['seed: ▸${SEED}', [/SEED/]],
  ])('%s', (text, problems) => {
    const { text: file, places } = marked(text);
    const found = problemsOf(file);
    expect(found).toEqual(problems.map((problem) => expect.stringMatching(problem) as unknown));
    if (places.length > 0) expect(placesOf(found)).toEqual(places);
  });

  it('where the file is none', () => {
    const folder = tempFolder();
    expect(linesOf(folder, () => readFaults(folder, {}))[0]).toMatch(
      'this is a folder; expected a faults.yaml',
    );
  });
});

function entry(more: Partial<FaultSettings['script'][number]>): object {
  return { nth: null, job: null, match: null, fromMs: 0, untilMs: Infinity, ...more };
}

function faultsOf(text: string, env: NodeJS.ProcessEnv = {}): FaultSettings {
  return readFaults(written(text), env);
}

function problemsOf(text: string): string[] {
  const file = written(text);
  return linesOf(file, () => readFaults(file, {}));
}

function written(text: string): string {
  const file = join(tempFolder(), 'faults.yaml');
  writeFileSync(file, text);
  return file;
}
