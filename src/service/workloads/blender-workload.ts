/** `quickDeploy: blender` as a workload: where Blender is, what its worker may read, and its container where there is one. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { totalmem, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { packageFile } from '../../lib/files/package-file.ts';
import type { EndpointSettings, WorkloadSettings } from '../endpoint-settings.ts';
import { isProgram } from '../config/endpoint-rules.ts';
import { type ContainerTool, runTool } from './container-tool.ts';
import { helperEnvironment } from './worker-environment.ts';
import { capabilityArguments, serviceLabel } from './container-workload.ts';
import { moduleWorkload } from './module-workload.ts';
import type { WorkerContext, Workload } from './workload.ts';

type BlenderSettings = Extract<WorkloadSettings, { kind: 'blender' }>;

interface BlenderNeeds {
  containerTool: () => Promise<ContainerTool>;
  serviceId: string;
}

const handler = packageFile('dist/renderers/blender/handler.js');
const startTimeoutMs = 120_000;

export function blenderWorkload(
  settings: EndpointSettings,
  workload: BlenderSettings,
  environment: Record<string, string>,
  needs: BlenderNeeds,
): Workload {
  const start = async (context: WorkerContext): ReturnType<Workload['startWorker']> => {
    // Its own folder for all that it writes, which goes with it.
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'nightrender-blender-')));
    const container = workload.image === null ? undefined : await needs.containerTool();
    const name = `nightrender-${settings.id}-${context.workerId}`;
    const cleanUp = async (): Promise<void> => {
      if (container !== undefined)
        await runTool(container, ['rm', '--force', name], { timeoutMs: startTimeoutMs });
      rmSync(folder, { recursive: true, force: true });
    };
    try {
      const command =
        container === undefined
          ? [programOf(workload, { ...process.env, ...environment })]
          : containerCommand(container, { settings, workload, name, folder, serviceId: needs.serviceId });
      const { assets, scripts } = workload;
      const module = moduleWorkload({
        endpointId: settings.id,
        path: handler,
        environment: {
          ...(container === undefined ? graphics(process.env) : helperEnvironment()),
          ...environment,
          TMPDIR: folder,
          BLENDER_USER_RESOURCES: folder,
          NIGHTRENDER_BLENDER: JSON.stringify({ command, assets, scripts }),
        },
        memoryBytes: memoryOf(settings),
        startTimeoutMs,
      });
      const worker = await module.startWorker(context);
      void worker.ended.then(cleanUp, cleanUp);
      return worker;
    } catch (error) {
      await cleanUp();
      // That the handler is a module is nobody's business.
      const said = error instanceof Error ? error.message : String(error);
      throw new Error(said.replace(/^the module .*? cannot be loaded: /, ''), { cause: error });
    }
  };
  return { name: 'blender', startWorker: start };
}

/** What Blender needs of the service's own environment, for a display and GPUs. */
function graphics(env: NodeJS.ProcessEnv): Record<string, string> {
  const kept = Object.entries(env).filter(([name]) =>
    /^(DISPLAY|XAUTHORITY|XDG_\w+|LD_LIBRARY_PATH|CUDA_\w+|NVIDIA_(VISIBLE_DEVICES|DRIVER_CAPABILITIES))$/.test(
      name,
    ),
  );
  return Object.fromEntries(kept) as Record<string, string>;
}

/** Three quarters of what the machine has, in equal parts: a scene that wants more ends alone. */
function memoryOf({ memoryBytes, workers }: EndpointSettings): number {
  const all = Math.min(totalmem(), process.constrainedMemory() || Infinity);
  return memoryBytes ?? Math.floor((all * 0.75) / Math.max(1, workers));
}

function programOf({ program }: BlenderSettings, env: NodeJS.ProcessEnv): string {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const found = [program ?? [], ...folders.map((folder) => join(folder, 'blender'))].flat().find(isProgram);
  if (found !== undefined && (program === null || found === program)) return found;
  const cure = 'install Blender 3.3 or later (`apt-get install blender python3-numpy`, or from blender.org)';
  throw new Error(
    program === null
      ? `there is no program blender in PATH: ${cure}, or set \`blender: {program: /path/to/blender}\` at the endpoint`
      : `\`blender.program\` is ${program}, which is no program: ${cure}`,
  );
}

interface ContainerNeeds {
  settings: EndpointSettings;
  workload: BlenderSettings;
  name: string;
  folder: string;
  serviceId: string;
}

/** It reaches no network, sees the folders that the endpoint allows, and writes to its own alone, as root if the tool runs it so. */
function containerCommand(tool: ContainerTool, needs: ContainerNeeds): string[] {
  const { settings, workload, name, folder, serviceId } = needs;
  const seen = [dirname(handler), workload.assets, workload.scripts].filter((each) => each !== null);
  return [
    ...tool.command,
    'run',
    '--rm',
    '--interactive',
    ...capabilityArguments(settings.capabilities && [...settings.capabilities, 'DAC_OVERRIDE']),
    ...tool.containerArguments,
    '--network=none',
    `--memory=${memoryOf(settings)}b`,
    `--name=${name}`,
    `--label=${serviceLabel(serviceId)}`,
    ...seen.map((path) => `--volume=${path}:${path}:ro`),
    `--volume=${folder}:${folder}`,
    `--env=TMPDIR=${folder}`,
    `--env=BLENDER_USER_RESOURCES=${folder}`,
    workload.image ?? '',
    'blender',
  ];
}
