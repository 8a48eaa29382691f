/** Parts that an endpoint's pool of workers uses: job store, settings, and the workers that take jobs. */
import type { EndpointSettings } from '../model/endpoint-settings.ts';
import type { JobStore } from '../jobs/job-store.ts';
import type { RemoteWorkers } from './remote-workers.ts';

export interface PooledEndpoint {
  store: JobStore;
  remote: RemoteWorkers;
  endpoint: Pick<EndpointSettings, 'id' | 'workers' | 'quickStart' | 'recycle'>;
  onProblem: (text: string) => void;
}
