/**
 * Promise: an edit that renders most of a batch again is never silent. A terminal must accept it, and
 * elsewhere the first line reports it.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { nightWith, pipeline } from './cli.ts';
import { firstTier, sampled } from '../fakes/tier.ts';
import { blackPicture, completed, startStandIn } from './stand-ins.ts';

const count = 6;
const words = ['sea', 'owl', 'fox', 'oak', 'bay', 'elk'];
const lines = (head: string, rowOf: (word: string, n: number) => string): string =>
  [head, ...words.map(rowOf), ''].join('\n');
const named = lines('id,prompt,size', (word, n) => `s${n},${word},${64 + n}`);
const nameless = lines('prompt,size', (word, n) => `${word},${64 + n}`);
const input = "input: {scene: '{{ prompt }}', size: '{{ size }}'}\n";

/** Creates a batch in which every scene is saved. */
async function saved(list = named, more = input) {
  const image = await blackPicture();
  const service = await startStandIn({ plan: () => ({ end: () => completed([{ image }]) }) });
  const price = 'pricing: {perPicture: 0.02, currency: USD}\n';
  const text = (changed: string): string => pipeline(service.url, changed + price);
  const night = nightWith({ 'pipeline.yaml': text(more), 'scenes.csv': list });
  await night.run('--quiet').exits(0).warnsOnly('');
  return { night, service, edit: (changed: string): void => night.write('pipeline.yaml', text(changed)) };
}

const terminal = (isOne: true | undefined): void => void Object.assign(process.stderr, { isTTY: isOne });
afterEach(() => terminal(undefined));

firstTier.it(
  'a large edit ends a run with 2 on a terminal before anything changes, unless it is accepted',
  async () => {
    const { night, service, edit } = await saved();
    edit(input.replace('{{ prompt }}', 'a {{ prompt }}'));
    terminal(true);
    await night
      .run('--quiet')
      .fails(
        2,
        '6 of 6 saved scenes are to be rendered again, for about 0.12 USD, because the template, the matrix or the columns changed. Nothing was sent',
        '--accept-edits, or acceptEdits: always to pipeline.yaml',
        '`nightrender plan pipeline.yaml --accept-edits`',
      );
    expect(service.inputs).toHaveLength(count);
    const [status] = await night.status('--json').lines();
    expect(status).toMatchObject({ summary: { scenes: { saved: count, withdrawn: 0, waiting: 0 } } });
    await night
      .run('--quiet', '--accept-edits')
      .exits(0)
      .warns(/^[^\n]*6 of 6 saved scenes are to be rendered again[^\n]*\n$/);
    expect(service.inputs).toHaveLength(2 * count);
    // An accepted edit is not asked about again.
    await night.run('--quiet').exits(0).warnsOnly('');
  },
);

firstTier.it(
  'a large edit continues elsewhere, and the first line reports it and whom it notifies',
  async () => {
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
    const { night, service, edit } = await saved();
    const to = `notify: [{webhook: "http://127.0.0.1:${(ear.address() as AddressInfo).port}", on: [halt]}]\n`;
    edit(input.replace('{{ prompt }}', 'a {{ prompt }}') + to);
    const planned = await night.plan().exits(0);
    expect(planned.stdout.replaceAll(/\s+/g, ' ')).toContain(
      '6 of 6 saved scenes are to be rendered again, for about 0.12 USD, because the template, the matrix or the columns changed; on a terminal, a run asks for --accept-edits',
    );
    const run = await night.run().exits(0);
    expect(run.stderr.split('\n')[0]).toContain(
      '6 of 6 saved scenes are to be rendered again, for about 0.12 USD',
    );
    expect(service.inputs).toHaveLength(2 * count);
    expect(notices).toMatchObject([
      { event: 'start', text: expect.stringContaining('6 of 6 saved scenes') as string },
    ]);
  },
);

firstTier.it.each(['always', 'never'])(
  'acceptEdits: %s decides for terminals and for all other outputs',
  async (acceptEdits) => {
    const { night, edit } = await saved();
    edit(`${input.replace('{{ prompt }}', 'a {{ prompt }}')}acceptEdits: ${acceptEdits}\n`);
    const code = acceptEdits === 'always' ? 0 : 2;
    terminal(code === 0 ? true : undefined);
    await night.plan().exits(code);
    await night.run().fails(code, '6 of 6 saved scenes');
  },
);

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
  'an edit of $what is noticed',
  async ({ list = named, first = input, changed, rows = list, all = count, none }) => {
    const { night, edit, service } = await saved(list, first);
    const before = service.inputs.length;
    edit(changed);
    night.write('scenes.csv', rows);
    terminal(true);
    const run = await night.run('--quiet');
    if (none === true) expect(run.code, run.stderr).toBe(0);
    else {
      expect(run.stderr).toContain(`${all} of ${all} saved scenes are to be rendered again`);
      expect(service.inputs).toHaveLength(before);
      expect(run.code).toBe(2);
    }
  },
);

firstTier.it('an edit that was undone is no edit', async () => {
  const { night, edit } = await saved();
  edit(input.replace('{{ prompt }}', 'a {{ prompt }}'));
  await night.run('--quiet').exits(0);
  edit(input);
  terminal(true);
  await night.run('--quiet').exits(0).warnsOnly('');
  expect(night.read('out/report/results.csv')).not.toContain('waiting');
});
