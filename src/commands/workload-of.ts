/** What the workers of an endpoint run. */
import type { RunnableWorkload } from '../server/endpoint.ts';
import type { EndpointSettings } from '../server/endpoint-settings.ts';
import { painterWorkload } from '../server/workloads/painter-workload.ts';
import type { WorkloadContext } from '../server/service-options.ts';
import { commandWorkload } from '../server/workloads/command-workload.ts';
import { containerWorkload } from '../server/workloads/container-workload.ts';
import type { ContainerTool } from '../server/workloads/container-tool.ts';
import { moduleWorkload } from '../server/workloads/module-workload.ts';
import { workerEnvironment } from '../server/workloads/worker-environment.ts';

export interface WorkloadNeeds {
  /** Looked for when the first container is to be started; rejects in words where there is none. */
  containerTool: () => Promise<ContainerTool>;
  /** The same at each start, and another for each data folder. */
  serviceId: string;
  /** The module of the GPU worker, and what it needs to know. */
  renderer: { path: string; environment: Record<string, string> };
}

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
