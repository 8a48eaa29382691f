/** What workers need of this machine: the tool for containers, and the packages of the GPU worker. */
import { createHash } from 'node:crypto';
import { existsSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeRenderer } from '../renderers/scene/describe-renderer.ts';
import type { RendererLack } from '../protocol/console-data.ts';
import type { EndpointSettings } from '../service/endpoint-settings.ts';
import { textOf } from '../service/pool/supervised.ts';
import { findContainerTool } from '../service/workloads/container-tool.ts';
import { removeLeftContainers } from '../service/workloads/container-workload.ts';
import { printServiceFailure } from '../terminal/print-serving.ts';
import type { WorkloadNeeds } from './workload-of.ts';

export function workloadNeeds(dataDir: string): WorkloadNeeds {
  const serviceId = createHash('sha256').update(realpathSync(dataDir)).digest('hex').slice(0, 16);
  let tool: ReturnType<WorkloadNeeds['containerTool']> | undefined;
  return {
    serviceId,
    containerTool: () =>
      (tool ??= readyTool(dataDir, serviceId).catch((error: unknown) => {
        tool = undefined;
        throw error;
      })),
    renderer: {
      path: fileURLToPath(new URL('../renderers/scene/handler.js', import.meta.url)),
      environment: { NIGHTRENDER_RENDERER_DIR: rendererDirIn(dataDir) },
    },
  };
}

/**
 * Removes the containers of a service that was killed, which nobody else ends: also those of endpoints that have no job
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
  if (left > 1) printServiceFailure(`${left} containers of a service that was killed were removed`);
  writeFileSync(markIn(dataDir), '', { mode: 0o600 });
  return tool;
}

/** It is there once there may be containers. */
function markIn(dataDir: string): string {
  return join(dataDir, 'containers');
}

/**
 * What keeps the scene-renderer from the GPU is found out beside the service's work: drivers take their time. The terminal
 * is told of it where one of these endpoints needs it.
 */
export function rendererLack(
  dataDir: string,
  endpoints: readonly EndpointSettings[],
): () => RendererLack | null {
  const isNeeded = endpoints.some(
    ({ workload }) => workload.kind === 'prebuilt' && workload.name === 'scene-renderer',
  );
  let lack: RendererLack | null = null;
  void describeRenderer(rendererDirIn(dataDir)).then((renderer) => {
    if (renderer.kind === 'gpu') return undefined;
    lack = { reason: renderer.reason, install: renderer.install };
    const mend = renderer.install === null ? '' : ` This brings what is missing: ${renderer.install}`;
    if (isNeeded)
      printServiceFailure(`Endpoints of scene-renderer paint instead: ${renderer.reason}.${mend}`);
    return undefined;
  });
  return () => lack;
}

function rendererDirIn(dataDir: string): string {
  return process.env['NIGHTRENDER_RENDERER_DIR'] ?? join(dataDir, 'renderer');
}
