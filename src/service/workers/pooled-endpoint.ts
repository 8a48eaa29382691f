/** What the workers of one endpoint work with: its jobs, its settings, and what is known of those that ask over the network. */
import type { EndpointSettings } from '../model/endpoint-settings.ts';
import type { JobStore } from '../jobs/job-store.ts';
import type { RemoteWorkers } from './remote-workers.ts';

export interface PooledEndpoint {
  store: JobStore;
  remote: RemoteWorkers;
  endpoint: Pick<EndpointSettings, 'id' | 'workers' | 'quickStart' | 'recycle'>;
  onProblem: (text: string) => void;
}
