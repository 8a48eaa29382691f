/** An endpoint from the console, checked as one of service.yaml is, and what its form is made of. */
import { z } from 'zod';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { deepest } from '../../lib/yaml/check-shape.ts';
import type { EndpointSchema } from '../../protocol/console-data.ts';
import { endpointSettings, type EndpointSettings, type FieldProblem } from '../endpoint-settings.ts';
import { endpointSchema } from './endpoint-schema.ts';
import { readEndpoint, settingsOf, writtenEndpoint } from './read-endpoint.ts';
import type { EndpointContext } from './endpoint-rules.ts';

/** A problem is told by the path of its key, with dots within it; an empty one is the endpoint as a whole. */
export function checkEndpoint(
  given: unknown,
  context: EndpointContext & {
    /** `limits.maxQueued` of the service. */
    maxQueued: number;
    /** What is expected of `publicUrl` before a cluster can run workers; undefined where nothing is. */
    publicUrlExpected: string | undefined;
    /** Whether an endpoint may say which programs run on this machine; what `before` says stays allowed. */
    hasPrograms: boolean;
    /** The settings that are changed; undefined for a new endpoint. */
    before: EndpointSettings | undefined;
  },
): { settings: EndpointSettings } | { problems: FieldProblem[] } {
  if (!isJsonObject(given)) return { problems: [{ field: '', text: 'expected the fields of an endpoint' }] };
  const issues = endpointSchema.safeParse(given).error?.issues ?? [];
  const { draft, problems } = readEndpoint(withBounds(given), context);
  if (draft.on !== undefined && context.publicUrlExpected !== undefined)
    problems.push({
      field: 'on',
      expected: `no cluster as long as \`publicUrl\` in service.yaml is not ${context.publicUrlExpected}`,
    });
  const found = [
    ...issues.flatMap((issue) => deepest(issue)).flatMap(shapeProblems),
    ...variableProblems(given),
    ...problems.map(({ field, expected }) => ({ field, text: `expected ${expected}` })),
  ];
  if (found.length === 0) {
    const settings = settingsOf(draft, context.maxQueued);
    if (!context.hasPrograms) found.push(...programProblems(settings, context.before));
    if (found.length === 0) return { settings };
  }
  const isFirst = ({ field }: FieldProblem, index: number): boolean =>
    found.findIndex((other) => other.field === field) === index;
  return { problems: found.filter(isFirst) };
}

function programProblems(settings: EndpointSettings, before: EndpointSettings | undefined): FieldProblem[] {
  const known = before === undefined ? {} : programsIn(before);
  const isNew = ([field, value]: [string, unknown]): boolean =>
    !['null', '[]', '{}'].includes(JSON.stringify(value)) &&
    JSON.stringify(value) !== JSON.stringify(known[field]);
  const text = 'not allowed in the console (`console.programs` of service.yaml): write it into service.yaml';
  return Object.entries(programsIn(settings))
    .filter(isNew)
    .map(([field]) => ({ field, text }));
}

/** Returns what decides which programs run on this machine, by the keys of the form. Variables can name programs as well. */
function programsIn({
  workload,
  environment,
  on,
  capabilities = [],
}: EndpointSettings): Record<string, unknown> {
  // With some of them a container becomes the machine's root.
  const added = capabilities.filter((name) => name !== 'default');
  switch (workload.kind) {
    case 'command':
      return { command: [workload.command, workload.cwd], environment, on };
    case 'module':
      return { module: workload.path, environment };
    case 'image':
      return { arguments: workload.arguments, capabilities: added };
    case 'blender': {
      const { program, scripts, image } = workload;
      if (image !== null) return { 'blender.scripts': scripts, capabilities: added, on };
      return { 'blender.scripts': scripts, 'blender.program': program, environment, on };
    }
    case 'prebuilt':
      return { environment, on };
    case 'comfyui':
    case 'remote':
      return {};
  }
}

/** Adds the defaults of new endpoints: containers are kept apart unless their form says otherwise. */
function withBounds(given: JsonObject): JsonObject {
  if (given['image'] !== undefined) return { network: 'default', capabilities: [], ...given };
  return given['quickDeploy'] === 'blender' ? { capabilities: [], ...given } : given;
}

function shapeProblems(issue: z.core.$ZodIssue): FieldProblem[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({ field: [...path, key].join('.'), text: 'unknown field' }));
  const isSection = issue.code === 'invalid_type' && issue.expected === 'object';
  return [{ field: path.join('.'), text: `expected ${isSection ? 'keys with values' : issue.message}` }];
}

const noVariable = 'expected the value itself: ${NAME} works in service.yaml only';

/** Sent to a worker as they stand, they would be a wrong key. */
function variableProblems(value: JsonValue, path: string[] = []): FieldProblem[] {
  if (typeof value === 'string') {
    const isTold = value.includes('${') && path.join() !== 'name';
    return isTold ? [{ field: path.join('.'), text: noVariable }] : [];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => variableProblems(inner, [...path, key]));
}

/** As JSON Schema. Its default is what a form begins with: what holds where nothing is said, with workers that stay up. */
export function endpointFormSchema(maxQueued: number): EndpointSchema {
  const begun = endpointSettings({ id: '', quickStart: true, maxQueued });
  const schema = z.toJSONSchema(endpointSchema, { io: 'input', target: 'draft-7', unrepresentable: 'any' });
  return { ...(schema as object), default: writtenEndpoint(begun) };
}
