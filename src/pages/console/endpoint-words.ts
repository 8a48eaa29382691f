/** Endpoints and their workers in words. */
import type { EndpointForm, EndpointView, WorkerView } from '../console-data.ts';

export type Mood = 'good' | 'wait' | 'bad' | 'calm';

type WorkerState = WorkerView['state'];

/** Worst first; `mood` is how it is shown beside its word. */
export const workerStates = {
  unhealthy: { mood: 'bad', means: 'died or does not start' },
  throttled: { mood: 'wait', means: 'has to wait before it is started again' },
  initializing: { mood: 'wait', means: 'is being started' },
  running: { mood: 'calm', means: 'at a job' },
  idle: { mood: 'good', means: 'ready for a job' },
} as const satisfies Record<WorkerState, { mood: Mood; means: string }>;

export function workerCounts(workers: WorkerView[]): [WorkerState, number][] {
  return (Object.keys(workerStates) as WorkerState[])
    .map((state): [WorkerState, number] => [state, workers.filter((worker) => worker.state === state).length])
    .filter(([, count]) => count > 0);
}

export function workloadWords({ workload }: EndpointForm): string {
  switch (workload.kind) {
    case 'prebuilt':
      return `Quick deploy: ${workload.name}`;
    case 'image':
      return `Image ${workload.image}`;
    case 'command':
      return `Command ${workload.command.join(' ')}`;
    case 'module':
      return `Module ${workload.path}`;
    case 'remote':
      return 'Workers elsewhere';
  }
}

export function gpuWords({ gpu }: EndpointForm): string {
  if (gpu === null) return 'no GPU';
  if ('label' in gpu) return `GPU ${gpu.label}`;
  return `GPU ${gpu.devices.length === 1 ? 'device' : 'devices'} ${gpu.devices.join(', ')}`;
}

/** How it stands, in a word or two. */
export function standing({ trouble, workers, settings }: EndpointView): { mood: Mood; word: string } {
  if (trouble !== null) return { mood: 'bad', word: 'Trouble' };
  if (workers.some(({ state }) => state === 'running')) return { mood: 'calm', word: 'Working' };
  if (workers.some(({ state }) => state === 'idle')) return { mood: 'good', word: 'Ready' };
  if (workers.some(({ state }) => state === 'unhealthy')) return { mood: 'bad', word: 'Unhealthy' };
  if (workers.length > 0) return { mood: 'wait', word: 'Starting' };
  if (settings.workload.kind === 'remote') return { mood: 'wait', word: 'No worker yet' };
  return settings.quickStart
    ? { mood: 'wait', word: 'No worker' }
    : { mood: 'good', word: 'Asleep until a job comes' };
}
