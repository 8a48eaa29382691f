/** The environment of an endpoint's workers: names that programs can be given, with texts. */
import { z } from 'zod';
import { isJsonObject } from '../../lib/text/json.ts';

/** What a program can be told: C ends a text at a NUL. */
export const programText = z
  .string('a text')
  .max(100_000, 'a text of at most 100000 characters')
  .refine((given) => !given.includes('\0'), 'a text without NUL characters');

const environmentExpected = 'names with texts, such as {MODEL: x}';
const variableName = /^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]*$/;

/** A record of zod would lose __proto__ without a word. */
export const environment = z
  .custom<Record<string, string>>(isJsonObject, environmentExpected)
  .superRefine((given, context) => {
    for (const [name, value] of Object.entries(given)) {
      const wrongName = nameProblem(name);
      if (wrongName !== undefined)
        context.addIssue({ code: 'custom', path: [name], message: wrongName, params: { isOfName: true } });
      const read = programText.safeParse(value);
      for (const { message } of read.error?.issues ?? [])
        context.addIssue({ code: 'custom', path: [name], message });
    }
  })
  .meta({
    type: 'object',
    propertyNames: { pattern: '^(?!RUNPOD_|NIGHTRENDER_API_KEY$|__proto__$)[A-Za-z_][A-Za-z0-9_]*$' },
    additionalProperties: { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }] },
  })
  .prefault({});

function nameProblem(name: string): string | undefined {
  if (name.startsWith('RUNPOD_')) return 'another name: RUNPOD_… is what the service itself tells workers';
  if (name === 'NIGHTRENDER_API_KEY')
    return 'another name: workers have keys of their own, and never that of the service';
  return variableName.test(name) ? undefined : 'a name of letters, digits and _, with no digit in front';
}
