/** The values of pipeline.yaml against its schema. */
import type { z } from 'zod';
import { isJsonObject } from '../../lib/text/json.ts';
import { checkAgainst, type Checked, type Layout } from '../../lib/yaml/check-shape.ts';
import type { YamlFile } from '../../lib/yaml/yaml-file.ts';
import { notifyTarget } from './notify-schema.ts';
import { pictureCopy } from './output-schema.ts';
import { configSchema, manifestOptionalSchema, sections, type RawConfig } from './schema.ts';

/** The configuration, or every problem that it has. */
export function checkShape(yaml: YamlFile, secrets: string[]): Checked<RawConfig> {
  return checkPart(hasLists(yaml.value) ? manifestOptionalSchema : configSchema, yaml, secrets);
}

/** As above, of a schema that knows a part of the keys only. */
export function checkPart<T>(schema: z.ZodType<T>, yaml: YamlFile, secrets: string[]): Checked<T> {
  return checkAgainst(schema, yaml, secrets, layout);
}

const layout: Layout = {
  sections,
  shapeAt: (path) => {
    if (path[0] === 'notify' && path.length === 2) return notifyTarget.shape;
    if (path[0] === 'output' && path[1] === 'formats') return pictureCopy.shape;
    const section = Object.entries(sections).find(([name]) => name === path[0]);
    return (section?.[1] ?? configSchema).shape;
  },
};

/** Whether scenes can be made of `scenes` alone, so that the manifest may be left out. */
function hasLists(value: unknown): boolean {
  const scenes = isJsonObject(value) ? value['scenes'] : undefined;
  return isJsonObject(scenes) && [scenes['matrix'], scenes['zip']].some((axes) => isJsonObject(axes));
}
