/** Endpoints that are changed while workers wait at them. */
import { expect, it, onTestFinished } from 'vitest';
import { endpointSettings } from '../../src/service/endpoint-settings.ts';
import { Endpoints } from '../../src/service/endpoints.ts';
import { JobResults } from '../../src/service/jobs/job-results.ts';
import { openStore } from './service-harness.ts';

it('has whoever waited at an endpoint find the changed one as he asks anew', async () => {
  const store = await openStore();
  const results = new JobResults(store, 1e6);
  const endpoints = new Endpoints({
    store,
    results,
    given: [],
    workloadOf: () => undefined,
    silenceMs: undefined,
    onProblem: () => undefined,
  });
  onTestFinished(async () => {
    await endpoints.stop();
    store.close();
  });
  const before = endpointSettings({ id: 'farm', workers: 0, workload: { kind: 'remote' }, retries: 0 });
  await endpoints.add(before);
  const found: unknown[] = [];
  onTestFinished(
    store.signals.on('queued farm', () => {
      const endpoint = endpoints.find('farm');
      found.push([endpoint?.settings.retries, endpoint?.remote.isStopped]);
    }),
  );
  await endpoints.change('farm', { ...before, retries: 5 });
  expect(found).toEqual([[5, false]]);
});
