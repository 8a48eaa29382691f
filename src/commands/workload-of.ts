/** What the workers of an endpoint run. */
import type { RunnableWorkload } from '../service/endpoint.ts';
import type { ClusterWorkload } from '../service/pool/cluster-workload.ts';
import type { EndpointSettings } from '../service/endpoint-settings.ts';
import { describe } from '../renderers/painter/mentions.ts';
import { paint, readPaintingRequest } from '../renderers/painter/paint.ts';
import { inProcessWorkload } from '../service/workloads/workload.ts';
import type { WorkloadContext } from '../service/service-options.ts';
import { commandWorkload } from '../service/workloads/command-workload.ts';
import { containerWorkload, removeLeftContainers } from '../service/workloads/container-workload.ts';
import { type ContainerTool, findContainerTool } from '../service/workloads/container-tool.ts';
import { moduleWorkload } from '../service/workloads/module-workload.ts';
import { processEnvironment, workerEnvironment } from '../service/workloads/worker-environment.ts';
import { blenderWorkload } from './blender-workload.ts';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageFile } from '../lib/files/package-file.ts';
import { describeRenderer } from '../renderers/scene/describe-renderer.ts';
import { installedFolder } from '../renderers/scene/renderer-folders.ts';
import type { RendererLack } from '../protocol/console-data.ts';
import { textOf } from '../service/pool/supervised.ts';
import { writeError } from '../terminal/console.ts';
import { harmless } from '../terminal/fit-text.ts';

export interface WorkloadNeeds {
  dataDir: string;
  /** Looked for when the first container is to be started; rejects in words where there is none. */
  containerTool: () => Promise<ContainerTool>;
  /** The same at each start, and another for each data folder. */
  serviceId: string;
  /** The module of the GPU worker, and what it needs to know. */
  renderer: { path: string; environment: Record<string, string> };
}

/** Answers `[{ rendered_image, seed, ignored_words }]`; a request it cannot read fails the job with the reason. */
export const painterWorkload = inProcessWorkload('painter', async ({ input }) => {
  const request = readPaintingRequest(input);
  const picture = await paint(request);
  const { ignoredWords } = describe(request.text);
  return [{ rendered_image: picture.toString('base64'), seed: request.seed, ignored_words: ignoredWords }];
});

/** Of workers on this machine. */
export function workloadOf(
  settings: EndpointSettings,
  context: WorkloadContext,
  needs: WorkloadNeeds,
): Exclude<RunnableWorkload, ClusterWorkload> {
  const { id: endpointId, workload, memoryBytes } = settings;
  const environment = { ...deviceVariables(settings), ...settings.environment };
  switch (workload.kind) {
    case 'remote':
      return undefined;
    case 'prebuilt':
      if (workload.name === 'painter') return painterWorkload;
      return moduleWorkload({
        endpointId,
        path: needs.renderer.path,
        environment: { ...needs.renderer.environment, ...settings.environment },
      });
    case 'blender':
      return blenderWorkload(settings, workload, environment, needs);
    case 'command':
      return commandWorkload({ endpointId, ...workload, environment, memoryBytes });
    case 'module':
      return moduleWorkload({ endpointId, path: workload.path, environment, memoryBytes });
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
  { url, workerKey }: WorkloadContext,
  { tool, serviceId }: { tool: ContainerTool; serviceId: string },
) {
  const { id: endpointId, environment, memoryBytes, cpus, gpu } = settings;
  const identity = { baseUrl: url, endpointId, workerKey, gpuName: gpuName(settings) };
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

export function workloadNeeds(dataDir: string): WorkloadNeeds {
  const serviceId = createHash('sha256').update(realpathSync(dataDir)).digest('hex').slice(0, 16);
  let tool: ReturnType<WorkloadNeeds['containerTool']> | undefined;
  return {
    dataDir,
    serviceId,
    containerTool: () =>
      (tool ??= readyTool(dataDir, serviceId).catch((error: unknown) => {
        tool = undefined;
        throw error;
      })),
    renderer: {
      path: packageFile('dist/renderers/scene/handler.js'),
      environment: rendererEnvironment(dataDir),
    },
  };
}

/**
 * Removes the containers of a service that was killed, which nothing else ends: also those of endpoints that have no job
 * yet, or are gone. To be called once the data folder is this service's own.
 */
export function removeContainersLeftIn(dataDir: string, { containerTool }: WorkloadNeeds): void {
  if (!existsSync(markIn(dataDir))) return;
  containerTool().catch((error: unknown) =>
    printServiceFailure(`containers of an earlier service may be left: ${textOf(error)}`),
  );
}

/** With the containers of a service that was killed out of the way. */
async function readyTool(dataDir: string, serviceId: string) {
  const tool = await findContainerTool();
  const left = await removeLeftContainers(tool, serviceId);
  if (left === 1) printServiceFailure('a container of a service that was killed was removed');
  if (left > 1)
    printServiceFailure(`${left.toLocaleString('en')} containers of a service that was killed were removed`);
  writeFileSync(markIn(dataDir), '', { mode: 0o600 });
  return tool;
}

/** It is there once there may be containers. */
function markIn(dataDir: string): string {
  return join(dataDir, 'containers');
}

/**
 * The GPUs of this machine, and what keeps the scene-renderer from one, are found out beside the service's work: drivers
 * take their time, and again once missing packages are installed. The terminal shows the lack where an endpoint needs it.
 */
export function gpuSigns(
  dataDir: string,
  endpoints: readonly EndpointSettings[],
): { rendererLack: () => RendererLack | null; gpus: () => string[] | null } {
  const endpoint = endpoints.find(
    ({ workload }) => workload.kind === 'prebuilt' && workload.name === 'scene-renderer',
  );
  const dir = rendererDirIn(dataDir);
  const environment = { ...rendererEnvironment(dataDir), ...endpoint?.environment };
  const probeEnvironment = processEnvironment(environment, { endpointId: endpoint?.id ?? '', workerId: '' });
  let lack: RendererLack | null = null;
  let gpus: string[] | null = null;
  let lookedAt = 0;
  const look = async (): Promise<void> => {
    lookedAt = Date.now();
    const [renderer, found] = await Promise.all([describeRenderer(dir, probeEnvironment), nvidiaGpus()]);
    gpus = found.length === 0 && renderer.kind === 'gpu' ? [renderer.adapter] : found;
    lack = renderer.kind === 'gpu' ? null : { reason: renderer.reason, install: renderer.install };
  };
  void look().then(() => {
    if (lack === null || endpoint === undefined) return undefined;
    const mend = lack.install === null ? '' : ` Install what is missing with: ${lack.install}`;
    return printServiceFailure(`scene-renderer paints in 2D: ${lack.reason}.${mend}`);
  });
  return {
    rendererLack: () => {
      const isMended = lack !== null && lack.install !== null && installedFolder([dir]) !== undefined;
      if (isMended && Date.now() - lookedAt > lookAgainMs) void look();
      return lack;
    },
    gpus: () => gpus,
  };
}

const lookAgainMs = 5_000;

/** What says which GPUs and drivers there are; of the service's own environment workers have little else. */
const graphicsVariables = /^(VK_|LD_LIBRARY_PATH$|MESA_|LIBGL_|XDG_|DISPLAY$|DRI_PRIME$|CUDA_|NVIDIA_|__)/;

function rendererEnvironment(dataDir: string): Record<string, string> {
  const graphics = Object.entries(process.env).filter(([name]) => graphicsVariables.test(name));
  return {
    ...(Object.fromEntries(graphics) as Record<string, string>),
    NIGHTRENDER_RENDERER_DIR: rendererDirIn(dataDir),
  };
}

/** Why containers cannot be run here, found out beside the service's work; looked for again while there is no tool. */
export function containerSign(): () => string | null {
  let lack: string | null = null;
  let lookedAt = 0;
  const look = (): void => {
    lookedAt = Date.now();
    findContainerTool().then(
      () => (lack = null),
      (error: unknown) => (lack = textOf(error)),
    );
  };
  look();
  return () => {
    if (lack !== null && Date.now() - lookedAt > lookAgainMs) look();
    return lack;
  };
}

/** As NVIDIA's driver tells of them; none where there is no such driver. */
function nvidiaGpus(): Promise<string[]> {
  const query = ['--query-gpu=name,memory.total', '--format=csv,noheader,nounits'];
  return new Promise((resolve) => {
    execFile('nvidia-smi', query, { timeout: 20_000 }, (error, output) => {
      const rows = error === null ? output.trim().split('\n') : [];
      const gpus = rows.map((row) => row.split(', '));
      resolve(gpus.map(([name = '', mib]) => `${name} (${Math.round(Number(mib) / 1024)} GB)`));
    });
  });
}

function rendererDirIn(dataDir: string): string {
  return process.env['NIGHTRENDER_RENDERER_DIR'] ?? join(dataDir, 'renderer');
}

/** Workers have their say in it. */
export function printServiceFailure(text: string): void {
  writeError(harmless(`service: ${text}`));
}
