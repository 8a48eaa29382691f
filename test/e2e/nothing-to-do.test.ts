/** Promise: a start with nothing to do leaves the report and the last run on record as they are. */
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { inProcess, newBatch, withKey } from './cli.ts';
import { startStandIn } from './stand-ins.ts';

it('keeps the last run that did something, until there is something to do', async () => {
  const cwd = newBatch((await startStandIn()).url, 3);
  const start = async (command: string): Promise<void> => {
    const { code, stderr } = await inProcess([command, 'pipeline.yaml', '--quiet'], { cwd, ...withKey });
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

it('reports what was edited in the list, though nothing is rendered again', async () => {
  const cwd = newBatch((await startStandIn()).url, 3);
  const list = join(cwd, 'scenes.csv');
  const columns = readFileSync(list, 'utf8').trimEnd().split('\n');
  const results = async (rows: string[]): Promise<string> => {
    writeFileSync(list, `${rows.join('\n')}\n`);
    const { stderr } = await inProcess(['run', 'pipeline.yaml', '--quiet', '--skip-bad-rows'], {
      cwd,
      ...withKey,
    });
    expect(stderr).not.toContain('nothing was sent');
    return readFileSync(join(cwd, 'out/report/results.csv'), 'utf8');
  };
  const [header = '', ...rows] = columns;
  const tagged = (tag: string): string[] => [`${header},tag`, ...rows.map((row) => `${row},${tag}`)];
  await results(tagged('calm'));
  expect(await results(tagged('wild'))).toContain('wild');
  const [head = '', ...others] = tagged('wild');
  const sorted = await results([head, ...others.toReversed()]);
  expect(sorted.indexOf('\ns3,')).toBeLessThan(sorted.indexOf('\ns1,'));
  expect(await results([...tagged('wild'), 'x,y,z,4'])).toContain('4 columns');
  expect(await results([...tagged('wild'), 'x,y,z,4,5'])).toContain('5 columns');
});

it('writes a report that the run before did not come to', async () => {
  const cwd = newBatch((await startStandIn()).url, 2);
  const run = async (): Promise<void> => {
    expect((await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd, ...withKey })).code).toBe(0);
  };
  await run();
  const path = join(cwd, 'out/report/summary.json');
  const interim = readFileSync(path, 'utf8').replace(/"writtenAt": "\d+/, '"writtenAt": "2020');
  writeFileSync(path, interim);
  await run();
  expect(readFileSync(path, 'utf8')).not.toContain('"writtenAt": "2020');
});

it('keeps the run of a preview that is repeated, while other scenes wait', async () => {
  const cwd = newBatch((await startStandIn()).url, 4);
  const run = async (...more: string[]): Promise<unknown> => {
    const { code, stderr } = await inProcess(['run', 'pipeline.yaml', '--quiet', ...more], {
      cwd,
      ...withKey,
    });
    expect(code, stderr).toBe(0);
    return (JSON.parse(readFileSync(join(cwd, 'out/report/summary.json'), 'utf8')) as { lastRun: unknown })
      .lastRun;
  };
  const first = await run('--limit', '2');
  expect(first).toMatchObject({ stats: { jobs: { submitted: 2 } } });
  expect(await run('--limit', '2')).toEqual(first);
  expect(await run('--limit', '3')).toMatchObject({ stats: { jobs: { submitted: 1 } } });
  expect(await run()).toMatchObject({ stats: { jobs: { submitted: 1 } } });
});
