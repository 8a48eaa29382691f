/** Reads the catalogue of quick deploy: what the console offers, what each needs, its input and an example. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { CatalogueEntry } from '../../protocol/console-data.ts';
import { packageFile } from '../../lib/files/package-file.ts';
import { readYaml } from '../../lib/yaml/read-yaml.ts';
import { quickDeploy } from '../config/endpoint-schema.ts';
import { image } from '../config/image-name.ts';

const text = z.string().trim().min(1).max(200);
const gigabytes = z.number().min(0).max(1000);

export const catalogueSchema: z.ZodType<CatalogueEntry[]> = z.array(
  z.strictObject({
    id: z.string().regex(/^[a-z0-9-]+$/),
    title: text,
    text,
    runs: z.union([z.strictObject({ quickDeploy }), z.strictObject({ image })]),
    environment: z.record(z.string(), z.string()).default({}),
    needs: z.strictObject({ gpu: gigabytes, disk: gigabytes, pull: gigabytes }),
    input: z.record(z.string(), text),
    example: z.record(z.string(), z.json()),
  }),
);

/** Throws where it is not as it must be. */
export function readCatalogue(): CatalogueEntry[] {
  const file = packageFile('src/service/catalogue.yaml');
  return catalogueSchema.parse(readYaml(file, readFileSync(file, 'utf8'), {}).value);
}
