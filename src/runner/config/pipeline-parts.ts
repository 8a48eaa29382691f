/** Parts of a pipeline.yaml that say where a batch is, each checked alone and without the schema. */
import { dirname, resolve } from 'node:path';
import { isPostgresAddress, postgresExpected } from '../../lib/postgres/address.ts';
import { isJsonObject } from '../../lib/text/json.ts';
import { ConfigError } from '../../lib/yaml/problem.ts';
import type { Path, YamlFile } from '../../lib/yaml/read-yaml.ts';
import { readYamlFile, type Override } from '../../lib/yaml/yaml-file.ts';

/**
 * A file that is read once. Problems elsewhere in it do not affect a part, such as a variable that is not set
 * in this terminal.
 */
export class PipelineParts {
  readonly file: string;
  readonly env: NodeJS.ProcessEnv;
  readonly yaml: YamlFile;

  /** Throws `ConfigError` if the file cannot be read. */
  constructor(file: string, overrides: Override[], env: NodeJS.ProcessEnv) {
    this.file = file;
    this.env = env;
    this.yaml = readYamlFile(file, env, { overrides });
  }

  /** Returns `output.dir`, absolute. Throws `ConfigError`. */
  outputDir(): string {
    const { problems } = this.yaml;
    const { value: dir, where, problems: atDir } = valueAt(this.yaml, ['output', 'dir']);
    if (typeof dir !== 'string' || dir === '')
      throw new ConfigError([problems[0] ?? { where, text: 'output.dir is missing; expected a path' }]);
    if (atDir.length > 0) throw new ConfigError(atDir);
    return resolve(dirname(resolve(this.file)), dir);
  }

  /**
   * Returns the address of a shared checkpoint and its place in the file; undefined if the batch has its own.
   * Throws `ConfigError`.
   */
  checkpoint(): { address: string; where: string } | undefined {
    const { value: address, where, problems } = valueAt(this.yaml, ['checkpoint']);
    if (problems.length > 0) throw new ConfigError(problems);
    if (address === undefined || address === null) return undefined;
    if (typeof address === 'string' && isPostgresAddress(address)) return { address, where };
    throw new ConfigError([{ where, text: `checkpoint is not valid; expected ${postgresExpected}` }]);
  }
}

/** Returns the value at `path`, its place in the file, and the problems at that place. */
export function valueAt(yaml: YamlFile, path: Path) {
  const value = path.reduce<unknown>(
    (inner, key) => (isJsonObject(inner) ? inner[String(key)] : undefined),
    yaml.value,
  );
  const where = yaml.placeOf(path);
  return { value, where, problems: yaml.problems.filter((problem) => problem.where === where) };
}
