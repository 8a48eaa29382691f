/** Endpoints and their workers in words. */
import type {
  CatalogueEntry,
  EndpointView,
  Overview,
  WorkerView,
  WorkloadForm,
} from '../../protocol/console-data.ts';
import { isSection } from './endpoint-draft.ts';
import { durationWords } from '../shared/number-words.ts';
import type { Tone } from '../shared/tone.ts';

type WorkerState = WorkerView['state'];

/** Worst first; `tone` is how it is shown beside its word. */
export const workerStates = {
  unhealthy: { tone: 'bad', word: 'down' },
  throttled: { tone: 'wait', word: 'held back' },
  initializing: { tone: 'wait', word: 'starting' },
  running: { tone: 'calm', word: 'busy' },
  idle: { tone: 'good', word: 'idle' },
} as const satisfies Record<WorkerState, { tone: Tone; word: string }>;

export function workerCounts(workers: WorkerView[]): [WorkerState, number][] {
  return (Object.keys(workerStates) as WorkerState[])
    .map((state): [WorkerState, number] => [state, workers.filter((worker) => worker.state === state).length])
    .filter(([, count]) => count > 0);
}

/** What became of the one in this place; null where there is nothing to be told. `now` is the service's. */
export function deathWords(
  { kind, state, lastDeath, startsAt, lastSeenAt }: WorkerView,
  now: number,
): string | null {
  const ago = (at: number): string => `${durationWords(Math.max(0, now - at))} ago`;
  if (kind === 'remote' && state === 'unhealthy') return `It last asked for a job ${ago(lastSeenAt)}.`;
  if (lastDeath === null) return null;
  const why = `${lastDeath.why}${/[.!?]$/.test(lastDeath.why) ? '' : '.'}`;
  if (state !== 'unhealthy') return `The worker before it ended ${ago(lastDeath.at)}: ${why}`;
  const next =
    startsAt === null || startsAt <= now
      ? 'now'
      : `in ${durationWords(Math.ceil((startsAt - now) / 1_000) * 1_000)}`;
  return `It ended ${ago(lastDeath.at)}: ${why} Another starts ${next}.`;
}

/** Where it was made, if not here. */
export function originWords({ origin }: EndpointView, { file }: Overview): string | null {
  if (origin === 'console') return null;
  return file === null ? 'default' : `from ${file}`;
}

/** The GPUs of the service's machine: `2 × NVIDIA H200 (141 GB)`. */
function machineWords(gpus: string[]): string {
  return [...new Set(gpus)]
    .map((gpu) => [gpus.filter((other) => other === gpu).length, gpu] as const)
    .map(([count, gpu]) => (count === 1 ? gpu : `${count} × ${gpu}`))
    .join(', ');
}

/** With what it means where there is none. */
export function machineSentence(gpus: string[]): string {
  if (gpus.length > 0) return `This machine has ${machineWords(gpus)}.`;
  return 'nvidia-smi finds no GPU on this machine: programs compute on its processors. Workers elsewhere bring their own.';
}

/** What a card of the catalogue needs. */
export function needsWords({ needs: { gpu, disk, pull } }: CatalogueEntry): string {
  return `Needs a GPU with ${gpu} GB and ${disk} GB of disk; pulls ${pull} GB.`;
}

/** What this machine lacks for a card; null where it has all, or it is not known. */
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

/** GB, as its words say; a GPU that is named without them is not one for containers. */
function memoryOf(gpu: string): number {
  return Number(/\((\d+) GB\)$/.exec(gpu)?.[1] ?? 0);
}

/** What its workers compute on; null where it is not known. */
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

/** How it stands, in a word or two. */
export function standing(
  endpoint: EndpointView,
  { isElsewhere }: WorkloadForm,
): { tone: Tone; word: string } {
  const { trouble, workers, settings, isPaused } = endpoint;
  if (isPaused) return { tone: 'wait', word: 'Paused' };
  if (trouble !== null) return { tone: 'bad', word: 'Error' };
  if (workers.some(({ state }) => state === 'running')) return { tone: 'calm', word: 'Working' };
  if (workers.some(({ state }) => state === 'idle')) return { tone: 'good', word: 'Ready' };
  if (workers.some(({ state }) => state === 'unhealthy')) return { tone: 'bad', word: 'No worker is up' };
  if (workers.length > 0) return { tone: 'wait', word: 'Starting' };
  if (isElsewhere) return { tone: 'wait', word: 'No worker yet' };
  return settings['quickStart'] === true
    ? { tone: 'wait', word: 'No worker' }
    : { tone: 'good', word: 'Asleep until a job comes' };
}
