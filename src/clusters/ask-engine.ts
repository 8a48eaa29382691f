/** Asks the engines through their own programs: sbatch, squeue and sacct; kubectl. */
import { spawnSync } from 'node:child_process';
import type { JobList } from 'kubernetes-types/batch/v1.d.ts';
import { ConfigError } from '../lib/yaml/problem.ts';

/** Submits a script and returns the id of the job. Throws `ConfigError` if Slurm refuses it. */
export function submitScript(script: string): string {
  const [id = ''] = ask('sbatch', ['--parsable'], script).trim().split(';');
  return id;
}

export interface ClusterTask {
  id: string;
  /** State in the engine's words. */
  state: string;
  /** 128 and more for the signal that killed the task, as shells have it. Undefined if it has not ended, or no code is known. */
  exitCode: number | undefined;
  /** Its node and running time, or why it waits. */
  details: string[];
}

/** Returns tasks from squeue, and those of the last week from sacct, if the cluster keeps accounts. */
export function slurmTasks(name: string): ClusterTask[] {
  const live = ask('squeue', ['--noheader', '--array', '--states=all', `--name=${name}`, '-O', squeueFields]);
  const tasks = live.split('\n').flatMap((line) => taskIn(squeueColumns(line)));
  const known = new Set(tasks.map(({ id }) => id));
  const past = ask('sacct', [...sacctOptions, `--name=${name}`], '', true);
  const ended = past.split('\n').flatMap((line) => taskIn(line.split('|')));
  return [...ended.filter(({ id }) => !known.has(id) && !id.includes('[')), ...tasks];
}

const width = 60;
const squeueFields = ['JobArrayID', 'State', 'exit_code', 'TimeUsed', 'NodeList', 'Reason']
  .map((field) => `${field}:${width}`)
  .join(',');
const sacctOptions = [
  '--allocations',
  '--noheader',
  '--parsable2',
  '--starttime=now-7days',
  '--format=JobID,State,ExitCode,Elapsed,NodeList,Reason',
];

function squeueColumns(line: string): string[] {
  return Array.from({ length: 6 }, (_, i) => line.slice(i * width, (i + 1) * width).trim());
}

function taskIn([
  id = '',
  state = '',
  exit = '',
  time = '',
  node = '',
  reason = '',
]: string[]): ClusterTask[] {
  if (id === '') return [];
  const isOver = !/^(PENDING|RUNNING|COMPLETING|CONFIGURING|SUSPENDED|REQUEUED)/.test(state);
  // squeue returns a wait status, sacct `code:signal`.
  const status = Number(exit);
  const [code = 0, signal = 0] = exit.includes(':')
    ? exit.split(':').map(Number)
    : [status >> 8, status & 127];
  const details = [node, time, reason].filter((text) => text !== '' && text !== 'None' && text !== '0:00');
  return [{ id, state, exitCode: isOver ? code || (signal && 128 + signal) : undefined, details }];
}

/** Returns the Jobs of a batch in kubectl's current namespace. */
export function kubernetesJobs(batch: string): ClusterTask[] {
  const selector = `app.kubernetes.io/name=nightrender,app.kubernetes.io/instance=${batch}`;
  const json = ask('kubectl', [
    'get',
    'jobs',
    `--selector=${selector}`,
    '--output=json',
    '--request-timeout=20s',
  ]);
  const { items } = JSON.parse(json) as JobList;
  return items.map(({ metadata, spec, status }) => {
    const { active = 0, succeeded = 0, failedIndexes, conditions = [] } = status ?? {};
    const ended = conditions.find(
      ({ type, status: is }) => /^(Complete|Failed)$/.test(type) && is === 'True',
    );
    const counts = `${active} at work, ${succeeded} of ${spec?.completions ?? 0} complete`;
    const failed = failedIndexes === undefined ? [] : [`failed: ${failedIndexes}`];
    const details = [counts, ...failed, ...(ended?.message === undefined ? [] : [ended.message])];
    return { id: metadata?.name ?? '', state: ended?.type ?? 'Running', exitCode: undefined, details };
  });
}

/** Runs a program and returns its output; '' if it fails and `mayFail`, else throws `ConfigError`. */
function ask(program: string, args: string[], input = '', mayFail = false): string {
  const { status, error, stdout, stderr } = spawnSync(program, args, {
    input,
    encoding: 'utf8',
    maxBuffer: 64_000_000,
    timeout: 60_000,
  });
  if (error === undefined && status === 0) return stdout;
  if (mayFail) return '';
  const isSlow = error !== undefined && 'code' in error && error.code === 'ETIMEDOUT';
  const isMissing = error !== undefined && 'code' in error && error.code === 'ENOENT';
  const text = isMissing
    ? 'this program does not exist here; submit from a machine of the cluster that has it'
    : isSlow
      ? 'it did not answer for a minute, and may have submitted the job; check with `nightrender submit … --status` before you submit again'
      : (stderr ?? '').trim() || (error?.message ?? `it ended with ${String(status)}`);
  throw new ConfigError([{ where: program, text }]);
}
