/** The key `endpoint` of pipeline.yaml: the job service. */
import { z } from 'zod';
import { duration } from '../../lib/yaml/scalar-schemas.ts';

export const endpoint = z.strictObject({
  baseUrl: z
    .string('`local` or an http(s) URL')
    .superRefine((text, context) => {
      const message = baseUrlExpected(text);
      if (message !== undefined) context.addIssue({ code: 'custom', message });
    })
    .meta({ pattern: String.raw`^(local|[Hh][Tt][Tt][Pp][Ss]?://[^\s\\?#]+)$` })
    .describe('where the service is: an http(s) URL, or `local`, which starts the local service'),
  id: z
    .string('the id of the endpoint')
    .regex(/^[A-Za-z0-9_-]{1,128}$/, 'the id of the endpoint (letters, digits, - and _)')
    .describe('the id of the endpoint'),
  version: z.enum(['v1', 'v2'], 'v1 or v2').default('v2').describe('the version of the interface'),
  apiKey: z
    .string('the key, as ${NAME} of an environment variable')
    .min(1, 'a key that is not empty')
    .optional()
    .describe('the key, out of the environment as `${NIGHTRENDER_API_KEY}`; left out for `local`'),
  freshness: duration.prefault('150s').describe('a 404 for a job younger than this means "not known yet"'),
});

/** Undefined where nothing is wrong with it. */
export function baseUrlExpected(text: string): string | undefined {
  if (text === 'local') return undefined;
  if (!/^https?:\/\/[^\s\\]+$/i.test(text)) return '`local`, or a URL that begins with http:// or https://';
  if (/[?#]/.test(text)) return 'a URL without ? and #';
  if (!URL.canParse(text)) return '`local` or an http(s) URL';
  // Also an empty user name is one, and URLs do not tell.
  if (/^https?:\/\/[^/]*@/i.test(text))
    return 'a URL without user name and password; the key belongs in apiKey';
  return undefined;
}
