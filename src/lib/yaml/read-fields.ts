/** What can be read of an object of which something may be wrong: each field by itself. */
import type { z } from 'zod';

/** Without those that are wrong. */
export function readFields<Shape extends z.ZodRawShape>(
  shape: Shape,
  given: Record<string, unknown>,
): { [Key in keyof Shape]?: z.output<Shape[Key]> } {
  const fields: Record<string, unknown> = {};
  for (const [key, schema] of Object.entries(shape)) {
    const read = (schema as z.ZodType).safeParse(given[key]);
    if (read.success) fields[key] = read.data;
  }
  return fields as { [Key in keyof Shape]?: z.output<Shape[Key]> };
}
