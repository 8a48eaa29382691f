/**
 * Promise: `${NAME}` is replaced by the environment variable anywhere in the file. Placeholders and variables
 * within its value stay text.
 */
import { expect, it } from 'vitest';
import { configOf, marked, placesOf, problemsOf, withRequired } from './pipeline-file.ts';

const row = { scene: 'hills' };

function inputOf(input: string, env: NodeJS.ProcessEnv) {
  const lines = input.replace(/^\n/, '\n  ').replaceAll(/\n +/g, '\n  ');
  return configOf(withRequired(`input: ${lines}`), { env }).input?.render(row);
}

it('a variable stands for its value in texts, lists and keys, also several in one text', () => {
  const input =
    '{scene: "{{ scene }}, ${STYLE} and ${MOOD}", list: [a, "${MOOD}"], "${NAME}": 1, $: "$5 {x}"}';
  expect(inputOf(input, { STYLE: 'oil', MOOD: 'calm', NAME: 'key' })).toEqual({
    scene: 'hills, oil and calm',
    list: ['a', 'calm'],
    key: 1,
    $: '$5 {x}',
  });
});

it('$${NAME} is left as ${NAME}', () => {
  expect(inputOf('{scene: "{{ scene }}", a: "$${STYLE} ${STYLE}"}', { STYLE: 'oil' })).toMatchObject({
    a: '${STYLE} oil',
  });
});

it('a variable without quotes is a number or a boolean if that is meant', () => {
  const { concurrency, skipBadRows, retry } = configOf(
    withRequired('concurrency: ${N}\nskipBadRows: ${B}\nretry:\n  attempts: ${N}'),
    { env: { N: '7', B: 'true' } },
  );
  expect([concurrency, skipBadRows, retry.attempts]).toEqual([7, true, 7]);
  const input = `
    scene: "{{ scene }}"
    steps: \${N}
    text: "\${N}"
    seed: \${SEED}
    zip: \${ZIP}`;
  expect(inputOf(input, { N: '30', SEED: '12345678901234567890', ZIP: '007' })).toEqual({
    scene: 'hills',
    steps: 30,
    text: '30',
    seed: '12345678901234567890',
    zip: '007',
  });
});

it('a variable within braces must be quoted', () => {
  const { text, places } = marked(withRequired('retry: {attempts: ▸${N}}'));
  const problems = problemsOf(text, { env: { N: '7' } });
  expect(placesOf(problems)).toEqual(places);
  expect(problems[0]).toContain('quote a variable within { } and [ ]: "${NAME}"');
});

it('a quoted variable is a text', () => {
  const problems = problemsOf(withRequired('concurrency: "${N}"'), { env: { N: '7' } });
  expect(problems).toEqual([
    '7:14: concurrency is "${N}", from the environment; expected jobs in flight, a whole number from 1 to 10000',
  ]);
});

it('an API key that looks like a number stays a text', () => {
  const text = withRequired('').replace('local', 'https://api.example.com\n  apiKey: ${KEY}');
  expect(configOf(text, { env: { KEY: '1234567' } }).apiKey).toBe('1234567');
});

it('unset, empty and misspelt variables are reported, each at its place, beside all other problems', () => {
  const { text, places } = marked(
    withRequired(`concurrency: ▸\${N}
input:
  a: ▸▸"\${A} {{ scene }} \${B}"
  b: ▸\${A-default}
  c: ▸\${open
  ▸\${K}: x
retry: {attempts: ▸x}
`),
  );
  const problems = problemsOf(text, { env: { A: '' } });
  expect(placesOf(problems)).toEqual(places);
  expect(problems[0]).toBe('7:14: the environment variable N is not set');
  expect(problems[1]).toBe('9:6: the environment variable A is empty');
  expect(problems[2]).toBe('9:6: the environment variable B is not set');
  expect(problems[3]).toContain('invalid variable name');
  expect(problems[4]).toContain('`${` without `}`');
});

it('the value of a variable is never interpreted as YAML', () => {
  const env = { YAML: 'a: [b, "c', VARIABLE: '${HOME} $${HOME}', LIST: '- x\n- y' };
  expect(inputOf('\n scene: "{{ scene }}"\n a: ${YAML}\n b: "${VARIABLE}"\n c: ${LIST}', env)).toEqual({
    scene: 'hills',
    a: env.YAML,
    b: env.VARIABLE,
    c: env.LIST,
  });
});

it.each(['{{ scene }}', 'x {% if scene %}', '{ scene }}'])(
  'a variable whose value has a placeholder is refused: %s',
  (value) => {
    const { text, places } = marked(withRequired('input: {scene: ▸"{{ scene }}{${V}"}'));
    const problems = problemsOf(text, { env: { V: value } });
    expect(placesOf(problems)).toEqual(places);
    expect(problems[0]).toContain('a variable contains {{ or {%; placeholders are allowed in the file only');
  },
);

it('a variable may stand within a placeholder', () => {
  expect(inputOf('{scene: "{{ ${COLUMN} }}"}', { COLUMN: 'scene' })).toEqual({ scene: 'hills' });
});

it('the key of the local service need not be set; other variables must', () => {
  const text = (name: string) => withRequired('').replace('local', `local\n  apiKey: \${${name}}`);
  expect(configOf(text('NIGHTRENDER_API_KEY')).apiKey).toBeUndefined();
  expect(problemsOf(text('OTHER'))).toEqual(['4:11: the environment variable OTHER is not set']);
});

it('an alias of a variable is from the environment, too', () => {
  const text = `manifest: &a \${N}\nendpoint: {baseUrl: 'https://x.example', id: x, apiKey: *a}\noutput: {dir: o}\nconcurrency: *a\n`;
  const config = configOf(text, { env: { N: '12' } });
  expect([config.concurrency, config.apiKey, config.warnings]).toEqual([12, '12', []]);
});
