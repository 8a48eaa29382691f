/** Texts about endpoints, their workers and their jobs. */
import type {
  CatalogueEntry,
  EndpointView,
  JobRow,
  Overview,
  WorkerView,
  WorkloadForm,
} from '../../protocol/console-data.ts';
import type { Tone } from '../shared/facts.tsx';
import { durationWords } from '../shared/number-words.ts';
import { isSection } from './endpoint-draft.ts';

type WorkerState = WorkerView['state'];

/** Worker states, worst first. `tone`: colour and shape of the mark. */
export const workerStates = {
  unhealthy: { tone: 'bad', word: 'down' },
  throttled: { tone: 'wait', word: 'throttled' },
  initializing: { tone: 'wait', word: 'starting' },
  running: { tone: 'calm', word: 'busy' },
  idle: { tone: 'good', word: 'idle' },
} as const satisfies Record<WorkerState, { tone: Tone; word: string }>;

export function workerCounts(workers: WorkerView[]): [WorkerState, number][] {
  return (Object.keys(workerStates) as WorkerState[])
    .map((state): [WorkerState, number] => [state, workers.filter((worker) => worker.state === state).length])
    .filter(([, count]) => count > 0);
}

/** Explains how the last worker in this slot ended; null if there is nothing. `now`: the service's clock. */
export function workerEndWords(
  { kind, state, lastDeath, startsAt, lastSeenAt }: WorkerView,
  now: number,
): string | null {
  const ago = (at: number): string => `${durationWords(Math.max(0, now - at))} ago`;
  if (kind === 'remote' && state === 'unhealthy') return `It last asked for a job ${ago(lastSeenAt)}.`;
  if (lastDeath === null) return null;
  const why = `${lastDeath.why}${/[.!?]$/.test(lastDeath.why) ? '' : '.'}`;
  if (state !== 'unhealthy') return `The previous worker ended ${ago(lastDeath.at)}: ${why}`;
  const next =
    startsAt === null || startsAt <= now
      ? 'now'
      : `in ${durationWords(Math.ceil((startsAt - now) / 1_000) * 1_000)}`;
  return `It ended ${ago(lastDeath.at)}: ${why} Another starts ${next}.`;
}

/** GPUs of the service's machine, such as `2 × NVIDIA H200 (141 GB)`. */
function machineWords(gpus: string[]): string {
  return [...new Set(gpus)]
    .map((gpu) => [gpus.filter((other) => other === gpu).length, gpu] as const)
    .map(([count, gpu]) => (count === 1 ? gpu : `${count} × ${gpu}`))
    .join(', ');
}

/** Sentence about the GPUs, or about what it means that there are none. */
export function machineSentence(gpus: string[]): string {
  if (gpus.length > 0) return `This machine has ${machineWords(gpus)}.`;
  return 'nvidia-smi finds no GPU on this machine: programs compute on its processors. Workers elsewhere bring their own.';
}

/** Says which requirements of a card this machine lacks; null if none, or if it is unknown. */
export function entryLack({ runs, needs }: CatalogueEntry, { gpus, containerLack }: Overview): string | null {
  if (!('image' in runs)) return null;
  const lacks = [
    ...(containerLack === null ? [] : ['docker or podman, which cannot be run on this machine']),
    ...(gpus === null || gpus.some((gpu) => memoryOf(gpu) >= needs.gpu)
      ? []
      : [
          `a GPU with ${needs.gpu} GB, and this machine has ${gpus.length === 0 ? 'none' : machineWords(gpus)}`,
        ]),
  ];
  return lacks.length === 0 ? null : `Needs ${lacks.join('; and ')}.`;
}

/** Memory in GB by the GPU's name. 0 if unknown, which suits no container. */
function memoryOf(gpu: string): number {
  return Number(/\((\d+) GB\)$/.exec(gpu)?.[1] ?? 0);
}

/** GPU of the endpoint's workers; null if unknown. */
export function gpuWords(
  { settings: { gpu } }: EndpointView,
  workload: WorkloadForm,
  { gpus }: Overview,
): string | null {
  if (typeof gpu === 'string') return `GPU ${gpu}`;
  if (isSection(gpu) && Array.isArray(gpu['devices']))
    return `GPU ${gpu['devices'].length === 1 ? 'device' : 'devices'} ${gpu['devices'].join(', ')}`;
  if (workload.gpu !== 'machine' || gpus === null) return workload.gpu === 'machine' ? null : workload.gpu;
  return gpus.length === 0 ? 'no GPU found' : machineWords(gpus);
}

export function endpointState(
  endpoint: EndpointView,
  { isElsewhere }: WorkloadForm,
): { tone: Tone; word: string } {
  const { trouble, workers, settings, isPaused, isFailing } = endpoint;
  if (isPaused) return { tone: 'wait', word: 'Paused' };
  if (trouble !== null) return { tone: 'bad', word: 'Error' };
  if (isFailing) return { tone: 'bad', word: 'The last jobs failed' };
  if (workers.some(({ state }) => state === 'running')) return { tone: 'calm', word: 'Working' };
  if (workers.some(({ state }) => state === 'idle')) return { tone: 'good', word: 'Ready' };
  if (workers.some(({ state }) => state === 'unhealthy')) return { tone: 'bad', word: 'No worker is up' };
  if (workers.length > 0) return { tone: 'wait', word: 'Starting' };
  if (isElsewhere) return { tone: 'wait', word: 'No worker yet' };
  return settings['quickStart'] === true
    ? { tone: 'wait', word: 'No worker' }
    : { tone: 'good', word: 'Asleep until a job comes' };
}

const statuses: Record<string, { word: string; tone: Tone }> = {
  IN_QUEUE: { word: 'In the queue', tone: 'wait' },
  IN_PROGRESS: { word: 'In progress', tone: 'calm' },
  COMPLETED: { word: 'Completed', tone: 'good' },
  FAILED: { word: 'Failed', tone: 'bad' },
  CANCELLED: { word: 'Cancelled', tone: 'wait' },
  TIMED_OUT: { word: 'Timed out', tone: 'bad' },
};

export const statusNames = Object.keys(statuses);

export function statusWords(status: string): { word: string; tone: Tone } {
  return statuses[status] ?? { word: status, tone: 'wait' };
}

/** Time that a job waited for a worker, or has waited so far. `now`: the service's clock. */
export function delayWords({ delayTime, acceptedAt, startedAt, endedAt }: JobRow, now: number): string {
  const ms = delayTime ?? (startedAt ?? endedAt ?? now) - acceptedAt;
  return durationWords(Math.max(0, ms));
}

/** Text such as `took 3.4 s`, or for how long the job has been running. Null if it has not started. */
export function executionWords({ executionTime, startedAt, endedAt }: JobRow, now: number): string | null {
  if (executionTime !== null) return `took ${durationWords(executionTime)}`;
  if (startedAt === null) return null;
  const words = durationWords(Math.max(0, (endedAt ?? now) - startedAt));
  return endedAt === null ? `running for ${words}` : `took ${words}`;
}
