/** What a service is started with, checked before anything is touched. */
import { defaultRetentionMs, maxRequestBytes } from '../wire/messages.ts';
import type { EndpointSettings } from './worker-pool.ts';

export interface ServiceOptions {
  /** The folder of the service's files; made where it is missing, for its owner only. */
  dataDir: string;
  /** Loopback only: 127.0.0.1 by default. */
  host?: string;
  /** 0, the default: a free one. */
  port?: number;
  /** The bearer keys that are accepted, at least one. */
  keys: string[];
  endpoints: EndpointSettings[];
  /** How long inputs and outputs are kept after their job has settled. */
  retentionMs?: number;
  /** The largest body of a submission. */
  maxRequestBytes?: number;
  /** Wall clock, epoch ms. */
  now?: () => number;
  /** Told in words of what goes wrong at the service itself. */
  onTrouble?: (text: string) => void;
}

/** Throws, with what is wrong in words, for options that no service can be started with. */
export function checkServiceOptions(options: ServiceOptions): Required<ServiceOptions> {
  const checked = {
    host: '127.0.0.1',
    port: 0,
    retentionMs: defaultRetentionMs,
    maxRequestBytes,
    now: Date.now,
    onTrouble: () => undefined,
    ...options,
  };
  if (!isLoopback(checked.host))
    throw new Error(`the service listens on loopback addresses only, and ${checked.host} is none`);
  assertLimit('retentionMs', checked.retentionMs);
  assertLimit('maxRequestBytes', checked.maxRequestBytes);
  assertKeys(checked.keys);
  assertEndpoints(checked.endpoints);
  return checked;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

function assertLimit(name: string, value: number): void {
  if (!Number.isSafeInteger(value) || value < 1)
    throw new Error(`${name} is ${value}, but must be a whole number above 0`);
}

/** The keys themselves never stand in an error. */
function assertKeys(keys: readonly string[]): void {
  if (keys.length === 0) throw new Error('the service needs at least one key');
  if (!keys.every((key) => /^[\x21-\x7e]+$/.test(key)))
    throw new Error('a key is empty or holds characters that a header cannot carry');
}

function assertEndpoints(endpoints: readonly EndpointSettings[]): void {
  const ids = endpoints.map(({ id }) => id);
  if (ids.includes('')) throw new Error('an endpoint has an empty id');
  const repeated = ids.find((id, index) => ids.indexOf(id) !== index);
  if (repeated !== undefined) throw new Error(`two endpoints have the id ${repeated}`);
  for (const { id, workers } of endpoints) {
    if (!Number.isSafeInteger(workers) || workers < 0)
      throw new Error(`endpoint ${id} has ${workers} workers, but must have a whole number of them`);
  }
}
