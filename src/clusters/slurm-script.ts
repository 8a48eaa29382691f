/** The batch script with which Slurm keeps the runners of a batch going: a job array with one runner per task. */
import { shellWord } from '../lib/text/format.ts';

export interface SlurmJob {
  /** Name of the job, and beginning of its log names. */
  name: string;
  runners: number;
  /** Absolute folder of pipeline.yaml, in which logs are written. */
  folder: string;
  /** Program and arguments of a runner, with absolute paths. */
  command: string[];
  memoryBytes: number;
  /**
   * Times before the wall time: how long a runner only collects jobs in flight, and how long it may then take
   * to end.
   */
  drainMs: number;
  endMs: number;
  /** The user's own sbatch options, which take precedence. */
  options: string[];
}

/** Maximum restarts of a task whose output is not writable. After that a person has to look. */
const maxRestarts = 30;

/** Extra seconds for a signal to arrive. Slurm counts in whole seconds. */
const signalSeconds = 5;

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
export function optionWord(text: string): string {
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
