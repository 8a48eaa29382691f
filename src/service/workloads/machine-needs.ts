/** What workers need of this machine: a tool for containers, and what it can tell of its GPUs. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findContainerTool } from './container-tool.ts';
import { removeLeftContainers } from './container-workload.ts';
import { helperEnvironment } from './worker-environment.ts';
import type { WorkloadNeeds } from './workload-definition.ts';
import { thrownText } from './workload.ts';

/** `onProblem`: gets sentences about containers that an earlier service left. */
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

/**
 * Removes the containers of a service that was killed, which nothing else ends: also those of endpoints that have no job
 * yet, or are gone. To be called once the data folder is this service's own.
 */
export function removeContainersLeftIn(
  dataDir: string,
  { containerTool }: WorkloadNeeds,
  onProblem: (text: string) => void,
): void {
  if (!existsSync(markIn(dataDir))) return;
  containerTool().catch((error: unknown) =>
    onProblem(`containers of an earlier service may be left: ${thrownText(error)}`),
  );
}

/** With the containers of a service that was killed out of the way. */
async function readyTool(dataDir: string, serviceId: string, onProblem: (text: string) => void) {
  const tool = await findContainerTool();
  const left = await removeLeftContainers(tool, serviceId);
  if (left === 1) onProblem('a container of a service that was killed was removed');
  if (left > 1)
    onProblem(`${left.toLocaleString('en')} containers of a service that was killed were removed`);
  writeFileSync(markIn(dataDir), '', { mode: 0o600 });
  return tool;
}

/** It is there once there may be containers. */
function markIn(dataDir: string): string {
  return join(dataDir, 'containers');
}

/** The GPUs of this machine, found out beside the service's work. */
export function gpuSign(): () => string[] | null {
  let gpus: string[] | null = null;
  void nvidiaGpus().then((found) => (gpus = found));
  return () => gpus;
}

const lookAgainMs = 5_000;

/** Why containers cannot be run here, found out beside the service's work; looked for again while there is no tool. */
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

/** As NVIDIA's driver tells of them; none where there is no such driver. */
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
