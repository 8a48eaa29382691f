/** Runs the local service within the test. Its worker draws only when the test allows it. */
import { localWorkload } from '../../src/service/instance/local-service.ts';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { endpointSettings } from '../../src/service/model/endpoint-settings.ts';
import { startService } from '../../src/service/instance/start-service.ts';
import { folderWith, testKey } from './cli.ts';

export interface HeldService {
  url: string;
  dataDir: string;
  /** Allows this many further jobs to be drawn, or all jobs if no number is given. */
  release(jobs?: number): void;
}

export async function startHeldService(): Promise<HeldService> {
  const dataDir = join(folderWith({}), 'service');
  let released = 0;
  const held: (() => void)[] = [];
  const release = (jobs = Infinity): void => {
    released += jobs;
    const begun = held.splice(0, released);
    released -= begun.length;
    for (const draw of begun) draw();
  };
  const turn = (): Promise<void> =>
    new Promise((resolve) => {
      held.push(resolve);
      if (released > 0) release(0);
    });
  const service = await startService({
    dataDir,
    keys: [testKey],
    endpoints: [endpointSettings({ id: 'scene-renderer', workers: 2 })],
    workloadOf: () => ({
      name: 'renderer that waits',
      startWorker: async (context) => {
        const worker = await localWorkload.startWorker(context);
        const run: typeof worker.run = (job, report) => turn().then(() => worker.run(job, report));
        return { run, ended: worker.ended, stop: () => worker.stop() };
      },
    }),
  });
  onTestFinished(() => {
    release();
    return service.close();
  });
  return { url: service.url, dataDir, release };
}
