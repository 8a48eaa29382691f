/** What the workers of an endpoint run. */
import type { RunnableWorkload } from '../endpoint.ts';
import type { ClusterWorkload } from '../pool/cluster-workload.ts';
import type { EndpointSettings } from '../endpoint-settings.ts';
import { rendererPath } from '../local-service.ts';
import type { WorkloadContext } from '../service-options.ts';
import { comfyuiWorkload } from './comfyui-workload.ts';
import { commandWorkload } from './command-workload.ts';
import { containerWorkload, removeLeftContainers } from './container-workload.ts';
import { type ContainerTool, findContainerTool } from './container-tool.ts';
import { moduleWorkload } from './module-workload.ts';
import { helperEnvironment, workerEnvironment } from './worker-environment.ts';
import { blenderWorkload } from './blender-workload.ts';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { textOf } from '../pool/supervised.ts';

export interface WorkloadNeeds {
  dataDir: string;
  /** Looked for when the first container is to be started; rejects in words where there is none. */
  containerTool: () => Promise<ContainerTool>;
  /** The same at each start, and another for each data folder. */
  serviceId: string;
}

/** Of workers on this machine. */
export function workloadOf(
  settings: EndpointSettings,
  context: WorkloadContext,
  needs: WorkloadNeeds,
): Exclude<RunnableWorkload, ClusterWorkload> {
  const { id: endpointId, workload, memoryBytes } = settings;
  const environment = { ...deviceVariables(settings), ...settings.environment };
  const { limits } = context;
  switch (workload.kind) {
    case 'remote':
      return undefined;
    case 'prebuilt':
      return moduleWorkload({
        endpointId,
        path: rendererPath,
        environment: settings.environment,
      });
    case 'blender':
      return blenderWorkload(settings, workload, environment, needs);
    case 'command':
      return commandWorkload({ endpointId, ...workload, environment, memoryBytes, limits });
    case 'module':
      return moduleWorkload({ endpointId, path: workload.path, environment, memoryBytes, limits });
    case 'comfyui':
      return comfyuiWorkload({ ...workload, maxBytes: limits?.maxBytes });
    case 'image':
      return {
        name: workload.image,
        startPullWorker: async (started) =>
          await containerOf(settings, workload, context, {
            tool: await needs.containerTool(),
            serviceId: needs.serviceId,
          }).startPullWorker(started),
      };
  }
}

function containerOf(
  settings: EndpointSettings,
  { image, arguments: containerArguments }: Extract<EndpointSettings['workload'], { kind: 'image' }>,
  { url, publicUrl = url, workerKey }: WorkloadContext,
  { tool, serviceId }: { tool: ContainerTool; serviceId: string },
) {
  const { id: endpointId, environment, memoryBytes, cpus, gpu, network, capabilities } = settings;
  const isHere = network === undefined || network === 'host';
  const baseUrl = isHere ? url : (settings.serviceUrl ?? publicUrl);
  const identity = { baseUrl, endpointId, workerKey, gpuName: gpuName(settings) };
  return containerWorkload({
    tool,
    serviceId,
    endpointId,
    image,
    arguments: containerArguments,
    environment,
    memoryBytes,
    cpus,
    gpu,
    network,
    capabilities,
    pullEnvironment: (workerId) => workerEnvironment({ ...identity, workerId }),
  });
}

function gpuName({ gpu }: EndpointSettings): string | null {
  if (gpu === null) return null;
  return 'label' in gpu ? gpu.label : gpu.devices.join(',');
}

/** Programs of this machine see the devices that they are given, and no others. */
function deviceVariables({ gpu }: EndpointSettings): Record<string, string> {
  return gpu === null || 'label' in gpu ? {} : { CUDA_VISIBLE_DEVICES: gpu.devices.join(',') };
}

/** `onProblem`: gets sentences about containers that an earlier service left. */
export function workloadNeeds(dataDir: string, onProblem: (text: string) => void): WorkloadNeeds {
  const serviceId = createHash('sha256').update(realpathSync(dataDir)).digest('hex').slice(0, 16);
  let tool: ReturnType<WorkloadNeeds['containerTool']> | undefined;
  return {
    dataDir,
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
    onProblem(`containers of an earlier service may be left: ${textOf(error)}`),
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
      (error: unknown) => (lack = textOf(error)),
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
