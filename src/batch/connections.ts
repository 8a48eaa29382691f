/** Connections to the services of a batch: the configured service and the local one, each with its own key. */
import { plural, formatInstant } from '../lib/text/format.ts';
import { join } from 'node:path';
import { openCheckpointForReading, type JobsInFlight } from '../runner/checkpoint/open-checkpoint.ts';
import type { Connection } from '../runner/client/http-service.ts';
import type { Config } from '../runner/config/config.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { versionOfJobs, type Endpoint } from '../runner/core/attempt.ts';
import { didYouMean } from '../lib/text/closest.ts';
import { readBatch } from '../runner/checkpoint/batch-identity.ts';
import { configuredArguments } from './shown-path.ts';
import type { LocalService } from './local-service.ts';

export interface Connections {
  of: (endpoint: Endpoint) => Connection;
  /**
   * Tells the local service to delete a job whose pictures are saved and recorded. Other services keep their
   * jobs.
   */
  collected(jobId: string): void;
  close(): Promise<void>;
}

/** Opens the connections. Starts the local service if it has one of the endpoints. */
export async function connect(
  config: Config,
  endpoints: Endpoint[],
  localService: LocalService,
  warn: (text: string) => void,
): Promise<Connections> {
  const local = endpoints.filter(({ baseUrl }) => baseUrl === 'local');
  const ids = [...new Set(local.map(({ id }) => id))];
  const dataDir = join(config.output.dir, 'local-service');
  const service =
    ids.length > 0 ? await localService.start({ dataDir, endpointIds: ids, onProblem: warn }) : undefined;
  return {
    of: ({ baseUrl }) => {
      if (baseUrl === 'local' && service !== undefined) return service;
      if (baseUrl !== config.endpoint.baseUrl)
        throw new Error(`the key of ${config.endpoint.baseUrl} would go to ${baseUrl}`);
      return { url: baseUrl, apiKey: config.apiKey ?? '' };
    },
    collected: (jobId) => service?.collected(jobId),
    close: async () => service?.close(),
  };
}

/**
 * Throws `ConfigError` if jobs are in flight at another service, because the key belongs to
 * `endpoint.baseUrl` and must not be sent elsewhere. Jobs of the local service are always collected with its
 * own key. `file` is the path of pipeline.yaml as given.
 */
export function assertCollectable(file: string, config: Config, inFlight: JobsInFlight[]): void {
  const urls = new Set(inFlight.map(({ endpoint }) => endpoint.baseUrl));
  const problems = [...urls]
    .filter((url) => url !== 'local' && url !== config.endpoint.baseUrl)
    .map((url) => ({
      where: config.placeOf(['endpoint', 'baseUrl']),
      text: elsewhereText(
        configuredArguments(file, config),
        url,
        inFlight.filter(({ endpoint }) => endpoint.baseUrl === url),
      ),
    }));
  const other = inFlight.find(({ endpoint }) => !isSpoken(config, endpoint));
  if (problems.length === 0 && other !== undefined) {
    const where = config.placeOf(['endpoint', 'speaks']);
    const { version } = other.endpoint;
    const text = `${plural(other.jobs, 'job is', 'jobs are')} still in flight at ${other.endpoint.baseUrl}, whose interface was ${version}; set endpoint.speaks back to it and run once to collect them`;
    problems.push({ where, text });
  }
  if (problems.length > 0) throw new ConfigError(problems);
}

/** True if this configuration can poll the job. Jobs of job services can always be polled. */
function isSpoken({ endpoint }: Config, sent: Endpoint): boolean {
  return versionOfJobs(sent) !== undefined || sent.version === endpoint.version;
}

function elsewhereText(batch: string, url: string, inFlight: JobsInFlight[]): string {
  const jobs = inFlight.reduce((sum, each) => sum + each.jobs, 0);
  const since = formatInstant(Math.min(...inFlight.map(({ oldestAt }) => oldestAt)));
  return [
    `${plural(jobs, 'job is', 'jobs are')} still in flight at ${url}, the oldest since ${since}, and this run's key must not be sent there.`,
    `Set endpoint.baseUrl back to ${url} and run once to collect them (results are kept for a while, often for no more than 30 minutes),`,
    `or give them up with \`nightrender retry ${batch} --elsewhere\`: their scenes are rendered again at the address in the file, and the old jobs may still be billed`,
  ].join(' ');
}

/** Endpoints of the local service, which renders both. */
const localIds = ['scene-renderer', 'painter'];

/**
 * Throws `ConfigError` for an `endpoint.id` that the local service does not have. A batch that began with
 * such an id, which earlier versions allowed, goes on. `checkpointDir` is the folder of the checkpoint or of
 * a copy.
 */
export function assertLocalEndpoint(config: Config, checkpointDir: string): void {
  const { baseUrl, id } = config.endpoint;
  if (baseUrl !== 'local' || localIds.includes(id) || hasBegunWith(config.endpoint, checkpointDir)) return;
  const meant = didYouMean(id, localIds);
  const text = `endpoint.id is ${JSON.stringify(id)}, but the local service has only ${localIds.join(' and ')}${meant === undefined ? '' : `; ${meant}`}`;
  throw new ConfigError([{ where: config.placeOf(['endpoint', 'id']), text }]);
}

function hasBegunWith({ baseUrl, id }: Endpoint, checkpointDir: string): boolean {
  const db = openCheckpointForReading(checkpointDir);
  try {
    const known = db && readBatch(db)?.endpoint;
    return known?.baseUrl === baseUrl && known.id === id;
  } finally {
    db?.close();
  }
}
