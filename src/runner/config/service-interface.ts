/** Finds the interface of a pipeline's service (`endpoint.speaks`), and its defaults for other keys. */
import { similarFile } from '../../lib/files/glob.ts';
import { hash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { nodeProblem, setProblems, readWorkflow, type Workflow } from '../../protocol/comfyui-workflow.ts';
import { placeholdersIn, type ServiceDescription } from '../core/service-description.ts';
import { closest } from '../../lib/text/closest.ts';
import { canonicalJson, isJsonObject } from '../../lib/text/json.ts';
import { ConfigError } from '../../lib/yaml/problem.ts';
import type { YamlFile } from '../../lib/yaml/read-yaml.ts';
import { shownFile } from '../../lib/yaml/yaml-file.ts';
import { isKnownService, knownServices, readDescription } from './read-description.ts';

export type ServiceInterface =
  /** The interface of job services, which this program's own service has too. */
  | { kind: 'jobs' }
  | { kind: 'described'; description: ServiceDescription }
  /** `file` is absolute. `sha256` (hex) covers the content of the workflow, not its formatting. */
  | { kind: 'comfyui'; file: string; workflow: Workflow; sha256: string };

const jobs: ServiceInterface = { kind: 'jobs' };

const expected = `jobs, ${knownServices.join(', ')}, comfyui or the path of a description of your own (\`nightrender help own-service\`)`;

/** Reads `endpoint.speaks` of the file at `file`. Assumes jobs if the value is not a text. Throws `ConfigError`. */
export function readServiceInterface(yaml: YamlFile, file: string, env: NodeJS.ProcessEnv): ServiceInterface {
  const endpoint = endpointIn(yaml);
  const speaks = endpoint['speaks'] ?? 'jobs';
  const base = dirname(resolve(file));
  if (typeof speaks !== 'string' || speaks === 'jobs') return jobs;
  if (speaks === 'comfyui') return comfyui(yaml, endpoint, base);
  if (!isKnownService(speaks) && !isFile(resolve(base, speaks))) {
    const meant = closest(speaks, ['jobs', 'comfyui', ...knownServices]);
    const hint = meant === undefined ? '' : `; did you mean ${meant}?`;
    const lack = /\.ya?ml$/i.test(speaks) ? ', which is not there' : '';
    const text = `endpoint.speaks is ${JSON.stringify(speaks)}${lack}; expected ${expected}${hint}`;
    throw new ConfigError([{ where: yaml.placeOf(['endpoint', 'speaks']), text }]);
  }
  const description = readDescription(speaks, base, env);
  if (endpoint['id'] === '') {
    const text = `endpoint.id is empty; expected ${description.id}`;
    throw new ConfigError([{ where: yaml.placeOf(['endpoint', 'id']), text }]);
  }
  return { kind: 'described', description };
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** Returns the file with the service's defaults for keys that are left out. */
export function withServiceDefaults(yaml: YamlFile, service: ServiceInterface): YamlFile {
  if (service.kind === 'jobs' || !isJsonObject(yaml.value)) return yaml;
  if (service.kind === 'comfyui') {
    const { output } = yaml.value;
    if (!isJsonObject(output)) return yaml;
    // Ids of nodes look like numbers.
    const asText = (key: 'image' | 'media'): Record<string, string> =>
      typeof output[key] === 'number' ? { [key]: String(output[key]) } : {};
    return {
      ...yaml,
      value: { ...yaml.value, output: { ...output, ...asText('image'), ...asText('media') } },
    };
  }
  const { baseUrl, ...requests } = service.description;
  const names = placeholdersIn(JSON.stringify(requests));
  const defaults = {
    ...(baseUrl !== undefined && { baseUrl }),
    ...(!names.includes('id') && !names.includes('model') && { id: '' }),
  };
  return { ...yaml, value: { ...yaml.value, endpoint: { ...defaults, ...endpointIn(yaml) } } };
}

function endpointIn({ value }: YamlFile): Record<string, unknown> {
  const endpoint = isJsonObject(value) ? value['endpoint'] : undefined;
  return isJsonObject(endpoint) ? endpoint : {};
}

function comfyui(yaml: YamlFile, endpoint: Record<string, unknown>, base: string): ServiceInterface {
  const { workflow: path, set } = endpoint;
  // The schema reports what is missing.
  if (typeof path !== 'string') return { kind: 'comfyui', file: '', workflow: {}, sha256: '' };
  const problem = (text: string, key: string, inner?: string): never => {
    const where = yaml.placeOf(['endpoint', key, ...(inner === undefined ? [] : [inner])]);
    throw new ConfigError([{ where, text }]);
  };
  const file = resolve(base, path);
  const text = readText(file, (why) => problem(`endpoint.workflow: ${shownFile(file)} ${why}`, 'workflow'));
  const read = readWorkflow(text);
  if ('problem' in read) return problem(`endpoint.workflow: ${shownFile(file)} ${read.problem}`, 'workflow');
  const keys = isJsonObject(set) ? Object.keys(set) : [];
  const problems = keys.flatMap((key) =>
    [...setProblems(read.workflow, [key]), ...prefixProblem(key)].map((why) => ({
      where: yaml.placeOf(['endpoint', 'set', key], true),
      text: `endpoint.set: ${why}`,
    })),
  );
  const output = isJsonObject(yaml.value) && isJsonObject(yaml.value['output']) ? yaml.value['output'] : {};
  const report = (key: string, why: string): void =>
    void problems.push({ where: yaml.placeOf(['output', key], true), text: `output.${key}: ${why}` });
  const key = output['media'] === undefined ? 'image' : 'media';
  const { [key]: named } = output;
  // Ids of nodes look like numbers.
  const isNamed = typeof named === 'string' || typeof named === 'number';
  const chosen = isNamed ? [String(named)] : Object.keys(read.workflow);
  const ids = chosen.filter((id) => key === 'image' || (id !== 'video' && id !== 'audio'));
  const [wrongNode] = ids.flatMap((id) => nodeProblem(read.workflow, id) ?? []);
  if (wrongNode !== undefined) report(key, wrongNode);
  for (const other of ['files', 'values'])
    if (Object.hasOwn(output, other)) report(other, 'ComfyUI returns only pictures and clips');
  if (problems.length > 0) throw new ConfigError(problems);
  return {
    kind: 'comfyui',
    file,
    workflow: read.workflow,
    sha256: hash('sha256', canonicalJson(read.workflow)),
  };
}

/** Refuses to set the prefix: each job saves under a name of its own, so that ComfyUI does not answer from its cache. */
function prefixProblem(key: string): string[] {
  return key.endsWith('.filename_prefix')
    ? [`${key} is chosen by nightrender for each job; leave it out`]
    : [];
}

function readText(file: string, report: (why: string) => never): string {
  try {
    return readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return report(
      code === 'ENOENT'
        ? `is not there${similarFile(shownFile(file))}`
        : `cannot be read (${code ?? String(error)})`,
    );
  }
}
