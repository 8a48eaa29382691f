/** Workers of a service as jobs of Slurm: a job array, one worker a task. Its index is the worker's place, of which there are as many as workers may be at once. */
import { spawn } from 'node:child_process';
import { shellWord } from '../lib/text/format.ts';
import { optionWord } from './slurm-script.ts';

export interface SlurmWorkers {
  /** Of the jobs; no other service has it. */
  name: string;
  /** Absolute: workers start and log there. */
  folder: string;
  /** Program and arguments of a worker. */
  command: string[];
  /** Also of those that are not kept. */
  idleArguments: string[];
  /** Places below this are of workers that stay without a job. */
  kept: number;
  /** How long a worker may take to end ahead of the wall time. */
  graceMs: number;
  /** Of the workers; keys are in here alone. */
  environment: Record<string, string>;
  /** What the user wants of sbatch besides; it wins over what stands here. */
  options: string[];
}

export interface SlurmTask {
  /** `12_3` */
  id: string;
  place: number;
  /** Of its submission. */
  mark: string;
  state: 'waiting' | 'running' | 'ending';
}

/** Told that it would not, or not told at all. */
export class SlurmFailure extends Error {
  /** Whether Slurm may have done it all the same. */
  readonly isUncertain: boolean;

  constructor(text: string, isUncertain: boolean) {
    super(text);
    this.isUncertain = isUncertain;
  }
}

/** Variables of Slurm's programs; others of the service stay with it. */
type Environment = NodeJS.ProcessEnv;

/** Those that wait, run, or are about to end. Throws `SlurmFailure`. */
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

/** Those that do not wait any more are left alone: one that is held cannot begin between the look and the end. */
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

/** What a worker takes to end beside its job. */
const aheadSeconds = 15;
const patienceMs = 60_000;

/** What sbatch says where the answer was lost, and not where Slurm has said no. */
const lostAnswer =
  /timed out|unable to contact|zero bytes|communication|connection|unexpected message|not responding/i;

/** What it prints. The service goes on meanwhile. */
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
    // One that has ended reads no script; its exit code tells.
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
