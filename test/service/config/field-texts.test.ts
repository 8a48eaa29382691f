/**
 * Promise: a text in a field of the console's form is parsed according to its key, and a value is shown as
 * the text that gives it.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { checkEndpoint, endpointTexts } from '../../../src/service/config/check-endpoint.ts';
import { writtenEndpoint } from '../../../src/service/config/endpoint-schema.ts';

const context = {
  others: [],
  env: process.env,
  folder: process.cwd(),
  maxQueued: 10,
  publicUrlExpected: undefined,
  hasPrograms: true,
  before: undefined,
};

/** Checks an endpoint on a cluster, because its program is not looked for on this machine. */
function checked(texts: object) {
  const given = { name: 'Mine', command: 'worker', on: 'slurm', workers: '1', ...texts };
  const read = checkEndpoint(given, context);
  return 'settings' in read ? read.settings : read.problems;
}

it.each([
  ['python3 worker.py', ['python3', 'worker.py']],
  ['  a   b  ', ['a', 'b']],
  [`sh -c 'echo "hi" $HOME'`, ['sh', '-c', 'echo "hi" $HOME']],
  [`"a b"c\\ d "e\\"f\\n"`, ['a bc d', 'e"f\\n']],
  [`a '' ""`, ['a', '', '']],
])('cuts the line %j as a shell would', (command, words) => {
  expect(checked({ command })).toMatchObject({ command: words });
});

it.each([
  ['command', `'open`, 'A quote is not closed.'],
  ['command', 'a "b', 'A quote is not closed.'],
  ['command', 'end\\', 'A quote is not closed.'],
  ['environment', 'A=1\nB', '“B” is not NAME=value.'],
  ['environment', '=1', 'A value has no name.'],
  ['environment', 'A=1\n A =2', 'A is given twice.'],
])('says why it cannot read %s: %j', (field, typed, text) => {
  expect(checked({ [field]: typed })).toEqual([{ field, text }]);
});

it('reads numbers and lists, also in sections', () => {
  const texts = {
    workers: { min: '1', max: ' 4 ', idle: '5m' },
    on: { slurm: "--gres=gpu:1 --comment2='a b'" },
    retries: '5',
  };
  expect(checked(texts)).toMatchObject({
    workers: { min: 1, max: 4, idle: 300_000 },
    on: { slurm: ['--gres=gpu:1', '--comment2=a b'] },
    retries: 5,
  });
  const devices = { name: 'Mine', command: process.execPath, gpu: { devices: '0, GPU-1' } };
  expect(checkEndpoint(devices, context)).toMatchObject({ settings: { gpu: { devices: ['0', 'GPU-1'] } } });
});

it('shows an endpoint as the texts that give it, whatever its words and variables are', () => {
  const text = fc.string({ unit: fc.constantFrom('a', '=', ' ', "'", '"', '\\', '\n') });
  const name = fc.stringMatching(/^[A-Z_][A-Z0-9_]{0,8}$/);
  const variables = fc.dictionary(name, text, { noNullPrototype: true });
  fc.assert(
    fc.property(fc.array(text), variables, (words, environment) => {
      const settings = checked({ command: ['worker', ...words], environment });
      if (Array.isArray(settings)) throw new Error(JSON.stringify(settings));
      const shown = endpointTexts(writtenEndpoint(settings));
      expect(Object.values(shown).filter((each) => typeof each === 'object')).toEqual([]);
      expect(checked(shown)).toEqual(settings);
    }),
  );
});
