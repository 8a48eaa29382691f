/** A real Slurm on this machine, with two nodes of two CPUs each, as a user of a cluster meets it. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { slurmTasks, type ClusterTask } from '../../src/clusters/ask-engine.ts';

/** Debian puts these programs into folders that are not in every PATH. */
const daemons = { munged: '/usr/sbin/munged', slurmctld: '/usr/sbin/slurmctld', slurmd: '/usr/sbin/slurmd' };

export const hasSlurm =
  Object.values(daemons).every((path) => existsSync(path)) &&
  spawnSync('sbatch', ['--version']).error === undefined &&
  userInfo().uid === 0;

/** Much longer than anything here takes. */
const patience = { timeout: 240_000, interval: 200 };

export class Slurm {
  readonly #dir = mkdtempSync(join(tmpdir(), 'nightrender-slurm-'));
  readonly #running = new Map<string, ChildProcess>();
  /** Environment for all programs of this Slurm. */
  readonly env = { SLURM_CONF: join(this.#dir, 'slurm.conf') };

  /** Starts Slurm. `ports`: four unused ports. */
  async start(ports: number[]): Promise<void> {
    chmodSync(this.#dir, 0o755);
    for (const folder of ['state', 'spool', 'log', 'run'])
      mkdirSync(join(this.#dir, folder), { mode: 0o755 });
    writeFileSync(this.env.SLURM_CONF, configuration(this.#dir, ports));
    writeFileSync(join(this.#dir, 'run/munge.key'), randomBytes(1024), { mode: 0o400 });
    const of = (option: string, name: string): string => `--${option}=${join(this.#dir, name)}`;
    const files = [
      of('key-file', 'run/munge.key'),
      of('socket', 'run/munge.socket'),
      of('pid-file', 'run/munged.pid'),
    ];
    const more = [of('log-file', 'log/munged.log'), of('seed-file', 'run/munged.seed')];
    this.#spawn('munged', daemons.munged, ['--foreground', '--force', ...files, ...more]);
    await vi.waitFor(() => expect(existsSync(join(this.#dir, 'run/munge.socket'))).toBe(true), patience);
    this.#spawn('slurmctld', daemons.slurmctld, ['-D', '-c']);
    for (const node of ['n1', 'n2']) this.startNode(node);
    await vi.waitFor(
      () => expect(this.ask('sinfo', '--noheader', '-o', '%T %D')).toMatch(/^idle 2\s*$/),
      patience,
    );
  }

  startNode(node: string): void {
    this.#spawn(node, daemons.slurmd, ['-D', '-N', node]);
  }

  /** Kills the daemon of a node. Its tasks keep running, and nobody ends them. */
  async killNode(node: string): Promise<void> {
    const daemon = this.#running.get(node);
    if (daemon === undefined) throw new Error(`there is no node ${node}`);
    daemon.kill('SIGKILL');
    await once(daemon, 'exit');
  }

  /** Returns the output of a Slurm program. */
  ask(program: string, ...args: string[]): string {
    const { stdout, stderr } = spawnSync(program, args, {
      env: { ...process.env, ...this.env },
      encoding: 'utf8',
    });
    return stdout + stderr;
  }

  /** Waits until the only task of a job is in this state, and returns it. */
  async taskIn(job: string, state: string): Promise<ClusterTask> {
    const [name = ''] = this.ask('squeue', '--noheader', '--states=all', `--jobs=${job}`, '-o', '%j')
      .trim()
      .split('\n');
    const look = (): ClusterTask | undefined =>
      this.#within(() => slurmTasks(name)).find(({ id }) => id.startsWith(`${job}_`));
    await expect.poll(() => look()?.state, patience).toBe(state);
    return look() ?? { id: '', state, exitCode: undefined, details: [] };
  }

  /** Returns how often the job was started again. */
  restarts(job: string): number {
    return Number(/Restarts=(\d+)/.exec(this.ask('scontrol', 'show', 'job', job))?.[1]);
  }

  async stop(): Promise<void> {
    for (const daemon of this.#running.values()) daemon.kill('SIGKILL');
    for (const pid of processesWith(this.env.SLURM_CONF)) process.kill(pid, 'SIGKILL');
    await vi.waitFor(() => expect(processesWith(this.env.SLURM_CONF)).toEqual([]), patience);
    rmSync(this.#dir, { recursive: true, force: true });
  }

  #spawn(name: string, program: string, args: string[]): void {
    const env = { ...process.env, ...this.env };
    this.#running.set(name, spawn(program, args, { env, stdio: 'ignore' }));
  }

  /** Calls `work` with the environment in which Slurm's programs find this cluster. */
  #within<Result>(work: () => Result): Result {
    const before = process.env['SLURM_CONF'];
    Object.assign(process.env, this.env);
    try {
      return work();
    } finally {
      if (before === undefined) delete process.env['SLURM_CONF'];
      else process.env['SLURM_CONF'] = before;
    }
  }
}

/** Returns the configuration. A lost node is given up after ten seconds, and a task may start again after five. */
function configuration(dir: string, [controller, daemon, first, second]: number[]): string {
  const { username } = userInfo();
  return `ClusterName=nightrender
SlurmctldHost=localhost
SlurmUser=${username}
SlurmdUser=${username}
AuthType=auth/munge
AuthInfo=socket=${dir}/run/munge.socket,cred_expire=5
CredType=cred/munge
SlurmctldPort=${controller}
SlurmdPort=${daemon}
StateSaveLocation=${dir}/state
SlurmdSpoolDir=${dir}/spool/%n
SlurmctldPidFile=${dir}/run/slurmctld.pid
SlurmdPidFile=${dir}/run/slurmd-%n.pid
SlurmctldLogFile=${dir}/log/slurmctld.log
SlurmdLogFile=${dir}/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=sched_min_interval=0,bf_interval=1,batch_sched_delay=0
ReturnToService=2
SlurmdTimeout=10
InactiveLimit=0
KillWait=15
MinJobAge=3000
MpiDefault=none
SwitchType=switch/none
NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port=${first} CPUs=2 RealMemory=4000 State=UNKNOWN
NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port=${second} CPUs=2 RealMemory=4000 State=UNKNOWN
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=60
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10
`;
}

/** Returns the daemons, the tasks, and the processes that these have started. */
function processesWith(conf: string): number[] {
  const pids = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  return pids.filter((pid) => {
    try {
      return (
        pid !== process.pid && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`SLURM_CONF=${conf}\0`)
      );
    } catch {
      return false;
    }
  });
}
