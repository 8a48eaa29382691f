/** What the workers of an endpoint run. */
import type { RunnableWorkload } from '../service/endpoint.ts';
import type { EndpointSettings } from '../service/endpoint-settings.ts';
import { paint, readPaintingRequest } from '../renderers/painter/paint.ts';
import { inProcessWorkload } from '../service/workloads/in-process-workload.ts';
import type { WorkloadContext } from '../service/service-options.ts';
import { commandWorkload } from '../service/workloads/command-workload.ts';
import { containerWorkload } from '../service/workloads/container-workload.ts';
import type { ContainerTool } from '../service/workloads/container-tool.ts';
import { moduleWorkload } from '../service/workloads/module-workload.ts';
import { workerEnvironment } from '../service/workloads/worker-environment.ts';

export interface WorkloadNeeds {
  /** Looked for when the first container is to be started; rejects in words where there is none. */
  containerTool: () => Promise<ContainerTool>;
  /** The same at each start, and another for each data folder. */
  serviceId: string;
  /** The module of the GPU worker, and what it needs to know. */
  renderer: { path: string; environment: Record<string, string> };
}

/** Answers `[{ rendered_image, seed }]`; a request it cannot read fails the job with the reason. */
export const painterWorkload = inProcessWorkload('painter', async ({ input }) => {
  const request = readPaintingRequest(input);
  const picture = await paint(request);
  return [{ rendered_image: picture.toString('base64'), seed: request.seed }];
});

export function workloadOf(
  settings: EndpointSettings,
  context: WorkloadContext,
  needs: WorkloadNeeds,
): RunnableWorkload {
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
        environment: { ...settings.environment, ...needs.renderer.environment },
      });
    case 'command':
      return commandWorkload({ endpointId, ...workload, environment, memoryBytes });
    case 'module':
      return moduleWorkload({ endpointId, path: workload.path, environment, memoryBytes });
    case 'image':
      return {
        name: workload.image,
        startPuller: async (started) =>
          await containerOf(settings, workload, context, {
            tool: await needs.containerTool(),
            serviceId: needs.serviceId,
          }).startPuller(started),
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
