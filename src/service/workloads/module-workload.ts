/** A JavaScript module as a workload, in its own process so that it cannot harm the service; and the scene renderer, which is one. */
import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { packageFile } from '../../lib/files/package-file.ts';
import { filePath } from '../../lib/yaml/scalar-schemas.ts';
import { LineWorker } from './line-worker.ts';
import { processEnvironment } from './worker-environment.ts';
import { WorkerLog } from './worker-log.ts';
import { WorkerProcess } from './worker-process.ts';
import {
  type AnswerLimits,
  at,
  defineWorkload,
  deviceProblems,
  moduleExpected,
  noCluster,
  programVariables,
  type Worker,
  type WorkerContext,
  type Workload,
} from './workload-definition.ts';

export const jsModule = defineWorkload({
  key: 'module',
  fields: {
    module: filePath.regex(/\.[cm]?[jt]s$/, 'the path of a JavaScript module, such as ./handler.mjs').meta({
      title: 'File of the module',
      description: 'a JavaScript module that exports `handler`',
      examples: ['/srv/worker.mjs'],
    }),
  },
  takes: ['memory'],
  without: noCluster,
  choice: { title: 'Module', means: 'A JavaScript file that exports a handler.' },
  gpu: 'machine',
  words: ({ module }) => `Module ${basename(module)}`,
  inFolder: ({ module }, folder) => ({ module: resolve(folder, module) }),
  problems: deviceProblems,
  missing: ({ module }) => at('module', moduleExpected(module)),
  programs: ({ module, environment }) => ({ module, environment }),
  start: ({ id: endpointId, module: path, memory = null, ...settings }, { limits }) =>
    moduleWorkload({
      endpointId,
      path,
      environment: programVariables(settings),
      memoryBytes: memory,
      limits,
    }),
});

/** Allows for loading large models. */
const defaultStartTimeoutMs = 10 * 60_000;

export interface ModuleOptions {
  endpointId: string;
  /** Absolute path of the module. */
  path: string;
  environment: Readonly<Record<string, string>>;
  /** Limit of the heap and, on systems with /proc, of the memory of the process and its children. */
  memoryBytes?: number | null;
  startTimeoutMs?: number;
  /** Limits of one answer. */
  limits?: AnswerLimits | undefined;
}

/**
 * Returns a workload that calls `export async function handler({ id, input }, { log, progress })` of the module. The
 * returned value is the job's output, a thrown error is the job's error. If the handler is an async generator, each item
 * is a part for `GET /stream`, and the output is its return value or the list of its items. Printed lines are the log.
 */
export function moduleWorkload(options: ModuleOptions): Workload {
  return { name: basename(options.path), startWorker: (context) => startModule(options, context) };
}

async function startModule(
  options: ModuleOptions,
  { workerId, log, signal }: WorkerContext,
): Promise<Worker> {
  const { endpointId, path, environment, memoryBytes = null, limits } = options;
  if (!(await isFile(path))) throw new Error(`the module cannot be loaded: there is no file ${path}`);
  const process = await WorkerProcess.start({
    title: "the worker's process",
    command: [...nodeCommand(memoryBytes), path],
    cwd: null,
    environment: processEnvironment(environment, { endpointId, workerId }),
    memoryBytes,
    hasChannel: true,
    isMarked: true,
  });
  const { stdout, stderr, channel } = process.pipes;
  const workerLog = new WorkerLog(log);
  workerLog.follow(stdout);
  workerLog.follow(stderr);
  const worker = new LineWorker({ process, requests: channel, answers: channel, log: workerLog, limits });
  const stop = (): void => void worker.stop();
  signal?.addEventListener('abort', stop, { once: true });
  if (signal?.aborted === true) stop();
  try {
    await worker.untilReady(options.startTimeoutMs ?? defaultStartTimeoutMs);
    return worker;
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

function nodeCommand(memoryBytes: number | null): string[] {
  const bound = memoryBytes === null ? [] : [`--max-old-space-size=${Math.ceil(memoryBytes / 2 ** 20)}`];
  return [process.execPath, ...bound, runnerPath];
}

/** Always the built file, because Node 20 cannot run TypeScript. */
const runnerPath = packageFile('dist/service/workloads/module-runner.js');

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

export const rendererPath = packageFile('dist/renderers/scene/handler.js');

/** `quickDeploy: scene-renderer` in service.yaml: the built-in renderer, which draws scenes on the CPU. */
export const renderer = defineWorkload({
  key: 'quickDeploy',
  // Files, keys and workers elsewhere may still use the old name.
  values: {
    names: ['painter', 'scene-renderer'],
    description: '`scene-renderer` (no GPU; `painter` is its old name)',
  },
  fields: {},
  without: {
    'gpu.devices': 'no devices, since scene-renderer needs no GPU; use a label such as 24 GB',
  },
  gpu: 'needs no GPU',
  readsScenes: true,
  words: ({ quickDeploy }) => `Quick deploy: ${String(quickDeploy)}`,
  programs: ({ environment, on }) => ({ environment, on }),
  allowed: {
    notation: 'scene',
    beginnings: ['scene', 'painter'],
    read: (text) => (['scene', 'painter'].includes(text) ? { quickDeploy: 'scene-renderer' } : undefined),
  },
  nameElsewhere: (settings) => allowedName(settings),
  onCluster: (settings) => ({ allow: allowedName(settings) }),
  start: ({ id: endpointId, environment }) => ({
    ...moduleWorkload({ endpointId, path: rendererPath, environment }),
    name: 'scene-renderer',
  }),
});

/** Returns the name that `nightrender work --allow` uses. */
function allowedName({ quickDeploy }: Readonly<Record<string, unknown>>): string {
  return quickDeploy === 'painter' ? 'painter' : 'scene';
}
