/** Types of the console's requests and of the services behind them, and functions that read its forms. */
import { type HttpResponse, type Page, refusal } from '../../lib/http/http-response.ts';
import { objectIn } from '../../lib/text/json.ts';
import type { TrustedProxies } from '../../lib/net/addresses.ts';
import type { CatalogueEntry, EndpointFields, EndpointView, Overview } from '../../protocol/console-data.ts';
import type { AuditLog } from '../keys/audit-log.ts';
import type { EndpointSettings, FieldProblem } from '../model/endpoint-settings.ts';
import type { Endpoints } from '../workers/endpoints.ts';
import type { Connections } from '../http/connections.ts';
import type { JobOperations } from '../api/job-operations.ts';
import type { JobStore } from '../jobs/job-store.ts';
import type { Admission } from '../keys/admission.ts';
import type { KeyStore } from '../keys/key-store.ts';
import type { Quotas } from '../api/quotas.ts';
import { type BodyContext, bodyOf } from '../api/request-context.ts';
import type { KeyHolder } from '../model/key.ts';

export interface ConsoleService {
  store: JobStore;
  endpoints: Endpoints;
  jobs: JobOperations;
  forms: EndpointForms;
  /** Facts that stay the same while the service runs. */
  about: Pick<Overview, 'program' | 'retentionMs' | 'file'>;
  gpus: () => string[] | null;
  containerLack: () => string | null;
  now: () => number;
  keys: KeyStore;
  /** Returns a small JPEG; undefined if the data is not a picture. */
  thumbnailOf: (picture: Buffer) => Promise<Buffer | undefined>;
  quotas: Quotas;
  page: Page;
  manual: (topic: string) => string | undefined;
  catalogue: CatalogueEntry[];
  admission: Admission;
  audit: AuditLog;
  proxies: TrustedProxies;
  connections: Connections;
  /** Identifies the service: its machine and file, or its database. */
  place: string;
}

/** Converts between the settings of an endpoint and the console's form. */
export interface EndpointForms {
  /** Checks a form. `others`: all other endpoints. `before`: the settings to change; undefined for a new endpoint. */
  check(
    raw: unknown,
    others: EndpointSettings[],
    before: EndpointSettings | undefined,
  ): { settings: EndpointSettings } | { problems: FieldProblem[] };
  show(settings: EndpointSettings): EndpointView['settings'];
  /** Returns shown settings as the texts of the form. */
  texts(shown: EndpointView['settings']): object;
  fields(): EndpointFields;
}

/** Request of the page by a user who is signed in. */
export interface ConsoleRequest extends BodyContext {
  holder: KeyHolder;
  query: URLSearchParams;
  /** Id in the path of the request; empty if the path has none. */
  id: string;
  workerId: string;
  /** Details for the audit log of changes, by name. Must not contain secrets. */
  told: Record<string, string>;
}

export type Operation = (
  context: ConsoleRequest,
) => Promise<HttpResponse | undefined> | HttpResponse | undefined;

/** Maximum size of a form. Inputs of jobs have the limit of submissions instead. */
const maxFormBytes = 256 * 1024;

export async function formOf(
  context: BodyContext,
): Promise<{ form: Record<string, unknown> } | HttpResponse | undefined> {
  const body = await bodyOf(context, maxFormBytes);
  if (!Buffer.isBuffer(body)) return body;
  const form = objectIn(body.toString());
  return form === undefined ? refusal(400, 'the body is not a JSON object') : { form };
}
