/** A checked service.yaml: paths absolute, durations in ms, sizes in bytes. */
import type { EndpointSettings } from '../endpoint-settings.ts';

export interface ServiceSettings {
  /** An IP address or a name of this machine; loopback where nothing else is said. */
  host: string;
  /** 0 for a free one. */
  port: number;
  /** How long inputs and outputs are kept after their job has settled. */
  retentionMs: number;
  limits: ServiceLimits;
  /** Whether webhooks may lead to this machine and its network; null where the service is to judge by its host. */
  hasPrivateWebhooks: boolean | null;
  endpoints: EndpointSettings[];
}

export interface ServiceLimits {
  /** Of a submission; larger ones are answered with 400. */
  maxBodyBytes: number;
  /** Of what a worker hands in; larger ones fail their job in words. */
  maxResultBytes: number;
  /** Of one key; those beyond are answered with 429. */
  requestsPerSecond: number;
  /** Connections that are open at once. */
  maxConnections: number;
  /** A request that has not arrived by then is cut off. */
  requestTimeoutMs: number;
  /** Submissions that wait at an endpoint that says nothing of its own. */
  maxQueued: number;
  /** A worker that pulls and says nothing for so long has its job taken away. */
  silenceMs: number;
}
