/** `nightrender serve`: the service as a program of its own. */
import { createHash } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkEndpointForm, endpointForm } from '../config/check-endpoint-form.ts';
import { ConfigError } from '../config/problem.ts';
import { readService } from '../config/read-service.ts';
import type { ServiceSettings } from '../config/service-settings.ts';
import { makeFolder } from '../disk/make-folder.ts';
import { type Page, pageShell } from '../http/page-shell.ts';
import { endpointSettings } from '../server/endpoint-settings.ts';
import { KeyBook } from '../server/keys/key-book.ts';
import type { ConsoleOptions, WorkloadContext } from '../server/service-options.ts';
import { startService } from '../server/start-service.ts';
import { findContainerTool } from '../server/workloads/container-tool.ts';
import { removeLeftContainers } from '../server/workloads/container-workload.ts';
import { showServing, showServiceTrouble } from '../terminal/show-serving.ts';
import { defaultDataDir } from './default-data-dir.ts';
import { oneText } from './one-text.ts';
import { refuse } from './refuse.ts';
import { shownPath } from './shown-path.ts';
import { untilSignal } from './until-signal.ts';
import { program } from './version.ts';
import { wholeNumber } from './whole-number.ts';
import { workloadOf, type WorkloadNeeds } from './workload-of.ts';

/** Serves until SIGINT or SIGTERM; resolves to the exit code. */
export async function serve(file: string | undefined, argv: Record<string, unknown>): Promise<number> {
  const json = argv['json'] === true;
  let dataDir: string | undefined;
  try {
    dataDir = resolve(oneText(argv, 'data') ?? defaultDataDir());
    const settings = settingsOf(file, argv);
    makeFolder(dataDir, 0o700);
    const givenKey = process.env['NIGHTRENDER_API_KEY'];
    const newKey = givenKey === undefined ? makeFirstKey(dataDir) : undefined;
    const needs = needsOf(dataDir);
    const service = await startService({
      dataDir,
      host: settings.host,
      port: settings.port,
      keys: givenKey === undefined ? [] : [givenKey],
      endpoints: settings.endpoints,
      workloadOf: (endpoint, context: WorkloadContext) => workloadOf(endpoint, context, needs),
      retentionMs: settings.retentionMs,
      maxRequestBytes: settings.limits.maxBodyBytes,
      maxResultBytes: settings.limits.maxResultBytes,
      rate: { requests: settings.limits.requestsPerSecond * 10, withinMs: 10_000 },
      maxConnections: settings.limits.maxConnections,
      requestTimeoutMs: settings.limits.requestTimeoutMs,
      console: consoleOf(settings),
      onTrouble: showServiceTrouble,
    });
    const told = untilSignal();
    const endpoints = settings.endpoints.map(({ id, name }) => ({ id, name }));
    showServing(
      {
        url: service.url,
        endpoints,
        dataDir,
        shownDataDir: shownPath(dataDir),
        newKey,
        hasGivenKey: givenKey !== undefined,
      },
      json,
    );
    await told;
    await service.close();
    return 0;
  } catch (thrown) {
    return refuse(thrown, dataDir, json);
  }
}

/** Without a file there is one endpoint, which paints. */
function settingsOf(file: string | undefined, argv: Record<string, unknown>): ServiceSettings {
  const given = ['host', 'port', 'retention'].flatMap((name) => {
    const value = argv[name];
    return value === undefined ? [] : [{ path: [name], value: value as string | number, from: `--${name}` }];
  });
  const settings = readService(file, given, process.env);
  const id = oneText(argv, 'endpoint');
  const workers = argv['workers'];
  if (file === undefined) {
    const one = endpointSettings({
      id: id ?? 'scene-renderer',
      workers: workers === undefined ? availableParallelism() : wholeNumber(argv, 'workers', 1, 1_000),
      quickStart: true,
      maxQueued: settings.limits.maxQueued,
    });
    return { ...settings, endpoints: [one] };
  }
  const misplaced = Object.entries({ endpoint: id, workers }).filter(([, value]) => value !== undefined);
  if (misplaced.length === 0) return settings;
  throw new ConfigError(
    misplaced.map(([name]) => ({
      where: `--${name}`,
      text: `with a file the endpoints stand in it; leave --${name} out`,
    })),
  );
}

/** For whoever starts the service for the first time; undefined where there is a key already. */
function makeFirstKey(dataDir: string): string | undefined {
  const keys = new KeyBook(join(dataDir, 'keys.sqlite'), { now: Date.now });
  try {
    if (keys.list().some(({ kind, revokedAt }) => kind === 'admin' && revokedAt === null)) return undefined;
    const taken = new Set(keys.list().map(({ name }) => name.toLowerCase()));
    const name = ['first', ...Array.from(taken, (_, index) => `first-${index + 2}`)].find(
      (text) => !taken.has(text),
    );
    return keys.add({ name: name ?? 'first', kind: 'admin', endpoints: null }).key;
  } finally {
    keys.close();
  }
}

function needsOf(dataDir: string): WorkloadNeeds {
  const serviceId = createHash('sha256').update(realpathSync(dataDir)).digest('hex').slice(0, 16);
  let tool: ReturnType<WorkloadNeeds['containerTool']> | undefined;
  return {
    serviceId,
    containerTool: () =>
      (tool ??= readyTool(serviceId).catch((error: unknown) => {
        tool = undefined;
        throw error;
      })),
    renderer: { path: fileURLToPath(new URL('../renderer/handler.js', import.meta.url)), environment: {} },
  };
}

/** With the containers of a service that was killed out of the way. */
async function readyTool(serviceId: string) {
  const tool = await findContainerTool();
  const left = await removeLeftContainers(tool, serviceId);
  if (left > 0) showServiceTrouble(`${left} containers of a service that was killed were removed`);
  return tool;
}

function consoleOf({ limits: { maxQueued } }: ServiceSettings): ConsoleOptions {
  return {
    page: readPage(),
    program,
    faults: null,
    notices: () => [],
    forms: {
      check: (raw, others) => checkEndpointForm(raw, { others, env: process.env, maxQueued }),
      show: endpointForm,
    },
  };
}

/** Made by the build. */
function readPage(): Page {
  const [script = '', style = ''] = ['console.js', 'console.css'].map((name) =>
    readFileSync(join(import.meta.dirname, '..', 'pages', name), 'utf8'),
  );
  const withoutScript =
    'This page needs JavaScript; <code>nightrender keys</code> and service.yaml do without.';
  return pageShell({ script, style, withoutScript });
}
