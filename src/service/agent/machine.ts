/** What this machine has: processors, memory, and its GPUs as NVIDIA's driver tells of them. */
import { withTimeLimit } from '../../lib/limits/time-limit.ts';
import { execFile } from 'node:child_process';
import { availableParallelism, hostname, totalmem } from 'node:os';
import { helperEnvironment } from '../workloads/worker-environment.ts';
import type { GpuView, MachineView } from '../../protocol/console-data.ts';

/** `device`: the one GPU that is used, by its number; all of them where undefined. Without GPUs once `signal` aborts. */
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

/** A driver that hangs may keep it from ending, which is not waited for. */
const queryMs = 5_000;

/** None where there is no such driver, or it does not answer. */
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

/** Lines such as `0, NVIDIA H200, 143771, 512, 570.86.15, 31`; memory in MiB. */
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

/** Some cards tell `[N/A]`. */
function amountIn(text: string | undefined): number {
  const amount = Number(text);
  return Number.isFinite(amount) ? amount : 0;
}
