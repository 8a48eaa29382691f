/** Workers of a service as Slurm jobs: a job array with one worker per task, whose index is the worker's place. */
import { spawn } from 'node:child_process';
import { shellWord } from '../lib/text/format.ts';
import { optionWord } from './slurm-script.ts';

export interface SlurmWorkers {
  /** Name of the jobs, which no other service may have. */
  name: string;
  /** Absolute folder in which workers start and write logs. */
  folder: string;
  command: string[];
  /** Arguments for workers that are not kept, after which they end when idle. */
  idleArguments: string[];
  /** Workers at places below this number stay even without a job. */
  kept: number;
  /** How long a worker may take to end before the wall time. */
  graceMs: number;
  /** Environment of the workers. Keys are only in here. */
  environment: Record<string, string>;
  /** The user's own sbatch options, which take precedence. */
  options: string[];
}

export interface SlurmTask {
  /** Job and place: `12_3`. */
  id: string;
  place: number;
  mark: string;
  state: 'waiting' | 'running' | 'ending';
}

/** Thrown if Slurm refuses a request or does not answer. */
export class SlurmFailure extends Error {
  /** True if Slurm may have carried out the request. */
  readonly isUncertain: boolean;

  constructor(text: string, isUncertain: boolean) {
    super(text);
    this.isUncertain = isUncertain;
  }
}

/** Variables for Slurm's programs, without other variables of the service. */
type Environment = NodeJS.ProcessEnv;

/** Returns the workers that wait, run or are ending. Throws `SlurmFailure`. */
export async function slurmWorkers(name: string, environment: Environment): Promise<SlurmTask[]> {
  const args = ['--noheader', '--array', `--name=${name}`, '--format=%F %K %T %k'];
  const lines = (await ask('squeue', args, { environment })).split('\n').filter((line) => line.trim() !== '');
  return lines.map((line) => {
    const [job = '', place = '', state = '', mark = ''] = line.trim().split(/\s+/);
    return {
      id: `${job}_${place}`,
      place: Number(place),
      mark,
      state: state === 'PENDING' ? 'waiting' : state === 'COMPLETING' ? 'ending' : 'running',
    };
  });
}

/** Throws `SlurmFailure`. */
export async function startSlurmWorkers(
  workers: SlurmWorkers,
  places: readonly number[],
  mark: string,
): Promise<void> {
  await ask('sbatch', ['--parsable'], {
    script: workersScript(workers, places, mark),
    environment: workers.environment,
  });
}

/**
 * Cancels workers that still wait, and leaves others alone. They are held first, so that none begins in
 * between. Throws `SlurmFailure`.
 */
export async function cancelWaitingWorkers(ids: readonly string[], environment: Environment): Promise<void> {
  await ask('scontrol', ['hold', ids.join(',')], { environment }).catch(() => '');
  await ask('scancel', ['--state=PENDING', ...ids], { environment });
}

export function workersScript(
  { name, folder, command, idleArguments, kept, graceMs, options }: SlurmWorkers,
  places: readonly number[],
  mark: string,
): string {
  const graceSeconds = Math.ceil(graceMs / 1_000);
  const lines = [
    `--job-name=${name}`,
    `--array=${places.join(',')}`,
    `--comment=${mark}`,
    `--chdir=${optionWord(folder)}`,
    `--output=${name}-%a.log`,
    '--open-mode=append',
    '--no-requeue',
    `--signal=B:TERM@${graceSeconds + aheadSeconds}`,
    ...(options.length === 0 ? [] : [options.map(optionWord).join(' ')]),
    '--export=ALL',
  ];
  return `#!/bin/bash
${lines.map((line) => `#SBATCH ${line}\n`).join('')}
# TERM, ahead of the wall time or by scancel, has the worker finish its job and take no more.
idle=(${idleArguments.map(shellWord).join(' ')})
[ "$SLURM_ARRAY_TASK_ID" -ge ${kept} ] || idle=()
exec ${command.map(shellWord).join(' ')} --grace ${graceSeconds}s --data "\${TMPDIR:-/tmp}/${name}-$SLURM_ARRAY_TASK_ID" "\${idle[@]}"
`;
}

/** Seconds that a worker needs to end besides its job. */
const aheadSeconds = 15;
const patienceMs = 60_000;

/** Messages of sbatch if its answer was lost, as opposed to a refusal. */
const lostAnswer =
  /timed out|unable to contact|zero bytes|communication|connection|unexpected message|not responding/i;

/** Runs a program and returns its output, without blocking the service. */
function ask(
  program: string,
  args: string[],
  { script = '', environment }: { script?: string; environment: Environment },
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env: environment });
    const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs).unref();
    let [printed, said] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
    // A program that has ended reads no script. Its exit code is reported.
    child.stdin.on('error', () => undefined).end(script);
    child.on('error', ({ message }) => {
      const text = message.includes('ENOENT') ? 'there is no such program on this machine' : message;
      reject(new SlurmFailure(`${program}: ${text}`, false));
    });
    child.on('close', (code) => {
      clearTimeout(timer);
      if (code === 0) return resolve(printed);
      const why = code === null ? `no answer within ${patienceMs / 1_000} s` : `exit code ${code}`;
      const text = said.trim().replaceAll(/\s*\n\s*/g, '; ') || why;
      reject(new SlurmFailure(`${program}: ${text}`, code === null || lostAnswer.test(text)));
    });
  });
}
