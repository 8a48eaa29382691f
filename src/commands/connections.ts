/** Where jobs are sent and asked for: the configured service, the one of jobs still in flight, the local one. */
import type { Connection } from '../client/http-render-service.ts';
import type { Config } from '../config/config.ts';
import { ConfigError } from '../config/problem.ts';
import type { Endpoint, SubmittedAttempt } from '../core/attempt.ts';
import { startLocalService } from './local-service.ts';

export interface Connections {
  of: (endpoint: Endpoint) => Connection;
  close(): Promise<void>;
}

/** Starts the local service where it is wanted or still has jobs; polls go where a job was sent, whatever the file says today. */
export async function connect(
  config: Config,
  inFlight: SubmittedAttempt[],
  warn: (text: string) => void,
): Promise<Connections> {
  const endpoints = [config.endpoint, ...inFlight.map(({ endpoint }) => endpoint)];
  const localIds = new Set(endpoints.filter(({ baseUrl }) => baseUrl === 'local').map(({ id }) => id));
  const elsewhere = inFlight.filter(({ endpoint }) => endpoint.baseUrl !== config.endpoint.baseUrl);
  const apiKey = config.apiKey ?? process.env['NIGHTRENDER_API_KEY'] ?? '';
  for (const url of new Set(elsewhere.map(({ endpoint }) => endpoint.baseUrl))) {
    if (url !== 'local') assertCollectable(url, apiKey, config, warn);
  }
  const local =
    localIds.size > 0 ? await startLocalService(config.output.dir, [...localIds], warn) : undefined;
  return {
    of: ({ baseUrl }) => (baseUrl === 'local' && local !== undefined ? local : { url: baseUrl, apiKey }),
    close: async () => local?.close(),
  };
}

function assertCollectable(url: string, apiKey: string, config: Config, warn: (text: string) => void): void {
  if (apiKey === '') {
    const text = `jobs are still in flight at ${url}, and there is no key to collect them with; set NIGHTRENDER_API_KEY for this run`;
    throw new ConfigError([{ where: config.placeOf(['endpoint']), text }]);
  }
  warn(`jobs are still in flight at ${url}: they are collected there, with the key of this run`);
}
