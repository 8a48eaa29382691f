/** Requests and forms of the console's page. */
import { type BodyContext, bodyOf } from '../request-context.ts';
import type { FieldProblem } from '../endpoint-settings.ts';
import { type HttpResponse, jsonResponse, refusal } from '../http/http-response.ts';
import type { KeyHolder } from '../keys/key.ts';

/** A request of the page, from somebody who is signed in. */
export interface ConsoleRequest extends BodyContext {
  holder: KeyHolder;
  query: URLSearchParams;
  /** What the path says in the place of ids. */
  id: string;
  workerId: string;
  /** For the audit log, if something is changed: texts by name, without secrets. */
  told: Record<string, string>;
}

export type Operation = (
  context: ConsoleRequest,
) => Promise<HttpResponse | undefined> | HttpResponse | undefined;

/** Forms and keys are small; the inputs of jobs have the bound of submissions. */
const maxFormBytes = 256 * 1024;

export async function formOf(
  context: BodyContext,
): Promise<{ form: Record<string, unknown> } | HttpResponse | undefined> {
  const body = await bodyOf(context, maxFormBytes);
  if (!Buffer.isBuffer(body)) return body;
  try {
    const form: unknown = JSON.parse(body.toString());
    if (typeof form === 'object' && form !== null && !Array.isArray(form))
      return { form: form as Record<string, unknown> };
  } catch {
    // Refused below.
  }
  return refusal(400, 'the body is not a JSON object');
}

export function problemsAnswer(problems: FieldProblem[]): HttpResponse {
  return jsonResponse({ error: 'some fields are not valid', problems }, 422);
}
