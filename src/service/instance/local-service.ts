/** Service that a batch starts for itself if it has no other. It renders scenes in threads of the batch's process. */
import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { endpointSettings } from '../model/endpoint-settings.ts';
import { rendererPath } from '../workloads/module-workload.ts';
import { threadWorkload } from '../workloads/thread-workload.ts';

/** Renders scenes in threads of this process. An invalid input fails its job with the reason. */
export const localWorkload = threadWorkload('scene-renderer', rendererPath);

/** Maximum number of rendering threads. Each has its own memory: 2,048 × 2,048 pixels take up to 120 MB. */
const maxThreads = 8;

interface LocalStart {
  dataDir: string;
  endpointIds: string[];
  onProblem: (text: string) => void;
}

/** Loads the code of the service only when it is needed, because most commands on a batch start no service. */
export const localService = {
  /** Starts the service on loopback. Its jobs are stored in the batch's folder, so they survive a killed batch. */
  start: async ({ dataDir, endpointIds, onProblem }: LocalStart) => {
    const { startService } = await import('./start-service.ts');
    const apiKey = randomBytes(24).toString('hex');
    const service = await startService({
      dataDir,
      keys: [apiKey],
      endpoints: endpointIds.map((id) =>
        endpointSettings({ id, workers: Math.min(availableParallelism(), maxThreads) }),
      ),
      workloadOf: () => localWorkload,
      onProblem,
    });
    const deletions = new Set<Promise<void>>();
    return {
      url: service.url,
      apiKey,
      collected: (jobId: string): void => {
        // A job that cannot be deleted now, for example on a failing disk, is deleted after its retention.
        const deletion = service.deleteJob(jobId).catch(() => undefined);
        deletions.add(deletion);
        void deletion.then(() => deletions.delete(deletion));
      },
      close: async (): Promise<void> => {
        await Promise.all(deletions);
        await service.close();
      },
    };
  },
  /** Throws `UnusableDatabase` if the service could not use this copy of its database. */
  assertDatabase: async (file: string): Promise<void> => {
    const { assertJobDatabase } = await import('./start-service.ts');
    assertJobDatabase(file);
  },
};
