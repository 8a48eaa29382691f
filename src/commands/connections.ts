/** Where jobs are sent and asked for: the configured service, the ones of jobs still in flight, the local one. */
import type { Connection } from '../client/http-render-service.ts';
import type { Config } from '../config/config.ts';
import { ConfigError } from '../config/problem.ts';
import type { Endpoint } from '../core/attempt.ts';
import { startLocalService } from './local-service.ts';

export interface Connections {
  of: (endpoint: Endpoint) => Connection;
  close(): Promise<void>;
}

/** Starts the local service where it is wanted or still has jobs; polls go where a job was sent, whatever the file says today. */
export async function connect(
  config: Config,
  inFlight: Endpoint[],
  warn: (text: string) => void,
): Promise<Connections> {
  for (const url of elsewhere(config, inFlight)) {
    warn(`jobs are still in flight at ${url}: they are collected there, with the key of this run`);
  }
  const local = [config.endpoint, ...inFlight].filter(({ baseUrl }) => baseUrl === 'local');
  const ids = [...new Set(local.map(({ id }) => id))];
  const service = ids.length > 0 ? await startLocalService(config.output.dir, ids, warn) : undefined;
  const apiKey = keyOf(config);
  return {
    of: ({ baseUrl }) => (baseUrl === 'local' && service !== undefined ? service : { url: baseUrl, apiKey }),
    close: async () => service?.close(),
  };
}

/** Throws `ConfigError` where jobs are in flight that this run has no key to collect with. */
export function assertCollectable(config: Config, inFlight: Endpoint[]): void {
  const [url] = elsewhere(config, inFlight);
  if (url === undefined || keyOf(config) !== '') return;
  const text = `jobs are still in flight at ${url}, and there is no key to collect them with; set NIGHTRENDER_API_KEY for this run`;
  throw new ConfigError([{ where: config.placeOf(['endpoint']), text }]);
}

function elsewhere(config: Config, inFlight: Endpoint[]): Set<string> {
  const urls = inFlight.map(({ baseUrl }) => baseUrl);
  return new Set(urls.filter((url) => url !== 'local' && url !== config.endpoint.baseUrl));
}

function keyOf(config: Config): string {
  return config.apiKey ?? process.env['NIGHTRENDER_API_KEY'] ?? '';
}
