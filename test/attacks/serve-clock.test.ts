/** Promise: if the system clock is changed while the service runs, no job or result is lost. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isWhole } from '../fakes/tier.ts';
import { folderWith, testKey } from '../e2e/cli.ts';
import { clockMovedBy } from '../e2e/moved-clock.ts';
import { Served } from '../e2e/served.ts';

const hour = 3_600_000;

/** A worker program. Each job ends once the file that its input names exists. */
const program = `
const { appendFileSync, existsSync } = require('node:fs');
process.stdin.setEncoding('utf8').on('data', (text) => {
  for (const line of text.split('\\n').filter(Boolean)) {
    const { id, input } = JSON.parse(line);
    appendFileSync('begun', id + '\\n');
    const timer = setInterval(() => {
      if (!existsSync(input.until)) return;
      clearInterval(timer);
      console.log(JSON.stringify({ id, output: input }));
    }, 20);
  }
});`;

it.each(isWhole ? [2 * hour, 25 * hour] : [25 * hour])(
  'a clock that changes by %d ms loses no job and no result, also after a new start',
  async (ms) => {
    const cwd = folderWith({
      'service.yaml': 'endpoints: [{name: One, command: [node, program.cjs], workers: {max: 1}}]',
      'program.cjs': program,
      first: '',
    });
    const env = { NIGHTRENDER_API_KEY: testKey, NODE_OPTIONS: clockMovedBy(ms, join(cwd, 'moved')) };
    const service = await Served.start(cwd, ['service.yaml'], env);
    const done = await service.done('one', { until: 'first' });
    const running = await service.submit('one', { until: 'second' });
    const waiting = await service.submit('one', { until: 'second' });
    const begun = (): string =>
      existsSync(join(cwd, 'begun')) ? readFileSync(join(cwd, 'begun'), 'utf8') : '';
    await expect.poll(begun, { timeout: 20_000 }).toContain(running);

    writeFileSync(join(cwd, 'moved'), '');
    await service.program.says(/the system clock moved forward by \d+ h/);
    expect(await service.status('one', done.id)).toEqual(done);
    expect((await service.status('one', waiting)).status).toBe('IN_QUEUE');
    writeFileSync(join(cwd, 'second'), '');
    const ended = await service.ended('one', running);
    expect(ended).toMatchObject({ status: 'COMPLETED' });
    expect((ended as { executionTime?: number }).executionTime).toBeLessThan(hour);
    await service.ended('one', waiting);
    expect((await service.stop()).code).toBe(0);

    const next = await Served.start(cwd, ['service.yaml'], env);
    for (const id of [done.id, running, waiting])
      expect((await next.status('one', id)).status).toBe('COMPLETED');
  },
);
