/**
 * Promise: prices that the service states are counted once, over kills and resumed runs, and the cost limit
 * is based on them.
 */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { falKey, startFal } from '../fakes/fal-service.ts';
import { nightOf, nightWith } from './cli.ts';
import { blackPicture, completed, startStandIn } from './stand-ins.ts';

it('counts each job with its own price over two kills, stops at the limit, and shows what was estimated', async () => {
  const picture = await blackPicture();
  let jobs = 0;
  let bill = 0;
  const service = await startStandIn({
    plan: () => {
      jobs += 1;
      const cost = jobs === 3 ? undefined : jobs / 100;
      bill += cost ?? 0;
      // The third job states no price, and the fourth one states it as text.
      const told = jobs === 4 ? '0.04' : cost;
      return { end: () => completed([{ rendered_image: picture, cost: told }]) };
    },
  });
  const more =
    'concurrency: 1\npricing: {at: "output[0].cost", perPicture: 0.005, expect: 1s}\nlimits: {cost: 0.5}\n';
  const night = nightOf(service.url, 40, more);
  await night.killAfter(3);
  await night.killAfter(3);
  const last = await night.run().exits(13, /0\.\d+ stated by the service, 0\.\d+ estimated/);
  expect(last.stdout).toMatch(/of 0\.50 USD/);
  const { summary } = (await night.state()) as {
    summary: { cost: Record<string, number>; attempts: object };
  };
  const { spent = 0, stated = 0, statedJobs = 0, untold = 0 } = summary.cost;
  // Each of the two kills may leave one submission without an answer.
  expect(untold).toBeLessThanOrEqual(2);
  expect(stated).toBeLessThanOrEqual(bill + 1e-9);
  expect(statedJobs).toBeGreaterThanOrEqual(service.jobs.all.length - 1 - untold);
  expect(spent).toBeGreaterThanOrEqual(0.5);
  expect(bill).toBeLessThanOrEqual(0.5 + jobs / 100 + 0.03);
  const submitted = service.jobs.all.length;
  await night.run().exits(13);
  expect(service.jobs.all).toHaveLength(submitted);
  await night.status().prints(/stated by the service/);
  const lines = readFileSync(night.path('out/report/results.jsonl'), 'utf8').trim().split('\n');
  const rows = lines.map((line) => JSON.parse(line) as { state: string; statedCost: number | null });
  const saved = rows.filter(({ state }) => state === 'saved').map(({ statedCost }) => statedCost ?? 0);
  expect(saved.reduce((sum, cost) => sum + cost, 0)).toBeCloseTo(stated);
});

it.each([
  ['{ perMegapixel: 0.025 }', undefined],
  ['{ at: cost }', undefined],
  [
    '{ perMegapixel: 0.02, currency: EUR }',
    /states 0\.025 USD for its unit "megapixels".* perMegapixel: 0\.02, currency: EUR/,
  ],
  ['{ perPicture: 0.025 }', /set perMegapixel: 0\.025/],
  ['{ perMegapixel: 0.025, currency: usd }', undefined],
  ['{ perMegapixel: 0.025 }', undefined, false],
  ['{ perMegapixel: 0.02 }', /states 0\.025 for its unit/, false],
])(
  'plan --check shows the unit price of fal beside pricing: %s',
  async (pricing, warning, knowsCurrency = true) => {
    const fal = await startFal();
    const description = readFileSync('src/runner/config/services/fal.yaml', 'utf8')
      .replace(knowsCurrency ? '' : "  currency: 'prices[0].currency'\n", '')
      .replaceAll('https://queue.fal.run', fal.url)
      .replaceAll('https://api.fal.ai', fal.url.replace('127.0.0.1', 'localhost'));
    const night = nightWith({
      'queue.yaml': description,
      'pipeline.yaml': `manifest: scenes.csv
endpoint: {speaks: queue.yaml, baseUrl: "${fal.url}", id: fal-ai/flux/dev, apiKey: "\${NIGHTRENDER_API_KEY}"}
input: {prompt: "{{ prompt }}"}
output: {dir: out}
pricing: ${pricing}
`,
      'scenes.csv': 'id,prompt\na,hill\n',
    }).with({ env: { NIGHTRENDER_API_KEY: falKey } });
    const plan = await night
      .plan('--check')
      .exits(0, `0.025${knowsCurrency ? ' USD' : ''} for the service's unit, "megapixels"`);
    const text = plan.stdout.replaceAll(/\s+/g, ' ');
    if (warning === undefined) expect(text).not.toContain('the service states');
    else expect(text).toMatch(warning);
    expect(fal.jobs.all).toEqual([]);
  },
);
