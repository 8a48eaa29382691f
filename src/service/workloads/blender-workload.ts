/** `quickDeploy: blender` as a workload: finds Blender, and runs it as a process or in a container. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { totalmem, tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { packageFile } from '../../lib/files/package-file.ts';
import { filePath } from '../../lib/yaml/scalar-schemas.ts';
import type { EndpointSettings } from '../model/endpoint-settings.ts';
import { type ContainerTool, image, runTool } from './container-tool.ts';
import {
  at,
  defineWorkload,
  deviceProblems,
  folderExpected,
  isProgram,
  noCluster,
  programExpected,
  programVariables,
  type WorkerContext,
  type Workload,
  type WorkloadNeeds,
} from './workload-definition.ts';
import { helperEnvironment } from './worker-environment.ts';
import {
  addedCapabilities,
  capabilityArguments,
  capabilityList,
  noCapabilities,
  serviceLabel,
  unboundedCapabilities,
} from './container-workload.ts';
import { moduleWorkload } from './module-workload.ts';

const ownPath = filePath.nullable().default(null);

const section = z.strictObject({
  program: ownPath.describe('the program; else the one in PATH'),
  assets: ownPath.meta({
    title: 'Folder of files',
    description: 'the folder of .blend, glTF and OBJ files that jobs may name; none by default',
    examples: ['/srv/models'],
  }),
  scripts: ownPath.meta({
    title: 'Folder of scripts',
    description:
      'the folder of Python scripts that jobs may run, with the rights of the service; none by default',
  }),
  image: image.nullable().default(null).meta({
    title: 'Image with Blender',
    description: 'an image with Blender, in which podman or docker runs it; none by default',
  }),
});

const unsaid = section.parse({});

export const blender = defineWorkload({
  key: 'quickDeploy',
  values: { names: ['blender'], description: '`blender`, which has to be installed' },
  fields: {
    blender: section
      .optional()
      .describe('of `quickDeploy: blender`; paths are relative to the folder of service.yaml'),
    capabilities: capabilityList,
  },
  elsewhere: {
    blender: 'none: only `quickDeploy: blender` has such settings',
    capabilities: noCapabilities,
  },
  takes: ['memory'],
  without: noCluster,
  gpu: 'machine',
  words: () => 'Quick deploy: blender',
  // Blender leaks memory.
  defaults: () => ({ recycle: { jobs: 200 } }),
  consoleDefaults: { capabilities: [] },
  inFolder: ({ blender: own = unsaid }, folder) => {
    const absolute = (given: string | null): string | null => given && resolve(folder, given);
    const { program, assets, scripts } = own;
    const paths = { program: absolute(program), assets: absolute(assets), scripts: absolute(scripts) };
    return { blender: { ...own, ...paths } };
  },
  namedDefaults: ({ capabilities: kept = ['default'] }) => ({ capabilities: kept }),
  problems: deviceProblems,
  missing: ({ blender: { program, assets, scripts } = unsaid }) => [
    ...at('blender.program', program === null ? undefined : programExpected(program, [])),
    ...at('blender.assets', assets === null ? undefined : folderExpected(assets)),
    ...at('blender.scripts', scripts === null ? undefined : folderExpected(scripts)),
  ],
  unbounded: ({ blender: own, capabilities: kept }) =>
    (own?.image ?? null) === null || kept !== undefined ? [] : [unboundedCapabilities],
  programs: ({ blender: own = unsaid, capabilities: kept, environment, on }) => {
    const scripts = { 'blender.scripts': own.scripts };
    if (own.image !== null) return { ...scripts, capabilities: addedCapabilities(kept), on };
    return { ...scripts, 'blender.program': own.program, environment, on };
  },
  start: (settings, needs) => blenderWorkload(settings, needs),
});

type BlenderSettings = EndpointSettings & {
  blender?: z.output<typeof section> | undefined;
  capabilities?: string[] | undefined;
};

const handler = packageFile('dist/renderers/blender/handler.js');
const startTimeoutMs = 120_000;

export function blenderWorkload(settings: BlenderSettings, needs: WorkloadNeeds): Workload {
  const { blender: workload = unsaid } = settings;
  const environment = programVariables(settings);
  const start = async (context: WorkerContext): ReturnType<Workload['startWorker']> => {
    // Each worker writes only to its own folder, which is removed when the worker ends.
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
          : containerCommand(container, { settings, name, folder, serviceId: needs.serviceId });
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
      // The user has not configured a module, so the message does not mention it.
      const said = error instanceof Error ? error.message : String(error);
      throw new Error(said.replace(/^the module .*? cannot be loaded: /, ''), { cause: error });
    }
  };
  return { name: 'blender', startWorker: start };
}

/** Returns the service's environment variables that give Blender a display and GPUs. */
function graphics(env: NodeJS.ProcessEnv): Record<string, string> {
  const kept = Object.entries(env).filter(([name]) =>
    /^(DISPLAY|XAUTHORITY|XDG_\w+|LD_LIBRARY_PATH|CUDA_\w+|NVIDIA_(VISIBLE_DEVICES|DRIVER_CAPABILITIES))$/.test(
      name,
    ),
  );
  return Object.fromEntries(kept) as Record<string, string>;
}

/** Bytes of memory for one worker. By default, the workers share three quarters of the machine's memory equally. */
function memoryOf({ memory, workers }: EndpointSettings): number {
  const all = Math.min(totalmem(), process.constrainedMemory() || Infinity);
  return memory ?? Math.floor((all * 0.75) / Math.max(1, workers.max));
}

function programOf({ program }: z.output<typeof section>, env: NodeJS.ProcessEnv): string {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const found = [program ?? [], ...folders.map((folder) => join(folder, 'blender'))].flat().find(isProgram);
  if (found !== undefined && (program === null || found === program)) return found;
  const cure = 'install Blender 3.3 or later (`apt-get install blender python3-numpy`, or from blender.org)';
  throw new Error(
    program === null
      ? `there is no program blender in PATH: ${cure}, or set \`blender: {program: /path/to/blender}\` at the endpoint`
      : `\`blender.program\` is ${program}, which is not a program: ${cure}`,
  );
}

interface ContainerNeeds {
  settings: BlenderSettings;
  name: string;
  folder: string;
  serviceId: string;
}

/**
 * Returns the command for Blender in a container, without a network. Only the worker's own folder is writable, and
 * DAC_OVERRIDE lets root write to it.
 */
function containerCommand(tool: ContainerTool, needs: ContainerNeeds): string[] {
  const { settings, name, folder, serviceId } = needs;
  const { blender: workload = unsaid } = settings;
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
