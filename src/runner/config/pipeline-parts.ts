/** Parts of a pipeline.yaml, each checked by itself, for commands that need no others. */
import { dirname, resolve } from 'node:path';
import { isPostgresAddress, postgresExpected } from '../../lib/postgres/address.ts';
import { isJsonObject } from '../../lib/text/json.ts';
import { checkAgainst } from '../../lib/yaml/check-shape.ts';
import { ConfigError } from '../../lib/yaml/problem.ts';
import type { Path, YamlFile } from '../../lib/yaml/read-yaml.ts';
import { readYamlFile, type Override } from '../../lib/yaml/yaml-file.ts';
import { filesAsked } from '../core/named-file.ts';
import type { Config } from './config.ts';
import { baseUrlExpected, endpointUrl, pipelineLayout, reportPartSchema } from './schema.ts';
import { readServiceInterface, withServiceDefaults } from './service-interface.ts';

/** The keys that decide what a report and the files beside pictures are. */
export interface ReportKeys extends Pick<Config, 'report'> {
  output: Pick<Config['output'], 'formats' | 'files' | 'keep' | 'metadata' | 'pictures'>;
}

/** A file that is read once. Problems elsewhere in it do not matter to a part: a key that is not set in this terminal, say. */
export class PipelineParts {
  readonly #file: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #yaml: YamlFile;

  /** Throws `ConfigError` if the file cannot be read. */
  constructor(file: string, overrides: Override[], env: NodeJS.ProcessEnv) {
    this.#file = file;
    this.#env = env;
    this.#yaml = readYamlFile(file, env, { overrides });
  }

  /** Returns `output.dir`, absolute. Throws `ConfigError`. */
  outputDir(): string {
    const { problems } = this.#yaml;
    const { value: dir, where, problems: atDir } = valueAt(this.#yaml, ['output', 'dir']);
    if (typeof dir !== 'string' || dir === '')
      throw new ConfigError([problems[0] ?? { where, text: 'output.dir is missing; expected a path' }]);
    if (atDir.length > 0) throw new ConfigError(atDir);
    return resolve(dirname(resolve(this.#file)), dir);
  }

  /** Returns the address of a shared checkpoint and where it stands; undefined if the batch has its own. Throws `ConfigError`. */
  checkpoint(): { address: string; where: string } | undefined {
    const { value: address, where, problems } = valueAt(this.#yaml, ['checkpoint']);
    if (problems.length > 0) throw new ConfigError(problems);
    if (address === undefined || address === null) return undefined;
    if (typeof address === 'string' && isPostgresAddress(address)) return { address, where };
    throw new ConfigError([{ where, text: `checkpoint is not valid; expected ${postgresExpected}` }]);
  }

  /** Returns `endpoint.baseUrl` as jobs are recorded under it. Throws `ConfigError`. */
  baseUrl(): string {
    const yaml = withServiceDefaults(this.#yaml, readServiceInterface(this.#yaml, this.#file, this.#env));
    const { value: baseUrl, where, problems } = valueAt(yaml, ['endpoint', 'baseUrl']);
    if (problems.length > 0) throw new ConfigError(problems);
    if (typeof baseUrl === 'string' && baseUrlExpected(baseUrl) === undefined) return endpointUrl(baseUrl);
    throw new ConfigError([
      yaml.problems[0] ?? { where, text: 'endpoint.baseUrl is not a URL; expected local or http(s)://…' },
    ]);
  }

  /** Throws `ConfigError`. */
  report(): ReportKeys {
    const { raw, problems } = checkAgainst(reportPartSchema, this.#yaml, [], pipelineLayout());
    if (raw === undefined) throw new ConfigError(problems);
    const { formats, keep, metadata, pictures, image, files } = raw.output;
    const output = { formats, keep, metadata, pictures, files: filesAsked(image, files) };
    return { report: raw.report, output };
  }
}

/** With the problems of that value alone. */
function valueAt(yaml: YamlFile, path: Path) {
  const value = path.reduce<unknown>(
    (inner, key) => (isJsonObject(inner) ? inner[String(key)] : undefined),
    yaml.value,
  );
  const where = yaml.placeOf(path);
  return { value, where, problems: yaml.problems.filter((problem) => problem.where === where) };
}
