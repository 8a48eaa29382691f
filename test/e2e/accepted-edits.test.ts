/** Promise: an edit that renders most of a batch again is never silent: a terminal asks, elsewhere the first line says so. */
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { folderWith, inProcess, linesOf, pipeline, withKey } from './cli.ts';
import { sampled } from '../fakes/tier.ts';
import { blackPicture, completed, startStandIn } from './stand-ins.ts';

const count = 6;
const words = ['sea', 'owl', 'fox', 'oak', 'bay', 'elk'];
const lines = (head: string, rowOf: (word: string, n: number) => string): string =>
  [head, ...words.map(rowOf), ''].join('\n');
const named = lines('id,prompt,size', (word, n) => `s${n},${word},${64 + n}`);
const nameless = lines('prompt,size', (word, n) => `${word},${64 + n}`);
const input = "input: {scene: '{{ prompt }}', size: '{{ size }}'}\n";

/** A batch of which each scene is saved. */
async function saved(list = named, more = input) {
  const image = await blackPicture();
  const service = await startStandIn({ plan: () => ({ end: () => completed([{ image }]) }) });
  const price = 'pricing: {perPicture: 0.02, currency: USD}\n';
  const text = (changed: string): string => pipeline(service.url, changed + price);
  const cwd = folderWith({ 'pipeline.yaml': text(more), 'scenes.csv': list });
  const write = (file: string, content: string): void => writeFileSync(join(cwd, file), content);
  const start = (...args: string[]) => inProcess([...args, 'pipeline.yaml'], { cwd, ...withKey });
  const begun = await start('run', '--quiet');
  expect(begun).toMatchObject({ code: 0, stderr: '' });
  return {
    cwd,
    service,
    start,
    write,
    edit: (changed: string): void => write('pipeline.yaml', text(changed)),
  };
}

const terminal = (isOne: true | undefined): void => void Object.assign(process.stderr, { isTTY: isOne });
afterEach(() => terminal(undefined));

it('ends with 2 on a terminal before anything changes, and goes on once that is accepted', async () => {
  const { start, service, edit } = await saved();
  edit(input.replace('{{ prompt }}', 'a {{ prompt }}'));
  terminal(true);
  const asked = await start('run', '--quiet');
  expect(asked.code).toBe(2);
  expect(asked.stderr).toContain(
    '6 of 6 saved scenes are to be rendered again, for about 0.12 USD, because the template, the matrix or the columns changed. Nothing was sent',
  );
  expect(asked.stderr).toContain('--accept-edits, or acceptEdits: always to pipeline.yaml');
  expect(asked.stderr).toContain('`nightrender plan pipeline.yaml --accept-edits`');
  expect(service.inputs).toHaveLength(count);
  const [status] = linesOf(await start('status', '--json'));
  expect(status).toMatchObject({ summary: { scenes: { saved: count, withdrawn: 0, waiting: 0 } } });
  const accepted = await start('run', '--quiet', '--accept-edits');
  expect(accepted).toMatchObject({ code: 0 });
  expect(accepted.stderr).toMatch(/^[^\n]*6 of 6 saved scenes are to be rendered again[^\n]*\n$/);
  expect(service.inputs).toHaveLength(2 * count);
  // What was accepted is not asked about again.
  expect(await start('run', '--quiet')).toMatchObject({ code: 0, stderr: '' });
});

it('goes on elsewhere, and says so in its first line and to whom it notifies', async () => {
  const notices: { event: string; text: string }[] = [];
  const ear = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      notices.push(JSON.parse(Buffer.concat(parts).toString()) as (typeof notices)[number]);
      response.end();
    });
  });
  await new Promise<void>((resolve) => ear.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void ear.close());
  const { start, service, edit } = await saved();
  const to = `notify: [{webhook: "http://127.0.0.1:${(ear.address() as AddressInfo).port}", on: [halt]}]\n`;
  edit(input.replace('{{ prompt }}', 'a {{ prompt }}') + to);
  const planned = await start('plan');
  expect(planned.code).toBe(0);
  expect(planned.stdout.replaceAll(/\s+/g, ' ')).toContain(
    '6 of 6 saved scenes are to be rendered again, for about 0.12 USD, because the template, the matrix or the columns changed; on a terminal, a run asks for --accept-edits',
  );
  const run = await start('run');
  expect(run.code).toBe(0);
  expect(run.stderr.split('\n')[0]).toContain(
    '6 of 6 saved scenes are to be rendered again, for about 0.12 USD',
  );
  expect(service.inputs).toHaveLength(2 * count);
  expect(notices).toMatchObject([
    { event: 'start', text: expect.stringContaining('6 of 6 saved scenes') as string },
  ]);
});

it.each(['always', 'never'])('acceptEdits: %s decides for terminals and all else', async (acceptEdits) => {
  const { start, edit } = await saved();
  edit(`${input.replace('{{ prompt }}', 'a {{ prompt }}')}acceptEdits: ${acceptEdits}\n`);
  const code = acceptEdits === 'always' ? 0 : 2;
  terminal(code === 0 ? true : undefined);
  expect((await start('plan')).code).toBe(code);
  const run = await start('run');
  expect(run.code, run.stderr).toBe(code);
  expect(run.stderr).toContain('6 of 6 saved scenes');
});

const matrix =
  "input: {scene: '{{ prompt }}', style: '{{ style }}'}\nscenes: {matrix: {style: [oil, ink]}}\n";

const cases = [
  {
    what: 'a template of a list without ids',
    list: nameless,
    changed: input.replace('{{ prompt }}', 'a {{ prompt }}'),
  },
  {
    what: 'values of a matrix',
    list: nameless,
    first: matrix,
    changed: matrix.replace('oil, ink', 'oils, inks'),
    all: 12,
  },
  {
    what: 'values of a matrix with ids',
    first: matrix,
    changed: matrix.replace('oil, ink', 'oils, inks'),
    all: 12,
  },
  { what: 'a matrix that is new', list: nameless, changed: matrix },
  { what: 'the type of a column', list: nameless, changed: `${input}columns: {size: number}\n` },
  { what: 'a column of ids that is new', list: nameless, changed: input, rows: named },
  {
    what: 'a column that is new',
    list: nameless,
    first: '',
    changed: '',
    rows: lines('prompt,size,steps', (word, n) => `${word},${64 + n},9`),
    none: true,
  },
  { what: 'texts under their ids', changed: input, rows: named.replaceAll(/,(\w{3}),/g, ',a $1,') },
  {
    what: 'a third, and no more',
    changed: input,
    rows: named.replace('sea', 'seas').replace('owl', 'owls'),
    none: true,
  },
  {
    what: 'the list by another one',
    list: nameless,
    changed: input,
    rows: nameless.replaceAll(/^\w{3},/gm, 'new $&'),
    none: true,
  },
];

it.each(sampled(cases, { ms: 400 }))(
  'sees an edit of $what',
  async ({ list = named, first = input, changed, rows = list, all = count, none }) => {
    const { start, edit, write, service } = await saved(list, first);
    const before = service.inputs.length;
    edit(changed);
    write('scenes.csv', rows);
    terminal(true);
    const run = await start('run', '--quiet');
    if (none === true) expect(run.code, run.stderr).toBe(0);
    else {
      expect(run.stderr).toContain(`${all} of ${all} saved scenes are to be rendered again`);
      expect(service.inputs).toHaveLength(before);
      expect(run.code).toBe(2);
    }
  },
);

it('is no edit where it is undone', async () => {
  const { start, edit, cwd } = await saved();
  edit(input.replace('{{ prompt }}', 'a {{ prompt }}'));
  expect((await start('run', '--quiet')).code).toBe(0);
  edit(input);
  terminal(true);
  expect(await start('run', '--quiet')).toMatchObject({ code: 0, stderr: '' });
  expect(readFileSync(join(cwd, 'out/report/results.csv'), 'utf8')).not.toContain('waiting');
});
