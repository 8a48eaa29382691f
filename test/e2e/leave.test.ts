/** Promise: Ctrl-C and SIGTERM end a run whatever it waits for, and the jobs in flight stay recorded. */
import { expect, it } from 'vitest';
import type { HttpService } from '../fakes/http-service.ts';
import { answerHonestly } from '../fakes/job-server.ts';
import { type Night, nightOf, nthEvent, signalAt } from './cli.ts';
import { startPatientService } from './stand-ins.ts';

const count = 3;

it('a run ends once its grace is over, although it waits for answers that never come', async () => {
  const { service, night } = await silentService('100ms');
  const run = night.run();
  await statusAsked(service);
  process.emit('SIGTERM', 'SIGTERM');
  expect((await run).code).toBe(143);
  await expectResumable(service, night);
});

it('a run ends at once at the second signal, although its grace is long', async () => {
  const { service, night } = await silentService('1h');
  const run = night.program('run', 'pipeline.yaml', '--json');
  await statusAsked(service);
  run.child.kill('SIGINT');
  await run.event('stopping');
  run.child.kill('SIGINT');
  await run.finish();
  expect(run.child.signalCode).toBe('SIGINT');
  await expectResumable(service, night);
});

/** Creates a batch whose service never answers status requests. */
async function silentService(grace: string): Promise<{ service: HttpService; night: Night }> {
  const service = await startPatientService();
  service.meet = (asked) => (asked.operation === 'status' ? undefined : answerHonestly(asked));
  const more = `shutdown: {grace: ${grace}}\ntimeouts: {request: 1h}\n`;
  const night = nightOf(service.url, count, more);
  return { service, night };
}

/** Resolves when the run has polled all of its jobs. */
async function statusAsked({ requests }: HttpService): Promise<void> {
  const asked = (): Set<string> =>
    new Set(requests.map(({ path }) => path).filter((path) => path.includes('/status/')));
  await expect.poll(() => asked().size).toBe(count);
}

async function expectResumable(service: HttpService, night: Night): Promise<void> {
  service.meet = answerHonestly;
  const at = signalAt(nthEvent('recovered'));
  expect(await night.with({ at }).run('--json').events('recovered')).toMatchObject([
    { inFlight: count, unanswered: 0 },
  ]);
  expect(service.inputs).toHaveLength(count);
}
