/** Description of this machine: processors, memory, and GPUs as reported by the NVIDIA driver. */
import { withTimeLimit } from '../../lib/limits/time-limit.ts';
import { execFile } from 'node:child_process';
import { availableParallelism, hostname, totalmem } from 'node:os';
import { helperEnvironment } from '../workloads/worker-environment.ts';
import type { GpuView, MachineView } from '../../protocol/console-data.ts';

/**
 * Describes this machine. `device`: index of the only GPU in use; undefined for all. Once `signal` aborts, GPUs are
 * left out.
 */
export async function describeMachine(device: string | undefined, signal: AbortSignal): Promise<MachineView> {
  const gpus = await nvidiaGpus(signal);
  return {
    host: hostname(),
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    gpus: device === undefined ? gpus : gpus.filter(({ index }) => String(index) === device),
  };
}

const columns = 'index,name,memory.total,memory.used,driver_version,temperature.gpu';

/** Time limit of `nvidia-smi` in ms. A driver that hangs may prevent even its end, so nothing waits for it. */
const queryMs = 5_000;

/** Returns the GPUs; none if there is no driver or it does not answer. */
function nvidiaGpus(signal: AbortSignal): Promise<GpuView[]> {
  const query = [`--query-gpu=${columns}`, '--format=csv,noheader,nounits'];
  return withTimeLimit(
    queryMs,
    signal,
    (limit) =>
      new Promise((resolve) => {
        const child = execFile('nvidia-smi', query, { env: helperEnvironment() }, (error, output) =>
          resolve(error === null ? readGpus(output) : []),
        );
        const giveUp = (): void => {
          // A program that could not be started has no id, and Node would kill the group of this process instead.
          if (child.pid !== undefined) child.kill('SIGKILL');
          resolve([]);
        };
        if (limit.aborted) giveUp();
        else limit.addEventListener('abort', giveUp, { once: true });
      }),
  );
}

/** Reads lines such as `0, NVIDIA H200, 143771, 512, 570.86.15, 31`. Memory is in MiB. */
export function readGpus(output: string): GpuView[] {
  return output
    .split('\n')
    .map((line) => line.split(', '))
    .filter((fields) => fields.length === 6)
    .map(([index, name = '', total, used, driver = '', celsius]) => ({
      index: amountIn(index),
      name,
      memoryBytes: amountIn(total) * 1024 ** 2,
      usedMemoryBytes: amountIn(used) * 1024 ** 2,
      driver,
      celsius: amountIn(celsius),
    }));
}

/** Returns a number; 0 for `[N/A]`, which some cards report. */
function amountIn(text: string | undefined): number {
  const amount = Number(text);
  return Number.isFinite(amount) ? amount : 0;
}
