/** Promise: Ctrl-C and SIGTERM get you out, whatever is awaited, and what is in flight stays on record. */
import { expect, it } from 'vitest';
import type { HttpService } from '../fakes/http-service.ts';
import { answerHonestly } from '../fakes/job-server.ts';
import { newBatch, Program, withKey } from './cli.ts';
import { startPatientService } from './stand-ins.ts';

const count = 3;

it('ends once the grace is over, though answers are awaited that never come', async () => {
  const { service, cwd, run } = await waiting('100ms');
  run.child.kill('SIGTERM');
  expect((await run.finish()).code).toBe(143);
  await expectResumable(service, cwd);
});

it('ends at once at the second signal, though the grace is long', async () => {
  const { service, cwd, run } = await waiting('1h');
  run.child.kill('SIGINT');
  await run.event('stopping');
  run.child.kill('SIGINT');
  await run.finish();
  expect(run.child.signalCode).toBe('SIGINT');
  await expectResumable(service, cwd);
});

/** A run that waits for answers to its status requests, longer than any test lasts. */
async function waiting(grace: string): Promise<{ service: HttpService; cwd: string; run: Program }> {
  const service = await startPatientService();
  service.meet = (asked) => (asked.operation === 'status' ? undefined : answerHonestly(asked));
  const more = `shutdown: {grace: ${grace}}\ntimeouts: {request: 1h}\n`;
  const cwd = newBatch(service.url, count, more);
  const run = new Program(['run', 'pipeline.yaml', '--json'], { cwd, ...withKey });
  await run.event('scene-submitted', count);
  await expect
    .poll(() => service.requests.filter(({ path }) => path.includes('/status/')).length)
    .toBeGreaterThan(0);
  return { service, cwd, run };
}

async function expectResumable(service: HttpService, cwd: string): Promise<void> {
  service.meet = answerHonestly;
  const next = new Program(['run', 'pipeline.yaml', '--json'], { cwd, ...withKey });
  expect(await next.event('recovered')).toMatchObject({ inFlight: count, unanswered: 0 });
  expect(service.inputs).toHaveLength(count);
}
