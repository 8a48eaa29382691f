/** What the fields of an endpoint say of one another, of the other endpoints and of this machine. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { durationText } from '../../lib/yaml/scalar-schemas.ts';
import { setProblems } from '../../protocol/comfyui-workflow.ts';
import type { EndpointSettings, WorkloadSettings } from '../endpoint-settings.ts';
import { isLoopback } from '../service-options.ts';
import { isNetwork } from '../workloads/container-workload.ts';
import { workflowAt } from '../workloads/job-workflow.ts';

/** What could be read of each setting; undefined is what is wrong by itself, or was left out. */
export type EndpointDraft = {
  [Key in keyof EndpointSettings]?: EndpointSettings[Key] | undefined;
} & {
  /** Out of the name, since none was written. */
  isIdMade: boolean;
};

/** What is wrong with one: `field` is the path of a key of service.yaml, with dots within it. */
export interface FieldExpectation {
  field: string;
  expected: string;
}

/** What an endpoint is read beside. */
export interface EndpointContext {
  /** Absolute: what paths are relative to, and where workers of a cluster log. */
  folder: string;
  /** All others of the service. */
  others: readonly { id?: string | undefined; name?: string | undefined }[];
  /** Where programs are looked for. */
  env: NodeJS.ProcessEnv;
  /** Address of the service, if the file says it. */
  publicUrl?: string | undefined;
}

export function endpointProblems(draft: EndpointDraft, context: EndpointContext): FieldExpectation[] {
  const { workload } = draft;
  return [
    ...identityProblems(draft, context.others),
    ...timeProblems(draft),
    ...(workload === undefined ? [] : uselessSettings(draft, workload)),
    // Files of a cluster's workers are there.
    ...(workload === undefined || draft.on !== undefined
      ? []
      : workloadFileProblems(workload, context.env, draft.environment)),
    ...clusterProblems(draft),
    ...networkProblems(draft, context.publicUrl),
  ];
}

function identityProblems(
  { id, name, isIdMade }: EndpointDraft,
  others: EndpointContext['others'],
): FieldExpectation[] {
  const isTaken = (own: string | undefined, key: 'id' | 'name'): boolean =>
    own !== undefined && others.some((other) => other[key]?.toLowerCase() === own.toLowerCase());
  const found: FieldExpectation[] = [];
  if (isTaken(name, 'name')) found.push({ field: 'name', expected: 'a name that is not taken' });
  // That an id is taken which is made of a taken name follows from that.
  if (isIdMade && found.length > 0) return found;
  if (isIdMade && name !== undefined && id === undefined)
    found.push({ field: 'id', expected: 'an id, since the name has no letters or digits to make one of' });
  const taken = `an id, since ${id ?? ''}, made of the name, is taken`;
  if (isTaken(id, 'id')) found.push({ field: 'id', expected: isIdMade ? taken : 'an id that is not taken' });
  return found;
}

function timeProblems({ executionTimeoutMs, ttlMs }: EndpointDraft): FieldExpectation[] {
  if (executionTimeoutMs === undefined || ttlMs === undefined || executionTimeoutMs <= ttlMs) return [];
  return [
    {
      field: 'executionTimeout',
      expected: `at most the ttl of ${durationText(ttlMs)}, after which a job ends anyway`,
    },
  ];
}

/** What the cluster decides, or its workers cannot do. */
function clusterProblems(draft: EndpointDraft): FieldExpectation[] {
  const { on, workload, recycle, gpu, memoryBytes } = draft;
  if (on === undefined || on === null) return [];
  const found: FieldExpectation[] = [];
  const refuse = (field: string, expected: string): void => void found.push({ field, expected });
  if (workload !== undefined && !['command', 'prebuilt'].includes(workload.kind))
    refuse('on', 'no cluster: it runs a command or quickDeploy, such as [apptainer, run, --nv, worker.sif]');
  if (draft.workers === 0) refuse('workers', 'at least 1, since `on` starts no more than these');
  if (draft.quickStart === true) refuse('quickStart', 'false: `min` of `workers` keeps some');
  if (gpu !== undefined && gpu !== null && 'devices' in gpu)
    refuse('gpu.devices', 'no devices: the cluster assigns them, by options such as --gres=gpu:1');
  if (memoryBytes !== undefined && memoryBytes !== null)
    refuse('memory', 'no memory limit: the cluster has its own, by options such as --mem=16G');
  if (recycle !== undefined && (recycle.memoryBytes !== null || recycle.ms !== null))
    refuse('recycle', 'only `jobs`: the cluster limits memory and time, by options such as --time=8:00:00');
  return found;
}

/** Of the address at which workers of a cluster find the service; undefined where nothing is wrong with it. */
export function publicUrlExpected(publicUrl: string | undefined, isInsecure: boolean): string | undefined {
  if (publicUrl === undefined)
    return 'the address at which workers of a cluster reach the service, such as https://render.example';
  const { protocol, hostname } = new URL(publicUrl);
  return protocol === 'https:' || isInsecure || isLoopback(hostname.replaceAll(/[[\]]/g, ''))
    ? undefined
    : 'an https: address, or `insecure: true` in a network that you trust: anybody on the way could read keys';
}

export const serviceUrlExpected =
  'the address at which the containers reach this service, such as http://172.17.0.1:4747, or `network: host`';

/** Tells what keeps a container from its jobs, for which it asks the service. */
function networkProblems({ workload, network, serviceUrl }: EndpointDraft, publicUrl?: string) {
  if (workload?.kind !== 'image' || network === undefined) return [];
  return [
    ...at(
      'arguments',
      workload.arguments.some(isNetwork) ? 'no --network: the key `network` says it' : undefined,
    ),
    ...at('serviceUrl', network === 'host' || (serviceUrl ?? publicUrl) ? undefined : serviceUrlExpected),
  ];
}

/** What would be taken without a word and have no effect. */
function uselessSettings(draft: EndpointDraft, workload: WorkloadSettings): FieldExpectation[] {
  const found: FieldExpectation[] = [];
  const refuse = (field: string, expected: string): void => void found.push({ field, expected });
  const hasProcess = ['image', 'command', 'module', 'blender'].includes(workload.kind);
  if (!hasProcess && draft.memoryBytes !== undefined && draft.memoryBytes !== null)
    refuse('memory', 'no memory limit: only an image, a command or a module can have one');
  if (workload.kind !== 'image' && draft.cpus !== undefined && draft.cpus !== null)
    refuse('cpus', 'no processor limit: only an image can have one');
  for (const key of ['network', 'serviceUrl'] as const)
    if (workload.kind !== 'image' && draft[key] !== undefined)
      refuse(key, 'none: only an image has a network of its own');
  if (!['image', 'blender'].includes(workload.kind) && draft.capabilities !== undefined)
    refuse('capabilities', 'none: only containers have capabilities');
  const isImage = workload.kind === 'image';
  if (isImage && (draft.recycle?.memoryBytes ?? null) !== null)
    refuse('recycle.memory', 'no memory: a container has its `memory`, beyond which it is killed');
  const isBoxes = workload.kind === 'comfyui';
  const isRemote = workload.kind === 'remote';
  const why = isBoxes ? 'each ComfyUI is one worker' : isRemote ? 'its workers run elsewhere' : undefined;
  const { gpu } = draft;
  const hasDevices = gpu !== undefined && gpu !== null && 'devices' in gpu;
  if (hasDevices && (why !== undefined || workload.kind === 'prebuilt'))
    refuse(
      'gpu.devices',
      `no devices, since ${why ?? 'scene-renderer needs no GPU'}; use a label such as 24 GB`,
    );
  if (
    hasDevices &&
    ['command', 'module', 'blender'].includes(workload.kind) &&
    gpu.devices.some(isPathOrKind)
  )
    refuse(
      'gpu.devices',
      'numbers or names such as GPU-5f3c: a command or module gets them in CUDA_VISIBLE_DEVICES, which takes no paths; an image can use paths',
    );
  if (why === undefined) return found;
  if (Object.keys(draft.environment ?? {}).length > 0) refuse('environment', `no variables, since ${why}`);
  if (draft.workers !== undefined && draft.workers > 0)
    refuse('workers', `${isBoxes ? 'none' : '0'}, since ${why}`);
  if (draft.recycle !== undefined)
    refuse('recycle', `none, since ${why}${isBoxes ? '' : ': `nightrender work --recycle` replaces them'}`);
  if (draft.quickStart === true) refuse('quickStart', `false, since ${why}`);
  return found;
}

/** As /dev/dri/renderD128 and amd.com/gpu=0, which are for containers. */
function isPathOrKind(device: string): boolean {
  return device.startsWith('/') || device.includes('=');
}

/** Returns what is missing on this machine. A program is looked for where its own `environment` says, else where this one's is. */
export function workloadFileProblems(
  workload: WorkloadSettings,
  env: NodeJS.ProcessEnv,
  own: Record<string, string> = {},
): FieldExpectation[] {
  if (workload.kind === 'blender') return blenderProblems(workload);
  if (workload.kind === 'module') return at('module', moduleExpected(workload.path));
  if (workload.kind === 'comfyui') return comfyuiProblems(workload);
  if (workload.kind !== 'command') return [];
  const [program = ''] = workload.command;
  const folders = (own['PATH'] ?? env['PATH'] ?? '').split(delimiter);
  return [
    ...at('command.0', programExpected(program, folders)),
    ...scriptProblems(workload.command, workload.cwd ?? ''),
    ...at('cwd', workload.cwd === null ? undefined : folderExpected(workload.cwd)),
  ];
}

const interpreters = /(^|\/)(python|pypy|node|bun|bash|dash|sh|zsh|ruby|perl|php|lua|julia|Rscript)[\d.]*$/;
const scriptEnding = /^\S+\.(py|[cm]?[jt]s|sh|rb|pl|php|lua|jl|R)$/;
/** What follows one of these is code, or the name of a module. */
const codeOption = /^(-\w*[cm]|-p?e|-p|--eval|--print)$/;

/** The worker of `[python3, -u, worker.py]`. What other programs do with their arguments is unknown. */
function scriptProblems([program = '', ...rest]: string[], cwd: string): FieldExpectation[] {
  const index = rest.findIndex((argument) => !argument.startsWith('-'));
  const script = rest[index] ?? '';
  const hasCode = rest.slice(0, index).some((option) => codeOption.test(option));
  if (hasCode || !interpreters.test(program) || !scriptEnding.test(script)) return [];
  return at(`command.${index + 1}`, moduleExpected(resolve(cwd, script)));
}

function blenderProblems({ program, assets, scripts }: Extract<WorkloadSettings, { kind: 'blender' }>) {
  return [
    ...at('blender.program', program === null ? undefined : programExpected(program, [])),
    ...at('blender.assets', assets === null ? undefined : folderExpected(assets)),
    ...at('blender.scripts', scripts === null ? undefined : folderExpected(scripts)),
  ];
}

function comfyuiProblems({ workflow: path, set }: Extract<WorkloadSettings, { kind: 'comfyui' }>) {
  const read = workflowAt(path);
  if ('problem' in read) return at('comfyui.workflow', `a workflow in API format: ${path} ${read.problem}`);
  const problems = setProblems(read.workflow, Object.keys(set));
  return at('comfyui.set', problems.length === 0 ? undefined : `inputs of its nodes: ${problems.join('. ')}`);
}

function at(field: string, expected: string | undefined): FieldExpectation[] {
  return expected === undefined ? [] : [{ field, expected }];
}

function moduleExpected(path: string): string | undefined {
  return kindOf(path) === 'file' ? undefined : `an existing file: ${path} is not one`;
}

function folderExpected(path: string): string | undefined {
  return kindOf(path) === 'folder' ? undefined : `an existing folder: ${path} is not one`;
}

function programExpected(program: string, folders: string[]): string | undefined {
  if (!isPath(program)) {
    const isFound = folders.some((folder) => folder !== '' && isProgram(join(folder, program)));
    return isFound ? undefined : `an existing program: ${program} is in no folder of PATH`;
  }
  if (isProgram(program)) return undefined;
  if (kindOf(program) !== 'file') return `an existing program: ${program} is not one`;
  return `an executable program: run chmod +x ${program}`;
}

/** Rather than a name that is looked for in the folders of PATH. */
export function isPath(program: string): boolean {
  return program.includes('/');
}

function kindOf(path: string): 'file' | 'folder' | undefined {
  try {
    const found = statSync(path);
    if (found.isDirectory()) return 'folder';
    return found.isFile() ? 'file' : undefined;
  } catch {
    return undefined;
  }
}

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return kindOf(path) === 'file';
  } catch {
    return false;
  }
}
