/** Promise: Ctrl-C and SIGTERM end a run whatever it waits for, and the jobs in flight stay recorded. */
import { expect, it } from 'vitest';
import type { HttpService } from '../fakes/http-service.ts';
import { answerHonestly } from '../fakes/job-server.ts';
import { eventsOf, inProcess, newBatch, nthEvent, Program, signalAt, withKey } from './cli.ts';
import { startPatientService } from './stand-ins.ts';

const count = 3;

it('ends once the grace is over, though answers are awaited that never come', async () => {
  const { service, cwd } = await silentService('100ms');
  const run = inProcess(['run', 'pipeline.yaml'], { cwd, ...withKey });
  await statusAsked(service);
  process.emit('SIGTERM', 'SIGTERM');
  expect((await run).code).toBe(143);
  await expectResumable(service, cwd);
});

it('ends at once at the second signal, though the grace is long', async () => {
  const { service, cwd } = await silentService('1h');
  const run = new Program(['run', 'pipeline.yaml', '--json'], { cwd, ...withKey });
  await statusAsked(service);
  run.child.kill('SIGINT');
  await run.event('stopping');
  run.child.kill('SIGINT');
  await run.finish();
  expect(run.child.signalCode).toBe('SIGINT');
  await expectResumable(service, cwd);
});

/** A batch whose run waits for answers to its status requests, longer than any test lasts. */
async function silentService(grace: string): Promise<{ service: HttpService; cwd: string }> {
  const service = await startPatientService();
  service.meet = (asked) => (asked.operation === 'status' ? undefined : answerHonestly(asked));
  const more = `shutdown: {grace: ${grace}}\ntimeouts: {request: 1h}\n`;
  const cwd = newBatch(service.url, count, more);
  return { service, cwd };
}

/** Resolves when the run has asked for the status of all of its jobs. */
async function statusAsked({ requests }: HttpService): Promise<void> {
  const asked = (): Set<string> =>
    new Set(requests.map(({ path }) => path).filter((path) => path.includes('/status/')));
  await expect.poll(() => asked().size).toBe(count);
}

async function expectResumable(service: HttpService, cwd: string): Promise<void> {
  service.meet = answerHonestly;
  const at = signalAt(nthEvent('recovered'));
  const next = await inProcess(['run', 'pipeline.yaml', '--json'], { cwd, ...withKey, at });
  expect(eventsOf(next, 'recovered')).toMatchObject([{ inFlight: count, unanswered: 0 }]);
  expect(service.inputs).toHaveLength(count);
}
