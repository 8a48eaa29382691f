/** What has Slurm run the workers of an endpoint: `nightrender work`, with a key that stands in its environment alone. */
import { createHash } from 'node:crypto';
import { cancelWaitingWorkers, slurmWorkers, startSlurmWorkers } from '../../clusters/slurm-workers.ts';
import { packageFile } from '../../lib/files/package-file.ts';
import { shellWord } from '../../lib/text/format.ts';
import type { EndpointSettings, WorkloadSettings } from '../endpoint-settings.ts';
import type { ClusterWorkload } from '../pool/cluster-workload.ts';
import type { WorkloadContext } from '../service-options.ts';

/** Of the service's own environment; what else is in it stays here. */
const passedOn = 'PATH HOME USER LOGNAME LANG LC_ALL TZ SLURM_CONF NODE_EXTRA_CA_CERTS'.split(' ');

/** By these Slurm says which GPUs a job has. */
const gpuVariables = ['CUDA_VISIBLE_DEVICES', 'ROCR_VISIBLE_DEVICES', 'ZE_AFFINITY_MASK'];

export function slurmWorkload(
  settings: EndpointSettings,
  { slurm: options, folder }: NonNullable<EndpointSettings['on']>,
  { url, workerKey }: WorkloadContext,
): ClusterWorkload {
  const { id, workload, environment, idleMs, minWorkers, recycle, executionTimeoutMs } = settings;
  const mark = createHash('sha256').update(workerKey).digest('hex').slice(0, 8);
  const name = `nightrender-${id.slice(0, 40)}-${mark}`;
  const kept = Object.fromEntries(
    passedOn.flatMap((key) => (process.env[key] === undefined ? [] : [[key, process.env[key]]])),
  ) as Record<string, string>;
  const variables = [...gpuVariables, ...Object.keys(environment)].join(',');
  const workers = {
    name,
    folder: workload.kind === 'command' ? (workload.cwd ?? folder) : folder,
    command: [
      process.execPath,
      packageFile('dist/nightrender.cjs'),
      'work',
      url,
      `--endpoint=${id}`,
      `--allow=${allowed(workload)}`,
      `--env=${variables}`,
      ...(url.startsWith('http:') ? ['--insecure'] : []),
      ...(recycle.jobs === null ? [] : ['--recycle', String(recycle.jobs)]),
    ],
    idleArguments: ['--idle', `${Math.ceil(idleMs / 1_000)}s`],
    kept: minWorkers,
    graceMs: Math.min(executionTimeoutMs, maxGraceMs),
    environment: {
      ...kept,
      ...environment,
      NIGHTRENDER_WORKER_KEY: workerKey,
    },
    options,
  };
  return {
    name: 'Slurm',
    tasks: () => slurmWorkers(name, kept),
    startWorkers: (places, intent) => startSlurmWorkers(workers, places, intent),
    cancelWaiting: (ids) => cancelWaitingWorkers(ids, kept),
  };
}

const maxGraceMs = 600_000;

function allowed(workload: WorkloadSettings): string {
  if (workload.kind === 'prebuilt') return workload.name === 'painter' ? 'painter' : 'scene';
  // A comma before a word such as `scene` would begin another that is allowed.
  if (workload.kind === 'command')
    return `command:${workload.command.map((word) => shellWord(word).replaceAll(',', "','")).join(' ')}`;
  throw new Error(`Slurm cannot run ${workload.kind}`);
}
