/** The local service within this process, for `baseUrl: local`. */
import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { endpointSettings } from '../service/endpoint-settings.ts';
import { startService } from '../service/start-service.ts';
import { painterWorkload } from './workload-of.ts';

export interface LocalService {
  url: string;
  apiKey: string;
  close(): Promise<void>;
}

/** Its jobs live in the batch's folder, so that they survive a kill as jobs at a real service do. */
export async function startLocalService(
  dir: string,
  endpointIds: string[],
  onTrouble: (text: string) => void,
): Promise<LocalService> {
  const apiKey = randomBytes(24).toString('hex');
  const service = await startService({
    dataDir: join(dir, 'local-service'),
    keys: [apiKey],
    endpoints: endpointIds.map((id) => endpointSettings({ id, workers: availableParallelism() })),
    workloadOf: () => painterWorkload,
    onTrouble,
  });
  return { url: service.url, apiKey, close: () => service.close() };
}
