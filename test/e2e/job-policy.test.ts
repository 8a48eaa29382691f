/** Promise: a job that needs longer than the service's ten minutes is paid twice at most, and no other job is sent again for it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { noise } from '../runner/images/pictures.ts';
import { nightOf } from './cli.ts';
import { completed, startStandIn } from './stand-ins.ts';

it('a run waits for `endpoint.policy.executionTimeout`, which changes no other scene', async () => {
  const picture = (await noise(48, 32).png().toBuffer()).toString('base64');
  let isLong = false;
  const service = await startStandIn({
    plan: ({ scene }) => {
      const end =
        isLong || scene !== 'Hills and 1 trees'
          ? completed([{ rendered_image: picture }])
          : { status: 'TIMED_OUT', delayTime: 5, executionTime: 600_004 };
      return { end: () => end };
    },
  });
  const night = nightOf(service.url, 4);
  const run = () => night.run();
  const first = await run();
  expect(first.code, first.stdout + first.stderr).toBe(10);
  expect(first.stdout + first.stderr).toMatch(
    /1 scene for `endpoint\.policy\.executionTimeout`; once it is set/,
  );
  await night.status().prints(/1 job for `endpoint\.policy\.executionTimeout`/);
  const { stdout: story } = await night.explain('s1');
  expect(story.replaceAll(/\s+/g, ' ')).toContain('set that, and the next run sends it again');
  await run().exits(10);
  expect([...service.submissions().values()]).toEqual([1, 1, 1, 1]);

  const file = night.path('pipeline.yaml');
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replace('endpoint:\n', 'endpoint:\n  policy: { executionTimeout: 30m }\n'),
  );
  isLong = true;
  const last = await run();
  expect(last.code, last.stdout + last.stderr).toBe(0);
  expect(Object.fromEntries(service.submissions())).toMatchObject({ 'Hills and 1 trees': 2 });
  expect(service.jobs.all).toHaveLength(5);
});
