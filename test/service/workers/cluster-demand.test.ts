/**
 * Promise: a cluster runs as many workers as there are jobs, between min and max, and a working one is never
 * cancelled.
 */
import { expect, it } from 'vitest';
import { clusterChange, type ClusterDemand } from '../../../src/service/workers/cluster-pool.ts';
import { clusterSuffix, taskOfWorker, type ClusterTask } from '../../../src/service/workloads/workload-of.ts';

/** Parses tasks: `R0 W3 E1` means that place 0 runs, 3 waits, and 1 is about to end. */
function tasksIn(text: string): ClusterTask[] {
  const states = { R: 'running', W: 'waiting', E: 'ending' } as const;
  return text.split(' ').flatMap((word) => {
    const state = states[word[0] as 'R'];
    return word === '' ? [] : [{ id: word, place: Number(word.slice(1)), mark: '', state }];
  });
}

it.each<[string, string, Partial<ClusterDemand>, number[], string[]]>([
  ['nothing to do', '', {}, [], []],
  ['a job', '', { queued: 1 }, [0], []],
  ['a job for the one that idles', 'R0', { queued: 1 }, [], []],
  ['more jobs than workers may be', 'R1', { queued: 90, running: 1 }, [0, 2, 3], []],
  ['one that waits counts', 'W0 R1', { queued: 1, running: 1 }, [], []],
  ['one that is about to end counts, its place is taken', 'E0 R1', { queued: 9, running: 1 }, [2, 3], []],
  ['one that takes no more jobs', 'R0', { queued: 1, useless: new Set(['R0']) }, [1], []],
  [
    'one that takes no more jobs, and no place is left',
    'R0 R1 R2 R3',
    { queued: 9, useless: new Set(['R0']) },
    [],
    [],
  ],
  ['those that are kept', '', { min: 2 }, [0, 1], []],
  ['one that is kept is missing, and others do the jobs', 'R2 R3', { min: 1, running: 2 }, [], []],
  [
    'the queue is empty: what waits is cancelled, the last first',
    'W0 W1 R2 W3',
    { running: 1, min: 2 },
    [],
    ['W3', 'W1'],
  ],
  ['the queue is empty: those that run end by themselves', 'R0 R1 R2', {}, [], []],
])('%s', (_, tasks, demand, start, cancel) => {
  const none = { queued: 0, running: 0, min: 0, max: 4, useless: new Set<string>() };
  const change = clusterChange({ ...none, tasks: tasksIn(tasks), ...demand });
  expect([change.start, change.cancel.map(({ id }) => id)]).toEqual([start, cancel]);
});

it('the task of a worker is recognized by the name of the worker', () => {
  const env = { SLURM_ARRAY_JOB_ID: '71', SLURM_ARRAY_TASK_ID: '3' };
  expect(taskOfWorker(`box${clusterSuffix(env)}`)).toBe('71_3');
  const { SLURM_ARRAY_JOB_ID: job, SLURM_ARRAY_TASK_ID: task } = env;
  const others = [{}, { SLURM_ARRAY_JOB_ID: job }, { SLURM_ARRAY_TASK_ID: task }].map(clusterSuffix);
  expect([...others, taskOfWorker('box')]).toEqual(['', '', '', undefined]);
});
