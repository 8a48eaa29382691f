/** Requests and forms of the console's page. */
import type { IncomingMessage } from 'node:http';
import { bodyOf } from '../request-context.ts';
import type { FieldProblem } from '../endpoint-settings.ts';
import { type HttpResponse, jsonResponse, refusal } from '../http/http-response.ts';
import type { KeyHolder } from '../keys/key.ts';

/** A request of the page, from somebody who is signed in. */
export interface ConsoleRequest {
  request: IncomingMessage;
  sendContinue: (maxBytes?: number) => void;
  gone: AbortSignal;
  holder: KeyHolder;
  query: URLSearchParams;
  /** What the path says in the place of ids. */
  id: string;
  workerId: string;
}

export type Operation = (
  context: ConsoleRequest,
) => Promise<HttpResponse | undefined> | HttpResponse | undefined;

/** Forms and keys are small; the inputs of jobs have the bound of submissions. */
const maxFormBytes = 256 * 1024;

export async function formOf(
  context: Pick<ConsoleRequest, 'request' | 'sendContinue' | 'gone'>,
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
