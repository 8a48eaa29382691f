/** Promise: a run with nothing to do leaves the report and the record of the last run unchanged. */
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { nightOf } from './cli.ts';
import { startStandIn } from './stand-ins.ts';

it('a run with nothing to do keeps the record of the last run that submitted or saved anything', async () => {
  const night = nightOf((await startStandIn()).url, 3);
  const start = async (command: string): Promise<void> => {
    await night.do(command, '--quiet').exits(0);
  };
  const report = (): string[] =>
    ['index.html', 'summary.json'].map((file) => night.read(`out/report/${file}`));
  const lastRun = (): unknown => (JSON.parse(report()[1] ?? '') as { lastRun: unknown }).lastRun;
  const status = async (): Promise<string> => (await night.status()).stdout;

  await start('run');
  const [first, said] = [report(), await status()];
  expect(lastRun()).toMatchObject({ run: 1, stats: { jobs: { submitted: 3 } } });
  await start('run');
  await start('cancel');
  expect(report()).toEqual(first);
  expect(await status()).toBe(said);

  rmSync(night.path('out/report'), { recursive: true });
  await start('run');
  expect(report()[0]).not.toBe(first[0]);

  appendFileSync(night.path('pipeline.yaml'), 'pricing: {perSecond: 0.01, currency: USD}\n');
  await start('run');
  expect(JSON.parse(report()[1] ?? '')).toMatchObject({ cost: { currency: 'USD' } });

  appendFileSync(night.path('scenes.csv'), 'more,Hills and a river\n');
  await start('run');
  expect(lastRun()).toMatchObject({ stats: { jobs: { submitted: 1 } } });
});

it('a run with nothing to do still reports edits of the list', async () => {
  const night = nightOf((await startStandIn()).url, 3);
  const list = night.path('scenes.csv');
  const columns = readFileSync(list, 'utf8').trimEnd().split('\n');
  const results = async (rows: string[]): Promise<string> => {
    writeFileSync(list, `${rows.join('\n')}\n`);
    await night.run('--quiet', '--skip-bad-rows').warnsNo('nothing was sent');
    return night.read('out/report/results.csv');
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

it('a run with nothing to do writes the report that the run before did not write', async () => {
  const night = nightOf((await startStandIn()).url, 2);
  const run = async (): Promise<void> => {
    await night.run('--quiet').exits(0);
  };
  await run();
  const path = night.path('out/report/summary.json');
  const interim = readFileSync(path, 'utf8').replace(/"writtenAt": "\d+/, '"writtenAt": "2020');
  writeFileSync(path, interim);
  await run();
  expect(readFileSync(path, 'utf8')).not.toContain('"writtenAt": "2020');
});

it('a repeated preview keeps the record of the first one, while other scenes wait', async () => {
  const night = nightOf((await startStandIn()).url, 4);
  const run = async (...more: string[]): Promise<unknown> => {
    await night.run('--quiet', ...more).exits(0);
    return (JSON.parse(night.read('out/report/summary.json')) as { lastRun: unknown }).lastRun;
  };
  const first = await run('--limit', '2');
  expect(first).toMatchObject({ stats: { jobs: { submitted: 2 } } });
  expect(await run('--limit', '2')).toEqual(first);
  expect(await run('--limit', '3')).toMatchObject({ stats: { jobs: { submitted: 1 } } });
  expect(await run()).toMatchObject({ stats: { jobs: { submitted: 1 } } });
});
