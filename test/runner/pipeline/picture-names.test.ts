/** What a picture is called: the seed that the service tells counts before the one that it was sent. */
import { expect, it } from 'vitest';
import { pictureName } from '../../../src/runner/pipeline/picture-names.ts';
import { configOf, withRequired } from '../config/pipeline-file.ts';

it.each([
  ['the service tells its seed', '7', { seed: 5 }, 'a-7.png'],
  ['it tells none, and one was sent', '', { seed: 5 }, 'a-5.png'],
  ['nobody knows', '', {}, 'a-.png'],
])('%s', (_, seed, columns, name) => {
  const config = configOf(withRequired('').replace('renders', `renders\n  name: '{{ id }}-{{ seed }}'`));
  const picture = { id: 'a', columns, input: {}, seed, index: 1 };
  expect(pictureName({ ...config, names: 'prompt' }, picture)).toBe(name);
});
