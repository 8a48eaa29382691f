/** The console's form of an endpoint, checked by the rules of service.yaml; and the way back. */
import { z } from 'zod';
import { isJsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { EndpointForm } from '../../protocol/console-data.ts';
import { deepest, readFields } from '../../lib/yaml/check-shape.ts';
import { draftOf, settingsOf } from './endpoint-draft.ts';
import {
  blender,
  command,
  commonFields,
  cpus,
  device,
  devicesOf,
  dockerArguments,
  folderPath,
  gpuLabel,
  id,
  image,
  memory,
  modulePath,
  quickDeploy,
} from './endpoint-fields.ts';
import { endpointProblems, type EndpointRulesContext } from './endpoint-rules.ts';
import { durationText, sizeText } from '../../lib/yaml/scalar-schemas.ts';
import type { EndpointSettings } from '../endpoint-settings.ts';

export interface EndpointFormContext extends EndpointRulesContext {
  /** `limits.maxQueued` of the service. */
  maxQueued: number;
}

/** Beside a field of the form, with dots within it; an empty one is the form as a whole. */
export interface FormProblem {
  field: string;
  text: string;
}

/** An empty `id` is made of the name. */
export function checkEndpointForm(
  raw: unknown,
  context: EndpointFormContext,
): { settings: EndpointSettings } | { problems: FormProblem[] } {
  if (!isJsonObject(raw)) return { problems: [{ field: '', text: 'expected the fields of an endpoint' }] };
  const { id: givenId, ...others } = raw;
  const given = givenId === '' || givenId === undefined ? others : raw;
  const checked = formSchema.safeParse(given);
  const draft = draftOf(readFields(formSchema.shape, given), (field) => Object.hasOwn(given, field));
  const found = [
    ...(checked.error?.issues ?? []).flatMap((issue) => deepest(issue)).flatMap(shapeProblems),
    ...variableProblems(given),
    ...endpointProblems(draft, context).map(({ field, expected }) => ({
      field,
      text: `expected ${expected}`,
    })),
  ];
  if (found.length === 0) return { settings: settingsOf(draft, context.maxQueued) };
  const problems = found.filter(
    ({ field }, index) => found.findIndex((other) => other.field === field) === index,
  );
  return { problems };
}

/** Durations and sizes as people write them; checked again, it gives the same settings. */
export function endpointForm(settings: EndpointSettings): EndpointForm {
  const { memoryBytes, executionTimeoutMs, ttlMs, ...others } = settings;
  const { on: _on, minWorkers: _min, idleMs: _idle, recycle: _recycle, stallMs: _stall, ...alike } = others;
  return {
    ...alike,
    memory: memoryBytes === null ? null : sizeText(memoryBytes),
    executionTimeout: durationText(executionTimeoutMs),
    ttl: durationText(ttlMs),
  };
}

const kindExpected = 'a workload: prebuilt, image, command, module or remote';

const workload = z.discriminatedUnion(
  'kind',
  [
    z.strictObject({ kind: z.literal('prebuilt'), name: quickDeploy.exclude(['blender']) }),
    blender.extend({ kind: z.literal('blender') }),
    z.strictObject({ kind: z.literal('image'), image, arguments: dockerArguments.default([]) }),
    z.strictObject({ kind: z.literal('command'), command, cwd: folderPath.nullable().default(null) }),
    z.strictObject({ kind: z.literal('module'), path: modulePath }),
    z.strictObject({ kind: z.literal('remote') }),
  ],
  kindExpected,
);

const gpu = z.union(
  [z.strictObject({ label: gpuLabel }), z.strictObject({ devices: devicesOf(device) })],
  'a label such as 24 GB, or devices of this machine',
);

const formSchema = z.strictObject({
  ...commonFields,
  id: id.optional(),
  workload,
  gpu: gpu.nullable().default(null),
  memory: memory.nullable().default(null),
  cpus: cpus.nullable().default(null),
});

function shapeProblems(issue: z.core.$ZodIssue): FormProblem[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({ field: [...path, key].join('.'), text: 'unknown field' }));
  return [{ field: path.join('.'), text: `expected ${issue.message}` }];
}

const noVariable = 'expected the value itself: ${NAME} works in service.yaml only';

/** Sent to a worker as they stand, they would be a wrong key. */
function variableProblems(value: JsonValue, path: string[] = []): FormProblem[] {
  if (typeof value === 'string') {
    const isTold = value.includes('${') && path.join() !== 'name';
    return isTold ? [{ field: path.join('.'), text: noVariable }] : [];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => variableProblems(inner, [...path, key]));
}
