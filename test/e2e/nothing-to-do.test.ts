/** Promise: a start with nothing to do leaves the report and the last run on record as they are. */
import { appendFileSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { inProcess, newBatch } from './cli.ts';

it('keeps the last run that did something, until there is something to do', async () => {
  const cwd = newBatch('local', 3);
  const start = async (command: string): Promise<void> => {
    const { code, stderr } = await inProcess([command, 'pipeline.yaml', '--quiet'], { cwd });
    expect(code, stderr).toBe(0);
  };
  const report = (): string[] =>
    ['index.html', 'summary.json'].map((file) => readFileSync(join(cwd, 'out/report', file), 'utf8'));
  const lastRun = (): unknown => (JSON.parse(report()[1] ?? '') as { lastRun: unknown }).lastRun;
  const status = async (): Promise<string> => (await inProcess(['status', 'pipeline.yaml'], { cwd })).stdout;

  await start('run');
  const [first, said] = [report(), await status()];
  expect(lastRun()).toMatchObject({ run: 1, stats: { jobs: { submitted: 3 } } });
  await start('run');
  await start('cancel');
  expect(report()).toEqual(first);
  expect(await status()).toBe(said);

  rmSync(join(cwd, 'out/report'), { recursive: true });
  await start('run');
  expect(report()[0]).not.toBe(first[0]);

  appendFileSync(join(cwd, 'pipeline.yaml'), 'pricing: {perSecond: 0.01, currency: USD}\n');
  await start('run');
  expect(JSON.parse(report()[1] ?? '')).toMatchObject({ cost: { currency: 'USD' } });

  appendFileSync(join(cwd, 'scenes.csv'), 'more,Hills and a river\n');
  await start('run');
  expect(lastRun()).toMatchObject({ stats: { jobs: { submitted: 1 } } });
});
