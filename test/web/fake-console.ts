/** A server of the console with all data in memory, for tests of the console's page. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { builtPage } from '../../src/lib/http/http-response.ts';
import {
  checkEndpoint,
  endpointFields,
  endpointTexts,
  readCatalogue,
} from '../../src/service/config/check-endpoint.ts';
import { writtenEndpoint } from '../../src/service/config/endpoint-schema.ts';
import type { EndpointSettings } from '../../src/service/model/endpoint-settings.ts';
import { isReached, reachedBy } from '../../src/service/model/job.ts';
import type {
  AuditEntry,
  EndpointFields,
  FailedWebhooks,
  JobAction,
  JobHistoryView,
  JobView,
  KeyForm,
  KeyView,
  Overview,
} from '../../src/protocol/console-data.ts';
import { endpointView, jobView, keyView } from './console-things.ts';

export const consoleKey = 'the-key-of-the-test';

export interface FakeConsole {
  url: string;
  overview: Overview;
  /** Jobs, newest first. */
  jobs: JobView[];
  keys: KeyView[];
  audit: AuditEntry[];
  history: JobHistoryView;
  webhooks: FailedWebhooks;
  /** Methods and paths of requests. */
  asked: string[];
  /** Bodies of requests, by method and path. */
  sent: Map<string, unknown>;
  /** Description of the form of an endpoint. */
  fields: EndpointFields;
  /** Settings of the endpoint that was created or changed last. */
  runs: EndpointSettings | undefined;
  /** True if the cookie is valid. False signs everybody out. */
  isKnown: boolean;
  /** True if every request gets no answer and its connection is closed. */
  isAway: boolean;
  /** Closes connections and stops the server. */
  close(): Promise<void>;
}

interface Said {
  status: number;
  body?: object;
  cookie?: string;
}

type Request = { body: unknown; query: URLSearchParams; id: string };

export async function startFakeConsole(port = 0): Promise<FakeConsole> {
  const page = builtPage('console', 'This page needs JavaScript.');
  const state: FakeConsole = {
    url: '',
    overview: emptyOverview(),
    jobs: [],
    keys: [],
    audit: [],
    history: { since: 0, stepMs: 60_000, steps: [], delay: null, execution: null },
    webhooks: { givenUp: 0, waiting: 0, webhooks: [] },
    asked: [],
    sent: new Map(),
    fields: endpointFields(10_000),
    runs: undefined,
    isKnown: true,
    isAway: false,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  const server = createServer((request, response) => {
    if (state.isAway) return void request.socket.destroy();
    if (request.url === '/console/') {
      response.writeHead(200, { ...page.headers, 'Content-Type': 'text/html; charset=utf-8' });
      return void response.end(page.html);
    }
    void answer(state, request, response);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/console/`;
  onTestFinished(() => state.close());
  return state;
}

async function answer(state: FakeConsole, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '', state.url);
  const path = pathname.replace(/^\/console\/api\//, '');
  const body = request.method === 'POST' || request.method === 'PUT' ? await bodyOf(request) : undefined;
  const what = `${request.method} ${path}`;
  state.asked.push(what);
  if (body !== undefined) state.sent.set(what, body);
  const said = judge(state, request, what, { body, query: searchParams, id: '' });
  response.writeHead(said.status, {
    'Content-Type': 'application/json',
    ...(said.cookie !== undefined && { 'Set-Cookie': `${said.cookie}; HttpOnly; SameSite=Strict; Path=/` }),
  });
  response.end(said.body === undefined ? undefined : JSON.stringify(said.body));
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  return request.headers['content-length'] === '0' || request.headers['content-type'] === undefined
    ? {}
    : json(request);
}

function judge(state: FakeConsole, request: IncomingMessage, what: string, asked: Request): Said {
  if (request.method !== 'GET' && request.headers['x-nightrender-console'] === undefined)
    return no(403, 'The header of the console is missing.');
  if (what === 'POST session') {
    if ((asked.body as { key: string }).key !== consoleKey) return no(401, 'This key is not good here.');
    state.isKnown = true;
    return { status: 200, body: { token: 'of-the-page' }, cookie: 'console=known' };
  }
  const hasToken = request.headers['x-nightrender-console'] === 'of-the-page';
  const isSignedIn = state.isKnown && hasToken && request.headers.cookie === 'console=known';
  if (what === 'GET session') return { status: 200, body: { signedIn: isSignedIn } };
  if (!isSignedIn) return no(401, 'Sign in again.');
  for (const [pattern, act] of Object.entries(routes)) {
    const match = new RegExp(`^${pattern.replace('{id}', '([^/]+)')}$`).exec(what);
    if (match !== null) return act(state, { ...asked, id: decodeURIComponent(match[1] ?? '') });
  }
  return no(404, 'There is no such address.');
}

const routes: Record<string, (state: FakeConsole, request: Request) => Said> = {
  'DELETE session': () => ({ status: 204, cookie: 'console=' }),
  'GET overview': (state) => ({ status: 200, body: { ...state.overview, now: Date.now() } }),
  'GET catalogue': () => ({ status: 200, body: readCatalogue() }),
  'GET endpoint-fields': ({ fields }) => ({ status: 200, body: fields }),
  'GET endpoints/{id}/form': (state, { id }) => {
    const view = state.overview.endpoints.find(({ settings }) => settings.id === id);
    return view === undefined
      ? no(404, 'There is no such endpoint.')
      : { status: 200, body: endpointTexts(view.settings) };
  },
  'POST endpoints': (state, { body }) => {
    const checked = checkedBy(state, body);
    if ('refusal' in checked) return checked.refusal;
    const view = endpointView(writtenEndpoint(checked.settings));
    state.overview.endpoints.push(view);
    return { status: 201, body: view };
  },
  'PUT endpoints/{id}': (state, { body, id }) => {
    const checked = checkedBy(state, body, id);
    if ('refusal' in checked) return checked.refusal;
    const view = state.overview.endpoints.find(({ settings }) => settings.id === id);
    if (view === undefined) return no(404, 'There is no such endpoint.');
    Object.assign(view, { ...endpointView(writtenEndpoint(checked.settings)), workers: view.workers });
    return { status: 200, body: view };
  },
  'DELETE endpoints/{id}': (state, { id }) => {
    state.overview.endpoints = state.overview.endpoints.filter(({ settings }) => settings.id !== id);
    return { status: 204 };
  },
  'POST endpoints/{id}/pause': (state, { id }) => paused(state, id, true),
  'POST endpoints/{id}/resume': (state, { id }) => paused(state, id, false),
  'POST endpoints/farm/workers/{id}/drain': (state, { id }) => {
    for (const { workers } of state.overview.endpoints)
      for (const worker of workers) if (worker.id === id) worker.isDraining = true;
    return { status: 204 };
  },
  'POST endpoints/{id}/jobs': (state, { body, id }) => {
    const { input } = body as { input: Record<string, unknown> };
    if (Object.keys(input).length === 0) return no(400, 'The input is empty.');
    const summary = typeof input['scene'] === 'string' ? input['scene'] : '';
    const told = { endpointId: id, input: JSON.stringify(input), summary };
    const job = jobView({ id: `job-${state.jobs.length + 1}`, ...told });
    state.jobs.unshift(job);
    return { status: 201, body: { id: job.id } };
  },
  'GET jobs': (state, { query }) => {
    const before = state.jobs.findIndex(({ id }) => id === query.get('before'));
    const wanted = matching(state.jobs.slice(before + 1), query);
    const jobs = wanted.slice(0, 50);
    return { status: 200, body: { jobs, next: wanted.length > 50 ? jobs.at(-1)?.id : null } };
  },
  'GET jobs/(cancel|retry)': (state, { query, id }) => {
    const jobs = reachable(state, query, id).length;
    return { status: 200, body: { jobs, isMore: false } };
  },
  'POST jobs/(cancel|retry)': (state, { query, id }) => {
    const some = reachable(state, query, id);
    for (const job of some) job.status = id === 'cancel' ? 'CANCELLED' : 'IN_QUEUE';
    return { status: 200, body: { jobs: some.length, isMore: false } };
  },
  'GET history': ({ history }) => ({ status: 200, body: history }),
  'GET jobs/{id}/thumbnail': () => ({ status: 204 }),
  'GET jobs/{id}': (state, { id }) => {
    const job = state.jobs.find((each) => each.id === id);
    return job === undefined ? no(404, 'There is no such job.') : { status: 200, body: job };
  },
  'POST jobs/{id}/cancel': (state, { id }) => moved(state, id, { status: 'CANCELLED', endedAt: Date.now() }),
  'POST jobs/{id}/retry': (state, { id }) =>
    moved(state, id, { status: 'IN_QUEUE', endedAt: null, startedAt: null, error: null, retries: 1 }),
  'GET audit': ({ audit }) => ({ status: 200, body: audit }),
  'GET webhooks': ({ webhooks }) => ({ status: 200, body: webhooks }),
  'POST webhooks/send': (state) => {
    const { givenUp } = state.webhooks;
    state.webhooks = { givenUp: 0, waiting: 0, webhooks: [] };
    return { status: 200, body: { jobs: givenUp, isMore: false } };
  },
  'POST webhooks/{id}/send': ({ webhooks }, { id }) => {
    const webhook = webhooks.webhooks.find(({ job }) => job === id);
    if (webhook === undefined) return no(404, 'There is no such webhook.');
    webhook.dueAt = Date.now();
    return { status: 204 };
  },
  'GET keys': (state) => ({ status: 200, body: state.keys }),
  'POST keys': (state, { body }) => {
    const { name, kind, endpoints, ownJobs: hasOwnJobsOnly = false } = body as KeyForm;
    if (name.trim() === '')
      return {
        status: 422,
        body: { error: 'Some fields are wrong.', problems: [{ field: 'name', text: 'Give a name.' }] },
      };
    const view = keyView({ name, kind, endpoints, hasOwnJobsOnly });
    state.keys.push(view);
    return { status: 201, body: { key: `nr_secret_of_${view.id}`, view } };
  },
  'POST keys/{id}/rotate': (state, { id }) => {
    const view = state.keys.find((each) => each.id === id);
    return view === undefined
      ? no(404, 'There is no such key.')
      : { status: 200, body: { key: 'nr_rotated', view } };
  },
  'POST keys/{id}/revoke': (state, { id }) => {
    const key = state.keys.find((each) => each.id === id);
    if (key === undefined) return no(404, 'There is no such key.');
    key.revokedAt = Date.now();
    return { status: 204 };
  },
};

function matching(jobs: JobView[], query: URLSearchParams): JobView[] {
  return jobs.filter(
    (job) =>
      [null, job.endpointId].includes(query.get('endpoint')) &&
      [null, job.status].includes(query.get('status')) &&
      `${job.id} ${job.summary}`.includes(query.get('text') ?? ''),
  );
}

function reachable({ jobs }: FakeConsole, query: URLSearchParams, what: string): JobView[] {
  const action: JobAction = what === 'cancel' ? what : 'retry';
  return matching(jobs, query).filter(({ status }) => isReached(action, status));
}

function moved(state: FakeConsole, id: string, change: Partial<JobView>): Said {
  const job = state.jobs.find((each) => each.id === id);
  if (job === undefined) return no(404, 'There is no such job.');
  Object.assign(job, change);
  return { status: 200, body: { id, status: job.status } };
}

/** Checks settings as the service does. */
function checkedBy(
  state: FakeConsole,
  given: unknown,
  own?: string,
): { settings: EndpointSettings } | { refusal: Said } {
  const all = state.overview.endpoints.map(({ settings }) => settings);
  const checked = checkEndpoint(given, {
    others: all.filter(({ id }) => id !== own),
    env: process.env,
    folder: process.cwd(),
    maxQueued: 10_000,
    publicUrlExpected: undefined,
    hasPrograms: true,
    before: undefined,
  });
  if ('problems' in checked)
    return {
      refusal: { status: 422, body: { error: 'Some fields are wrong.', problems: checked.problems } },
    };
  state.runs = checked.settings;
  return checked;
}

function no(status: number, error: string): Said {
  return { status, body: { error } };
}

function emptyOverview(): Overview {
  return {
    program: 'nightrender 0.1.0',
    now: 0,
    retentionMs: 1_800_000,
    isReadOnly: false,
    file: 'service.yaml',
    gpus: [],
    containerLack: null,
    reachedBy,
    endpoints: [],
  };
}

function paused(state: FakeConsole, id: string, isPaused: boolean): Said {
  for (const endpoint of state.overview.endpoints)
    if (endpoint.settings.id === id) endpoint.isPaused = isPaused;
  return { status: 204 };
}
