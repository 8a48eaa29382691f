/** What a picture is called: the seed that the service tells counts before the one that it was sent. */
import { expect, it } from 'vitest';
import { batchSettings } from '../../src/batch/batch-settings.ts';
import { configOf, withRequired } from '../runner/config/pipeline-file.ts';

it.each([
  ['the service tells its seed', '7', { seed: 5 }, 'a-7.png'],
  ['it tells none, and one was sent', '', { seed: 5 }, 'a-5.png'],
  ['nobody knows', '', {}, 'a-.png'],
])('%s', (_, seed, columns, name) => {
  const config = configOf(withRequired('').replace('renders', `renders\n  name: '{{ id }}-{{ seed }}'`));
  expect(
    batchSettings(config, 0, 'prompt').pictureName({ id: 'a', columns, input: {}, seed, index: 1 }),
  ).toBe(name);
});
