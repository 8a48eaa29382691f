/** Reads the parts of a pipeline.yaml that decide how it runs on a cluster. */
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { checkAgainst } from '../../lib/yaml/check-shape.ts';
import { ConfigError, type Problem } from '../../lib/yaml/problem.ts';
import { path } from '../../lib/yaml/scalar-schemas.ts';
import type { Path, YamlFile } from '../../lib/yaml/read-yaml.ts';
import { readYamlFile, type Override } from '../../lib/yaml/yaml-file.ts';
import { manifestFiles } from './config.ts';
import { limits, shutdown } from './run-schema.ts';
import { scenes } from './scene-schema.ts';
import { sendsFiles } from './input-template.ts';
import { pipelineLayout } from './pipeline-schema.ts';
import { isKnownService } from './read-description.ts';
import { readServiceInterface, withServiceDefaults, type ServiceInterface } from './service-interface.ts';

export interface SubmissionSettings {
  /** Folder of pipeline.yaml, absolute. */
  folder: string;
  /** Output folder, absolute. */
  dir: string;
  /** Every list and file that a run reads, absolute; `-` is standard input. */
  lists: string[];
  /** True if several runners can share the checkpoint. */
  hasSharedCheckpoint: boolean;
  checkpointVariables: string[];
  hasBucket: boolean;
  sendsFiles: boolean;
  /** Environment variables that a run needs. */
  variables: string[];
  /** Places in the file where a key, or an address that may have a password, is written. */
  writtenSecrets: string[];
  memoryBytes: number;
  graceMs: number;
  /** Problems in the file that do not prevent reading it, such as variables that are not set here. */
  unset: Problem[];
  placeOf: YamlFile['placeOf'];
}

const submissionPart = z.looseObject({
  manifest: z.union([path, z.array(path)]).default([]),
  scenes: scenes.optional(),
  endpoint: z.looseObject({ baseUrl: z.string('`local` or an http(s) URL'), apiKey: z.unknown().optional() }),
  output: z.looseObject({ dir: path, pictures: z.unknown().optional() }),
  input: z.unknown().optional(),
  checkpoint: z.unknown().optional(),
  notify: z.unknown().optional(),
  limits: limits.prefault({}),
  shutdown: shutdown.prefault({}),
});

/** Throws `ConfigError`. */
export function readSubmission(
  file: string,
  overrides: Override[],
  env: NodeJS.ProcessEnv,
): SubmissionSettings {
  const read = readYamlFile(file, env, { overrides });
  const service = readServiceInterface(read, file, env);
  const yaml = withServiceDefaults(read, service);
  const { raw, problems } = checkAgainst(submissionPart, yaml, [], pipelineLayout(service.kind));
  if (raw === undefined || yaml.isBroken) throw new ConfigError([...yaml.problems, ...problems]);
  const folder = dirname(resolve(file));
  const { manifest, endpoint, output, checkpoint, input } = raw;
  const dir = resolve(folder, output.dir);
  const resolved = (lists: string | string[]): string[] =>
    [lists].flat().map((list) => (list === '-' ? list : resolve(folder, list)));
  const axes = [...(raw.scenes?.matrix ?? []), ...(raw.scenes?.zip ?? [])];
  const axisFiles = axes.flatMap(([, source]) => (source.kind === 'file' ? [source.path] : []));
  const named = variablesIn(yaml, yaml.value);
  const isLocal = endpoint.baseUrl === 'local';
  const key = 'NIGHTRENDER_API_KEY';
  const all = isLocal ? named.filter((name) => name !== key) : named;
  const needsKey =
    service.kind === 'jobs' && !isLocal && endpoint.apiKey === undefined && endpoint['version'] !== 'dev';
  const notices = Array.isArray(raw.notify) ? raw.notify : [];
  const addresses = notices.flatMap((_, i) =>
    ['ping', 'slack', 'webhook'].map((kind): Path => ['notify', i, kind]),
  );
  const secrets: Path[] = [['endpoint', 'apiKey'], ['endpoint', 'comfyApiKey'], ['checkpoint'], ...addresses];
  return {
    folder,
    dir,
    lists: [
      ...manifestFiles(resolved(manifest), dir).map(({ path: list }) => list),
      ...resolved([axisFiles, filesOf(service, endpoint)].flat()),
    ],
    hasSharedCheckpoint: typeof checkpoint === 'string',
    checkpointVariables: variablesIn(yaml, checkpoint, ['checkpoint']),
    hasBucket: typeof output.pictures === 'string' && output.pictures.startsWith('s3:'),
    sendsFiles: sendsFiles(JSON.stringify([input, endpoint['set']])),
    variables: [...new Set([...all, ...(needsKey ? [key] : [])])],
    writtenSecrets: secrets
      .filter((at) => textAt(yaml.value, at) !== undefined && yaml.fromEnvironment(at) === 'none')
      .map((at) => yaml.placeOf(at)),
    memoryBytes: raw.limits.memory,
    graceMs: raw.shutdown.grace,
    unset: isLocal
      ? yaml.problems.filter(({ where }) => where !== yaml.placeOf(['endpoint', 'apiKey']))
      : yaml.problems,
    placeOf: yaml.placeOf,
  };
}

/** Returns the other files that `endpoint` names: a workflow, or the user's own description of a service. */
function filesOf({ kind }: ServiceInterface, { workflow, speaks }: Record<string, unknown>): string[] {
  const file = kind === 'comfyui' ? workflow : speaks;
  return typeof file === 'string' && kind !== 'jobs' && !isKnownService(file) ? [file] : [];
}

/** Returns the variables in values. Comments may name variables that nobody needs. */
function variablesIn(yaml: YamlFile, value: unknown, at: Path = []): string[] {
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([key, inner]) => variablesIn(yaml, inner, [...at, key]));
  const written = yaml.writtenAs(at) ?? '';
  return [...written.matchAll(/(\$?)\$\{(\w+)\}/g)].flatMap(([, escape, name = '']) =>
    escape === '' ? [name] : [],
  );
}

function textAt(value: unknown, at: Path): string | undefined {
  const found = at.reduce<unknown>(
    (inner, key) => (inner as Record<string, unknown> | null | undefined)?.[String(key)],
    value,
  );
  return typeof found === 'string' ? found : undefined;
}
