/**
 * Promise: `output.name` makes portable file names from any column values. Only slashes of the template
 * itself create folders.
 */
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../src/lib/text/json.ts';
import { configOf, withRequired } from './pipeline-file.ts';

function nameOf(template: string, values: JsonObject): string {
  return configOf(withRequired(`  name: ${JSON.stringify(template)}`)).output.name?.renderText(values) ?? '';
}

it.each<[string, JsonObject, string | RegExp]>([
  ['{{ id }}.png', { id: 'a' }, 'a.png'],
  ['{{ id }}', { id: 'a' }, 'a.png'],
  [
    '{{ id }}-{{ seed }}-{{ index }}.png',
    { id: 'a', seed: '18446744073709551615', index: 2 },
    'a-18446744073709551615-2.png',
  ],
  ['{{ Category }}/{{ id }}.png', { Category: 'World Knowledge', id: 'a' }, 'World Knowledge/a.png'],
  ['{{ id }}.png', { id: '../../etc/passwd' }, /^[^/]*\.png$/],
  ['{{ a }}/{{ id }}.png', { a: '..', id: '..' }, /^[^/.]+\/[^/.]+\.png$/],
  ['{{ a }}/{{ id }}.png', { a: '', id: '' }, /^[^/.]+\/[^/.]+\.png$/],
  ['../{{ id }}.png', { id: 'a' }, /^[^/.]+\/a\.png$/],
  ['/abs/{{ id }}.png', { id: 'a' }, /^[^/.]+\/abs\/a\.png$/],
  ['{{ id | append: "/x/../y" }}.png', { id: 'a' }, /^[^/]*\.png$/],
  ['{{ id }}.png', { id: 'CON' }, '_CON.png'],
  ['{{ id }}.png', { id: 'nul.txt' }, '_nul.txt.png'],
  ['{{ id }}.png', { id: 'a\\b:c*?"<>|\u{0}\n' }, 'a-b-c------.png'],
  ['{{ id }}.png', { id: { a: '/' } }, /^[^/]*\.png$/],
])('%s of %j', (template, values, expected) => {
  const name = nameOf(template, values);
  if (typeof expected === 'string') expect(name).toBe(expected);
  else expect(name).toMatch(expected);
});

it('a name of a picture has at most 200 bytes, however long the columns are', () => {
  const long = '長い'.repeat(1000);
  expect(Buffer.byteLength(nameOf('{{ a }}/{{ id }}.png', { a: long, id: long }))).toBeLessThanOrEqual(200);
});
