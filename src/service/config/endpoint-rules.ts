/** What the fields of an endpoint say of one another, of the other endpoints and of this machine. */
import type { EndpointDraft, FieldExpectation } from './endpoint-draft.ts';
import { durationText } from '../../lib/yaml/scalar-schemas.ts';
import type { WorkloadSettings } from '../endpoint-settings.ts';
import { workloadFileProblems } from './workload-files.ts';

export interface EndpointRulesContext {
  /** All others of the service. */
  others: readonly { id?: string | undefined; name?: string | undefined }[];
  /** Where programs are looked for. */
  env: NodeJS.ProcessEnv;
}

export function endpointProblems(draft: EndpointDraft, context: EndpointRulesContext): FieldExpectation[] {
  const { workload } = draft;
  return [
    ...identityProblems(draft, context.others),
    ...timeProblems(draft),
    ...(workload === undefined ? [] : uselessSettings(draft, workload)),
    ...(workload === undefined ? [] : workloadFileProblems(workload, context.env, draft.environment)),
  ];
}

function identityProblems(
  { id, name, isIdMade }: EndpointDraft,
  others: EndpointRulesContext['others'],
): FieldExpectation[] {
  const isTaken = (own: string | undefined, key: 'id' | 'name'): boolean =>
    own !== undefined && others.some((other) => other[key]?.toLowerCase() === own.toLowerCase());
  const found: FieldExpectation[] = [];
  if (isTaken(name, 'name')) found.push({ field: 'name', expected: 'a name that no other endpoint has' });
  // That an id is taken which is made of a taken name follows from that.
  if (isIdMade && found.length > 0) return found;
  if (isIdMade && name !== undefined && id === undefined)
    found.push({ field: 'id', expected: 'one, since the name holds no letters or digits for it' });
  const taken = `one, since that of the name, ${id ?? ''}, is another endpoint's`;
  if (isTaken(id, 'id'))
    found.push({ field: 'id', expected: isIdMade ? taken : 'an id that no other endpoint has' });
  return found;
}

function timeProblems({ executionTimeoutMs, ttlMs }: EndpointDraft): FieldExpectation[] {
  if (executionTimeoutMs === undefined || ttlMs === undefined || executionTimeoutMs <= ttlMs) return [];
  return [
    {
      field: 'executionTimeout',
      expected: `a time within the ttl of ${durationText(ttlMs)}, at which a job ends in any case`,
    },
  ];
}

/** What would be taken without a word and have no effect. */
function uselessSettings(draft: EndpointDraft, workload: WorkloadSettings): FieldExpectation[] {
  const found: FieldExpectation[] = [];
  const refuse = (field: string, expected: string): void => void found.push({ field, expected });
  const hasProcess = ['image', 'command', 'module'].includes(workload.kind);
  if (!hasProcess && draft.memoryBytes !== undefined && draft.memoryBytes !== null)
    refuse('memory', 'no bound of memory, which only an image, a command or a module has');
  if (workload.kind !== 'image' && draft.cpus !== undefined && draft.cpus !== null)
    refuse('cpus', 'no bound of processors, which only the container of an image has');
  const why = whyNoProgram(workload);
  const { gpu } = draft;
  const hasDevices = gpu !== undefined && gpu !== null && 'devices' in gpu;
  if (hasDevices && (why !== undefined || workload.kind === 'prebuilt'))
    refuse('gpu.devices', `no devices of this machine, since ${why ?? vulkanChooses}; a label tells people`);
  if (hasDevices && ['command', 'module'].includes(workload.kind) && gpu.devices.some(isPathOrKind))
    refuse(
      'gpu.devices',
      'numbers or names such as GPU-5f3c, since a command or module is told of them by CUDA_VISIBLE_DEVICES, which knows no paths; an image can have those',
    );
  if (why === undefined) return found;
  if (Object.keys(draft.environment ?? {}).length > 0) refuse('environment', `no variables, since ${why}`);
  if (workload.kind !== 'remote') return found;
  if (draft.workers !== undefined && draft.workers > 0) refuse('workers', `0, since ${why}`);
  if (draft.quickStart === true) refuse('quickStart', `false, since ${why}`);
  return found;
}

/** As /dev/dri/renderD128 and amd.com/gpu=0, which are for containers. */
function isPathOrKind(device: string): boolean {
  return device.startsWith('/') || device.includes('=');
}

const vulkanChooses = 'scene-renderer works on the GPU that Vulkan offers it';

/** Why no program is started here; undefined where one is. */
function whyNoProgram(workload: WorkloadSettings): string | undefined {
  if (workload.kind === 'remote') return 'these workers are started elsewhere';
  const isPainter = workload.kind === 'prebuilt' && workload.name === 'painter';
  return isPainter ? 'the painter works within the service itself' : undefined;
}
