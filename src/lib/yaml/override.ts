/** Values of flags and environment variables in the place of the file's. */
import { isJsonObject, type JsonObject, type JsonValue } from '../text/json.ts';
import type { Path, YamlFile } from './yaml-file.ts';

export interface Override {
  path: string[];
  value: JsonValue;
  /** `--concurrency` or `NIGHTRENDER_CONCURRENCY`. */
  from: string;
}

/** The file with the overrides in it; problems with such a value name where it came from. Later overrides win. */
export function withOverrides(yaml: YamlFile, overrides: Override[]): YamlFile {
  // A file that holds something else than keys is told so, with or without flags.
  const given = yaml.value ?? {};
  if (overrides.length === 0 || !isJsonObject(given)) return yaml;
  const root: JsonObject = structuredClone(given);
  for (const { path, value } of overrides) setIn(root, path, value);
  const overriding = (path: Path): Override | undefined =>
    overrides.findLast((override) => override.path.every((key, i) => path[i] === key));
  return {
    ...yaml,
    value: root,
    placeOf: (path, ofKey) => overriding(path)?.from ?? yaml.placeOf(path, ofKey),
    fromEnvironment: (path) => (overriding(path) === undefined ? yaml.fromEnvironment(path) : 'none'),
    writtenAs: (path) => (overriding(path) === undefined ? yaml.writtenAs(path) : undefined),
  };
}

function setIn(root: JsonObject, path: string[], value: JsonValue): void {
  const [key, ...rest] = path;
  if (key === undefined) return;
  if (rest.length === 0) {
    root[key] = value;
    return;
  }
  const inner = root[key];
  const object = isJsonObject(inner) ? inner : {};
  root[key] = object;
  setIn(object, rest, value);
}
