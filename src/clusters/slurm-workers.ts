/** Slurm job arrays: one worker of a service per task, or one runner of a batch per task. */
import { spawn } from 'node:child_process';
import { shellWord } from '../lib/text/format.ts';

interface SlurmWorkers {
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

interface SlurmTask {
  /** Job and place: `12_3`. */
  id: string;
  place: number;
  mark: string;
  state: 'waiting' | 'running' | 'ending';
}

/** Thrown if Slurm refuses a request or does not answer. */
class SlurmFailure extends Error {
  /** True if Slurm may have carried out the request. */
  readonly isUncertain: boolean;

  constructor(text: string, isUncertain: boolean) {
    super(text);
    this.isUncertain = isUncertain;
  }
}

/** Slurm's queue, asked by its own programs. Methods throw `SlurmFailure`. */
export class SlurmQueue {
  /** Variables for Slurm's programs, without other variables of the service. */
  readonly #environment: NodeJS.ProcessEnv;

  constructor(environment: NodeJS.ProcessEnv) {
    this.#environment = environment;
  }

  /** Returns the workers that wait, run or are ending. `name`: name of their jobs. */
  async workers(name: string): Promise<SlurmTask[]> {
    const args = ['--noheader', '--array', `--name=${name}`, '--format=%F %K %T %k'];
    const told = await ask('squeue', args, { environment: this.#environment });
    const lines = told.split('\n').filter((line) => line.trim() !== '');
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

  /** Starts workers, whose environment goes with them. */
  async start(workers: SlurmWorkers, places: readonly number[], mark: string): Promise<void> {
    const { environment } = workers;
    await ask('sbatch', ['--parsable'], { script: workersScript(workers, places, mark), environment });
  }

  /** Cancels waiting workers, held first so that none begins in between. */
  async cancelWaiting(ids: readonly string[]): Promise<void> {
    const environment = this.#environment;
    await ask('scontrol', ['hold', ids.join(',')], { environment }).catch(() => '');
    await ask('scancel', ['--state=PENDING', ...ids], { environment });
  }
}

function workersScript(
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
    `--signal=B:TERM@${graceSeconds + runnerAheadSeconds}`,
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
const runnerAheadSeconds = 15;
const patienceMs = 60_000;

/** Messages of sbatch if its answer was lost, as opposed to a refusal. */
const lostAnswer =
  /timed out|unable to contact|zero bytes|communication|connection|unexpected message|not responding/i;

/** Runs a program and returns its output, without blocking the service. */
function ask(
  program: string,
  args: string[],
  { script = '', environment }: { script?: string; environment: NodeJS.ProcessEnv },
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

interface SlurmJob {
  /** Name of the job, and beginning of its log names. */
  name: string;
  runners: number;
  /** Absolute folder of pipeline.yaml, in which logs are written. */
  folder: string;
  /** Program and arguments of a runner, with absolute paths. */
  command: string[];
  memoryBytes: number;
  /** Times before the wall time: to collect jobs in flight only, and then to end. */
  drainMs: number;
  endMs: number;
  /** The user's own sbatch options, which take precedence. */
  options: string[];
}

/** Maximum restarts of a task whose output is not writable. After that a person has to look. */
const maxRestarts = 30;

/** Extra seconds for a signal to arrive. Slurm counts in whole seconds. */
const signalSeconds = 5;

/** Returns the batch script for Slurm: a job array with one runner per task. */
export function slurmScript(job: SlurmJob): string {
  const drainSeconds = Math.ceil(job.drainMs / 1000);
  const aheadSeconds = drainSeconds + Math.ceil(job.endMs / 1000) + signalSeconds;
  const lines = [
    `--job-name=${job.name}`,
    `--array=0-${job.runners - 1}`,
    `--chdir=${optionWord(job.folder)}`,
    `--output=${job.name}-%A_%a.log`,
    '--open-mode=append',
    '--requeue',
    `--signal=B:USR1@${aheadSeconds}`,
    '--export=ALL',
    '--ntasks=1 --cpus-per-task=2',
    `--mem=${Math.ceil(job.memoryBytes / 2 ** 20)}M`,
    ...(job.options.length === 0 ? [] : [job.options.map(optionWord).join(' ')]),
  ];
  return `#!/bin/bash\n${lines.map((line) => `#SBATCH ${line}\n`).join('')}${body(job.command, drainSeconds)}`;
}

/** Quotes a word for sbatch: double quotes around white space, quotation marks or `#`. */
function optionWord(text: string): string {
  return /^[^\s"'#\\]+$/.test(text) ? text : `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

/**
 * Returns the body of the script. scancel, preemption and requeue send TERM to every process of a task. The
 * runner gets it directly, and a second TERM would end the runner at once, so the script only waits. Signals
 * for the script alone (`B:`) are passed on.
 */
function body(command: string[], drainSeconds: number): string {
  return `
# USR1 comes ahead of the wall time (or of preemption, with preempt_send_user_signal): the runner takes no new scenes (HUP), leaves ${drainSeconds} s later (TERM), and the task
# is queued again. TERM reaches the runner by itself. HUP (scancel --batch --signal=HUP) drains a runner for good.
runner= timer= signalled= leaving=
trap 'signalled=1 leaving=late; pass HUP; { sleep ${drainSeconds}; pass TERM; } & timer=$!' USR1
trap 'signalled=1 leaving=\${leaving:-drained}; pass HUP' HUP
trap 'signalled=1 leaving=ended' TERM
pass() { [ -z "$runner" ] || kill -s "$1" "$runner" 2>/dev/null; }

run() {
  ${command.map(shellWord).join(' ')} &
  runner=$!
  wait "$runner"; code=$?
  # A signal ends a wait, and not the runner.
  while [ -n "$signalled" ]; do
    signalled=
    wait "$runner" 2>/dev/null; again=$?
    [ "$again" -eq 127 ] || code=$again
  done
  runner=
}

echo "nightrender: task \${SLURM_ARRAY_TASK_ID:-0} on \${SLURMD_NODENAME:-this machine}, start $((\${SLURM_RESTART_COUNT:-0} + 1))"
run
# Another copy of this task may live on at a node that Slurm has lost (11): this one goes on when that one has ended.
while [ "$code" -eq 11 ] && [ -z "$leaving" ]; do
  sleep 15 & wait "$!"
  [ -n "$leaving" ] || run
done
[ -z "$timer" ] || kill "$timer" 2>/dev/null

# This alone leads back into the queue; after any other end a person looks at the exit code.
case "$leaving $code" in
  ' 14' | 'late 14')
    # A database that is gone or a disk that is full may be there again at the next start, or at another node.
    if [ "\${SLURM_RESTART_COUNT:-0}" -lt ${maxRestarts} ]; then
      [ -n "$leaving" ] || { sleep 60 & wait "$!"; }
      case "$leaving" in '' | late)
        echo 'nightrender: what is written to could not be used; the task goes back into the queue'
        scontrol requeue "$SLURM_JOB_ID" ;;
      esac
    fi ;;
  'late 3' | 'late 11' | 'late 129' | 'late 143')
    # A wall time that leaves no time to work would go round for ever.
    if [ "$SECONDS" -ge 45 ] || scontrol show job "$SLURM_JOB_ID" | grep -q 'PreemptTime=[0-9]'; then
      echo 'nightrender: the end of this allocation is near; the task goes back into the queue'
      scontrol requeue "$SLURM_JOB_ID"
    else
      echo 'nightrender: the wall time leaves no time to work; ask for more (--time)'
    fi ;;
esac
exit "$code"
`;
}
