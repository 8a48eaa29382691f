/**
 * Promise: a template fails on unknown columns, gives the same result at every start, and keeps the type of a
 * single placeholder.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { compileTemplate, TemplateError } from '../../../src/runner/config/template.ts';

const row = {
  scene: 'hills',
  style: 'oil',
  'My Column': 'spaced',
  n: 7,
  zero: 0,
  no: false,
  nothing: null,
  blank_one: '',
  list: [1, 'b'],
  object: { a: { b: 2 } },
};

it.each<[string, unknown]>([
  ['{{ scene }}', 'hills'],
  ['{{scene}}', 'hills'],
  ['{{- scene -}}', 'hills'],
  ['{{ n }}', 7],
  ['{{ zero }}', 0],
  ['{{ no }}', false],
  ['{{ nothing }}', null],
  ['{{ list }}', [1, 'b']],
  ['{{ object }}', { a: { b: 2 } }],
  ['{{ object.a }}', { b: 2 }],
  ['{{ object.a.b }}', 2],
  ['{{ list[1] }}', 'b'],
  ['{{ list.size }}', 2],
  ['{{ ["My Column"] }}', 'spaced'],
  ['{{ n | plus: 1 }}', 8],
  ['{{ n | times: 0.5 }}', 3.5],
  ['{{ missing | default: "x" }}', 'x'],
  ['{{ blank_one | default: 3 }}', 3],
  ['{{ scene | split: "" | size }}', 5],
  ['{{ "literal" }}', 'literal'],
  ['{{ n > 5 }}', true],
  ['{{ not no }}', true],
  ['{{ empty }}', ''],
  ['{{ scene == "hills" and n == 7 }}', true],
])('one placeholder alone keeps the type of its value: %s', (text, value) => {
  expect(compileTemplate(text).render(row)).toEqual(value);
});

it.each([
  ['a {{ style }} picture of {{ scene }}', 'a oil picture of hills'],
  [' {{ n }}', ' 7'],
  ['{{ n }}{{ zero }}{{ no }}{{ nothing }}{{ blank_one }}{{ empty }}{{ nil }}|', '70false|'],
  ['{{ object }}: {{ list }}', '{"a":{"b":2}}: [1,"b"]'],
  ['{{ object }}: {{ list }}: {{ n | plus: 1 }}', '{"a":{"b":2}}: [1,"b"]: 8'],
  ['{% if style %}{{ style }} of {% endif %}{{ scene }}', 'oil of hills'],
  ['{% if missing %}x{% else %}y{% endif %}', 'y'],
  ['{% assign s = scene | upcase %}{{ s }}', 'HILLS'],
  ['{% for x in list %}{{ x }},{% endfor %}', '1,b,'],
  ['{% raw %}{{ scene }}{% endraw %}', '{{ scene }}'],
  ['a  {{- scene -}}  b', 'ahillsb'],
  ['{{ "2024-03-01" | date: "%Y %b %d %H:%M" }} {{ scene }}', '2024 Mar 01 00:00 hills'],
  ['no placeholder { } }}', 'no placeholder { } }}'],
])('%s', (text, expected) => {
  const template = compileTemplate(text);
  expect([template.render(row), template.renderText(row)]).toEqual([expected, expected]);
});

it.each([
  ['{{ scene }}{{ ["My Column"] }}{{ scene }}', ['scene', 'My Column']],
  ['{% if a %}{{ b.c }}{% endif %}', ['a', 'b']],
  ['{% assign a = b %}{{ a }}', ['b']],
  ['{{ Größe }} {{ 場面 }} {{ scene-id }}', ['Größe', '場面', 'scene-id']],
  ['{{ "x" }}', []],
])('the names in %s', (text, names) => {
  expect(compileTemplate(text).names).toEqual(names);
});

it.each([
  '{{ colour }}',
  '{{ colour | upcase }}',
  'x {{ colour }}',
  '{{ scene }}{% for c in colour %}{% endfor %}',
])('a template with a missing column is refused: %s', (text) => {
  expect(() => compileTemplate(text).render(row)).toThrow(
    new TemplateError(
      'there is no column "colour"; the columns are scene, style, My Column, n, zero, no, nothing, blank_one, list, object',
    ),
  );
});

it('a template with a mistyped column suggests the right column', () => {
  expect(() => compileTemplate('{{ scen }}').render(row)).toThrow(
    new TemplateError('there is no column "scen"; did you mean "scene"?'),
  );
});

it('a template with an unknown column lists no more columns than a person reads', () => {
  const wide = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`c${i}`, 'x']));
  expect(() => compileTemplate('{{ x }}').render(wide)).toThrow(/c29 and 970 more$/);
});

it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
  '%s is not a column unless a row has it',
  (name) => {
    for (const text of [
      `{{ ${name} }}`,
      `x{{ ${name} }}`,
      `{{ ${name} | upcase }}`,
      `{{ object.${name} }}`,
    ]) {
      expect(() => compileTemplate(text).render(row)).toThrow(TemplateError);
    }
    const own = JSON.parse(`{"${name}": "mine"}`) as Record<string, string>;
    expect(compileTemplate(`{{ ${name} }}`).render(own)).toBe('mine');
  },
);

it.each([
  ['{{ scene | nope }}', 'undefined filter: nope'],
  ['{{ scene', '{{ without }}'],
  ['{% if scene %}', 'not closed'],
  ['{% if scene', '{% without %}'],
  ['{% nope %}', 'tag "nope" not found'],
  ['{{ }}', 'invalid value expression'],
  ['{{ My Column }}', 'write a column name with a space as {{ ["My Column"] }}'],
  ['{{ style scene }}', 'more than one value'],
  ['{{ n + 1 }}', 'expected "|" before filter'],
  ['{{ list | sample }}', 'undefined filter: sample'],
])('a template that cannot be read is refused: %s', (text, expected) => {
  expect(() => compileTemplate(text)).toThrow(TemplateError);
  expect(() => compileTemplate(text)).toThrow(expected);
});

it.each(['"now" | date: "%Y"', '"today" | date: "%s"', '"now" | date_to_xmlschema', 'scene | date: "%Y"'])(
  'a template that would differ at every start is refused: {{ %s }}',
  (inner) => {
    expect(() => compileTemplate(`{{ ${inner} }}`).render({ scene: 'now' })).toThrow(
      /would give another text on every start/,
    );
  },
);

it('a template reads no file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'nightrender-test-'));
  try {
    const file = join(folder, 'secret.liquid');
    writeFileSync(file, 'secret');
    for (const tag of ['include', 'render', 'layout']) {
      for (const name of [`'${file}'`, 'scene', '"secret"', 'secret']) {
        expect(() => compileTemplate(`{% ${tag} ${name} %}`)).toThrow(/tag "\w+" not found/);
        expect(() => compileTemplate(`{% liquid ${tag} ${name} %}`)).toThrow(TemplateError);
      }
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('a number that JSON does not have is no value', () => {
  for (const text of ['{{ n | divided_by: 0 }}', 'x {{ n | divided_by: zero }}']) {
    expect(() => compileTemplate(text).render(row)).toThrow(
      new TemplateError('it gives a number that JSON cannot represent'),
    );
  }
});

it('a template escapes its placeholders, and not the text around them', () => {
  const template = compileTemplate('{{ a }}/{{ b | upcase }}/{{ c }}', (text) => `<${text}>`);
  expect(template.renderText({ a: 'x/y', b: 'z', c: { d: 1 } })).toBe('<x/y>/<Z>/<{"d":1}>');
  expect(compileTemplate('{{ a }}', (text) => `<${text}>`).renderText({ a: 1 })).toBe('<1>');
});
