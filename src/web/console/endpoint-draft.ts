/** An endpoint as it stands in the form: what is typed, before it is one that the service could take. */
import type { EndpointForm } from '../../protocol/console-data.ts';
import type { Problem } from './ask.ts';
import { joinWords, splitWords } from './command-words.ts';

/** What each part of the form is given. */
export interface PartProps {
  draft: Draft;
  /** By field. */
  problems: Record<string, string>;
  onChange(change: Partial<Draft>): void;
}

export type Runs = 'painter' | 'scene-renderer' | 'blender' | 'image' | 'command' | 'module' | 'remote';

export const gpuSizes = ['16 GB', '24 GB', '32 GB', '48 GB', '80 GB'] as const;

export const emptyDraft = {
  name: '',
  id: '',
  /** Until it is, the id follows the name. */
  isIdTyped: false,
  runs: 'painter' as Runs,
  image: '',
  imageArguments: '',
  command: '',
  cwd: '',
  modulePath: '',
  assets: '',
  scripts: '',
  workers: '1',
  quickStart: true,
  gpu: 'none' as 'none' | 'label' | 'devices' | (typeof gpuSizes)[number],
  gpuLabel: '',
  gpuDevices: '',
  memory: '',
  cpus: '',
  environment: [] as { key: number; name: string; value: string }[],
  retries: '2',
  executionTimeout: '10m',
  ttl: '24h',
  maxQueued: '10000',
};

export type Draft = typeof emptyDraft;

/** What stands in an address, made of a name: `My renderer (2)` becomes `my-renderer-2`. */
export function idFromName(name: string): string {
  const plain = name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  return plain
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 64)
    .replaceAll(/^-+|-+$/g, '');
}

export function draftOf(form: EndpointForm): Draft {
  const { workload, gpu } = form;
  return {
    ...emptyDraft,
    name: form.name,
    id: form.id,
    isIdTyped: true,
    runs: workload.kind === 'prebuilt' ? workload.name : workload.kind,
    ...(workload.kind === 'image' && {
      image: workload.image,
      imageArguments: joinWords(workload.arguments),
    }),
    ...(workload.kind === 'command' && { command: joinWords(workload.command), cwd: workload.cwd ?? '' }),
    ...(workload.kind === 'module' && { modulePath: workload.path }),
    ...(workload.kind === 'blender' && { assets: workload.assets ?? '', scripts: workload.scripts ?? '' }),
    workers: String(form.workers),
    quickStart: form.quickStart,
    ...gpuDraft(gpu),
    memory: form.memory ?? '',
    cpus: form.cpus === null ? '' : String(form.cpus),
    environment: Object.entries(form.environment).map(([name, value], key) => ({ key, name, value })),
    retries: String(form.retries),
    executionTimeout: form.executionTimeout,
    ttl: form.ttl,
    maxQueued: String(form.maxQueued),
  };
}

function gpuDraft(gpu: EndpointForm['gpu']): Pick<Draft, 'gpu' | 'gpuLabel' | 'gpuDevices'> {
  const none = { gpu: 'none', gpuLabel: '', gpuDevices: '' } as const;
  if (gpu === null) return none;
  if ('devices' in gpu) return { ...none, gpu: 'devices', gpuDevices: gpu.devices.join(', ') };
  const size = gpuSizes.find((each) => each === gpu.label);
  return size === undefined ? { ...none, gpu: 'label', gpuLabel: gpu.label } : { ...none, gpu: size };
}

/** Whether a program is started here for its workers, which an environment could be given to. */
export function hasProgram({ runs }: Draft): boolean {
  return runs !== 'painter' && runs !== 'remote';
}

/** Whether its memory can be bounded. */
export function hasProcess({ runs }: Draft): boolean {
  return runs === 'blender' || runs === 'image' || runs === 'command' || runs === 'module';
}

/** Whether its workers can be given devices: which GPU scene-renderer works on is for Vulkan to say. */
export function hasDevices(draft: Draft): boolean {
  return hasProgram(draft) && draft.runs !== 'scene-renderer';
}

/** Whether its processors can be bounded. */
export function hasContainer({ runs }: Draft): boolean {
  return runs === 'image';
}

/** What the service is sent, or what cannot even be sent; all else is for the service to judge. */
export function formOf(draft: Draft): { form: EndpointForm } | { problems: Problem[] } {
  const problems: Problem[] = [];
  const number = (field: 'workers' | 'cpus' | 'retries' | 'maxQueued', isWhole = true): number => {
    const text = draft[field].trim();
    if (!(isWhole ? /^\d{1,9}$/ : /^\d{1,9}(\.\d{1,9})?$/).test(text))
      problems.push({
        field,
        text: `Give a ${isWhole ? 'whole ' : ''}number${text === '' ? '' : `, not “${text}”`}.`,
      });
    return Number(text);
  };
  const words = (field: string, line: string): string[] => {
    const cut = splitWords(line);
    if (cut === undefined) problems.push({ field, text: 'A quote is not closed.' });
    return cut ?? [];
  };
  const isRemote = draft.runs === 'remote';
  const form: EndpointForm = {
    id: draft.id.trim(),
    name: draft.name.trim(),
    workload: workloadOf(draft, words),
    workers: isRemote ? 0 : number('workers'),
    quickStart: draft.quickStart && !isRemote,
    gpu: gpuOf(draft),
    memory: !hasProcess(draft) || draft.memory.trim() === '' ? null : draft.memory.trim(),
    cpus: !hasContainer(draft) || draft.cpus.trim() === '' ? null : number('cpus', false),
    environment: hasProgram(draft) ? environmentOf(draft, problems) : {},
    retries: number('retries'),
    executionTimeout: draft.executionTimeout.trim(),
    ttl: draft.ttl.trim(),
    maxQueued: number('maxQueued'),
  };
  return problems.length > 0 ? { problems } : { form };
}

function workloadOf(
  draft: Draft,
  words: (field: string, line: string) => string[],
): EndpointForm['workload'] {
  switch (draft.runs) {
    case 'painter':
    case 'scene-renderer':
      return { kind: 'prebuilt', name: draft.runs };
    case 'blender': {
      const [assets, scripts] = [draft.assets.trim() || null, draft.scripts.trim() || null];
      return { kind: 'blender', program: null, assets, scripts, image: null };
    }
    case 'image':
      return {
        kind: 'image',
        image: draft.image.trim(),
        arguments: words('workload.arguments', draft.imageArguments),
      };
    case 'command':
      return {
        kind: 'command',
        command: words('workload.command', draft.command),
        cwd: draft.cwd.trim() === '' ? null : draft.cwd.trim(),
      };
    case 'module':
      return { kind: 'module', path: draft.modulePath.trim() };
    case 'remote':
      return { kind: 'remote' };
  }
}

function gpuOf(draft: Draft): EndpointForm['gpu'] {
  const { gpu, gpuLabel, gpuDevices } = draft;
  if (gpu === 'none' || (gpu === 'devices' && !hasDevices(draft))) return null;
  if (gpu === 'devices') return { devices: gpuDevices.split(/[\s,]+/).filter((device) => device !== '') };
  return { label: gpu === 'label' ? gpuLabel.trim() : gpu };
}

/** Rows that were left empty are none. */
function environmentOf({ environment }: Draft, problems: Problem[]): Record<string, string> {
  const rows = environment
    .map(({ name, value }) => ({ name: name.trim(), value }))
    .filter(({ name, value }) => name !== '' || value !== '');
  const names = rows.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (names.includes('')) problems.push({ field: 'environment', text: 'A value has no name.' });
  else if (twice !== undefined) problems.push({ field: 'environment', text: `${twice} is given twice.` });
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}
