/** The local service within the test, whose worker begins to paint when the test lets it. */
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { endpointSettings } from '../../src/service/endpoint-settings.ts';
import { painterWorkload } from '../../src/commands/workload-of.ts';
import { startService } from '../../src/service/start-service.ts';
import { folderWith, testKey } from './cli.ts';

export interface HeldService {
  url: string;
  dataDir: string;
  /** From now on jobs are painted as they come. */
  release(): void;
}

export async function startHeldService(): Promise<HeldService> {
  const dataDir = join(folderWith({}), 'service');
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const service = await startService({
    dataDir,
    keys: [testKey],
    endpoints: [endpointSettings({ id: 'scene-renderer', workers: 2 })],
    workloadOf: () => ({
      name: 'painter that waits',
      startWorker: async (context) => {
        const painter = await painterWorkload.startWorker(context);
        return { ...painter, run: (job, report) => released.then(() => painter.run(job, report)) };
      },
    }),
  });
  onTestFinished(() => {
    release();
    return service.close();
  });
  return { url: service.url, dataDir, release };
}
