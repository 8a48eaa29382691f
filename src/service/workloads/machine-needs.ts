/** Finds out what this machine offers to workers: a container tool, and GPUs. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findContainerTool } from './container-tool.ts';
import { removeLeftContainers } from './container-workload.ts';
import { helperEnvironment } from './worker-environment.ts';
import { thrownText, type WorkloadNeeds } from './workload-definition.ts';

/** Returns the container tool, which is looked for on first use. `onProblem` gets messages about leftover containers. */
export function workloadNeeds(dataDir: string, onProblem: (text: string) => void): WorkloadNeeds {
  const serviceId = createHash('sha256').update(realpathSync(dataDir)).digest('hex').slice(0, 16);
  let tool: ReturnType<WorkloadNeeds['containerTool']> | undefined;
  return {
    serviceId,
    containerTool: () =>
      (tool ??= readyTool(dataDir, serviceId, onProblem).catch((error: unknown) => {
        tool = undefined;
        throw error;
      })),
  };
}

/** Begins to remove, in the background, containers that a killed service left. Call only after locking the data folder. */
export function removeContainersLeftIn(
  dataDir: string,
  { containerTool }: WorkloadNeeds,
  onProblem: (text: string) => void,
): void {
  if (!existsSync(markIn(dataDir))) return;
  containerTool().catch((error: unknown) =>
    onProblem(`containers of an earlier service may still exist: ${thrownText(error)}`),
  );
}

/** Finds the container tool, and removes containers that a killed service left running. */
async function readyTool(dataDir: string, serviceId: string, onProblem: (text: string) => void) {
  const tool = await findContainerTool();
  const left = await removeLeftContainers(tool, serviceId);
  if (left === 1) onProblem('a container of a service that was killed was removed');
  if (left > 1)
    onProblem(`${left.toLocaleString('en')} containers of a service that was killed were removed`);
  writeFileSync(markIn(dataDir), '', { mode: 0o600 });
  return tool;
}

/** Returns the path of a marker file, which exists if a service with this data folder may have started containers. */
function markIn(dataDir: string): string {
  return join(dataDir, 'containers');
}

/** Looks for this machine's GPUs in the background. The returned function gives their names: null until they are known, none without nvidia-smi. */
export function gpuSign(): () => string[] | null {
  let gpus: string[] | null = null;
  void nvidiaGpus().then((found) => (gpus = found));
  return () => gpus;
}

const lookAgainMs = 5_000;

/** Looks for a container tool in the background. The result tells why none runs, and looks again after 5 s. */
export function containerSign(): () => string | null {
  let lack: string | null = null;
  let lookedAt = 0;
  const look = (): void => {
    lookedAt = performance.now();
    findContainerTool().then(
      () => (lack = null),
      (error: unknown) => (lack = thrownText(error)),
    );
  };
  look();
  return () => {
    if (lack !== null && performance.now() - lookedAt > lookAgainMs) look();
    return lack;
  };
}

/** Returns the GPUs that NVIDIA's driver lists; empty if the driver is not installed. */
function nvidiaGpus(): Promise<string[]> {
  const query = ['--query-gpu=name,memory.total', '--format=csv,noheader,nounits'];
  return new Promise((resolve) => {
    execFile('nvidia-smi', query, { env: helperEnvironment(), timeout: 20_000 }, (error, output) => {
      const rows = error === null ? output.trim().split('\n') : [];
      const gpus = rows.map((row) => row.split(', '));
      resolve(gpus.map(([name = '', mib]) => `${name} (${Math.round(Number(mib) / 1024)} GB)`));
    });
  });
}
