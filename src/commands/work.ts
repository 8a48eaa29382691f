/** `nightrender work`: makes this machine a worker of a service elsewhere. */
import { textIn } from './reply.ts';
import { isLoopback } from '../lib/net/addresses.ts';
import { formatInstant } from '../lib/text/format.ts';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { makeFolder } from '../runner/files/folders.ts';
import { describeMachine } from '../service/agent/reporter.ts';
import { runAgent } from '../service/agent/agent.ts';
import { RefusedForGood, ServiceClient } from '../service/agent/service-client.ts';
import { endpointSettings } from '../service/model/endpoint-settings.ts';
import { hideEnvironment } from '../service/workloads/worker-environment.ts';
import { lockDataFolder } from '../service/jobs/data-folder.ts';
import {
  type AllowedWorkload,
  clusterSuffix,
  isNamedBy,
  readAllowed,
  workloadOf,
} from '../service/workloads/workload-of.ts';
import { type LoadedCommand, commonExits, textOption, oneText, wholeNumber } from './command.ts';
import { refuseService, defaultDataDir, printServiceFailure } from './service-data.ts';
import { StoppedEarly } from '../runner/pipeline/stop.ts';
import { removeContainersLeftIn, workloadNeeds } from '../service/workloads/machine-needs.ts';
import { writeOut, writeJsonLine } from '../terminal/terminal.ts';
import { escapeControls } from '../terminal/fit-text.ts';
import { z } from 'zod';
import { ConfigError } from '../lib/yaml/problem.ts';
import { durationWithin, longestWait } from '../lib/yaml/scalar-schemas.ts';
import { fitsHeader } from '../service/model/key.ts';

const keyName = 'NIGHTRENDER_WORKER_KEY';

export const workCommand: LoadedCommand = {
  purpose: `Takes jobs of an endpoint of a service elsewhere, on this machine. It runs only workloads that --allow names. The key is ${keyName} (on the service: nightrender keys add NAME --kind worker --endpoint ID). SIGTERM and Ctrl-C end it when its job is done; a second one gives the job back at once.`,
  positionals: { service: { type: 'string', demandOption: true, describe: 'address of the service' } },
  options: {
    endpoint: { ...textOption, demandOption: true, describe: 'id of the endpoint to work for' },
    allow: {
      ...textOption,
      describe:
        'allowed workloads: scene (default), command:LINE or image:NAME; several with commas, the endpoint decides which runs',
    },
    gpu: { ...textOption, describe: 'number of the GPU to use (default: all)' },
    jobs: { requiresArg: true, describe: 'jobs at once (default: 1)' },
    idle: { ...textOption, describe: 'end after this long without a job, such as 5m (default: never)' },
    grace: { ...textOption, describe: 'how long a job may take to end after a signal (default: 10m)' },
    recycle: { requiresArg: true, describe: 'restart the workload after this many jobs (default: never)' },
    env: { ...textOption, describe: 'variables for the workload, with commas, such as HF_TOKEN' },
    insecure: {
      type: 'boolean',
      describe: 'allow http: to another machine: key and pictures can be read on the way',
    },
    data: {
      ...textOption,
      describe: 'folder of its lock (default: ~/.local/share/nightrender)',
    },
    json: { type: 'boolean', describe: 'each line as JSON' },
  },
  examples: [
    ['$0 work https://render.example --endpoint gpu-farm', 'the scene renderer, one job at a time'],
    [
      '$0 work https://render.example --endpoint farm --gpu 1 --allow image:me/worker:2',
      'a container on GPU 1',
    ],
    [
      '$0 work https://render.example --endpoint farm --allow "command:python3 worker.py" --idle 5m',
      'a program',
    ],
  ],
  exits: {
    ...commonExits,
    complete: 'ended normally: by a signal, drained or idle',
    'wrong-use': 'wrong use, or the service refused key, endpoint or worker',
    'already-running': 'another worker uses this folder for this endpoint and GPU',
  },
  work: (argv) => work(argv),
};

async function work(argv: Record<string, unknown>): Promise<number> {
  const json = argv['json'] === true;
  let dataDir: string | undefined;
  // Programs of the same user, such as the workload, could read the worker's key there.
  hideEnvironment();
  try {
    const wanted = workOptions(argv);
    dataDir = join(wanted.dataDir, 'work', `${wanted.endpointId}-gpu${wanted.gpu ?? '-any'}`);
    makeFolder(dataDir, 0o700);
    const lock = lockDataFolder(join(dataDir, 'lock.sqlite'));
    try {
      const why = await workUntilEnded(wanted, dataDir, (text) => printWork(text, json));
      printWork(`Ended: ${why}.`, json);
      return 0;
    } finally {
      lock.release();
    }
  } catch (thrown) {
    const refused =
      thrown instanceof RefusedForGood
        ? new StoppedEarly(
            { kind: 'wrong-use', text: `The service refused this worker (${thrown.message})` },
            `Check ${keyName}, --endpoint and the address. No job is lost: another worker gets its job.`,
          )
        : thrown;
    return refuseService(refused, dataDir, json);
  }
}

async function workUntilEnded(
  wanted: WorkOptions,
  dataDir: string,
  say: (text: string) => void,
): Promise<string> {
  const { url, endpointId, workerKey, gpu, jobs, graceMs } = wanted;
  const needs = workloadNeeds(dataDir, printServiceFailure);
  removeContainersLeftIn(dataDir, needs, printServiceFailure);
  const { drain, leave, endAll, close } = listenForSignals(graceMs, say);
  const machine = (signal: AbortSignal) => describeMachine(gpu, signal);
  const name = `${safeHost()}-gpu${gpu ?? '-any'}-${process.pid}${clusterSuffix(process.env)}`;
  try {
    const clientOf = (workerId: string) => new ServiceClient({ url, endpointId, workerId, workerKey }, say);
    const chosen = await chosenOf(wanted, () => clientOf(name), drain);
    if (chosen === undefined) return 'it was told to end';
    const { environment } = wanted;
    const devices = gpu === undefined ? undefined : { devices: [gpu] };
    const settings = endpointSettings({ id: endpointId, gpu: devices, environment }, chosen);
    const workload = workloadOf(settings).start?.(settings, { url, workerKey, ...needs });
    if (workload === undefined) throw new Error('there is nothing to run');
    say(`Working for ${endpointId} at ${url} as ${name}; Ctrl-C ends it.`);
    const slots = Array.from({ length: jobs }, async (_, slot) => {
      const workerId = jobs === 1 ? name : `${name}.${slot + 1}`;
      const client = clientOf(workerId);
      try {
        return await runAgent({ ...wanted, client, workerId, workload, machine, drain, leave, onEvent: say });
      } catch (error) {
        // The other slots finish their jobs.
        endAll();
        throw error;
      } finally {
        await client.close();
      }
    });
    await Promise.allSettled(slots);
    const [why = ''] = await Promise.all(slots);
    return why;
  } finally {
    close();
  }
}

/**
 * Returns the workload: the only allowed one, or that of the endpoint; undefined after an abort. Throws
 * `ConfigError` if the endpoint names none of them.
 */
async function chosenOf(
  { allowed, endpointId }: WorkOptions,
  openClient: () => ServiceClient,
  signal: AbortSignal,
): Promise<AllowedWorkload['keys'] | undefined> {
  const [first] = allowed;
  if (first !== undefined && allowed.length === 1) return first.keys;
  const client = openClient();
  try {
    const answer = await client.report({ state: 'working' }, signal);
    const runs = 'refusal' in answer ? null : answer.runs;
    const named = runs === null ? undefined : allowed.find((each) => isNamedBy(each, runs));
    if (named !== undefined) return named.keys;
    throw problem(
      '--allow',
      runs === null
        ? `the endpoint ${endpointId} does not name its workload; allow only one`
        : `the endpoint ${endpointId} runs ${runs}, which is not allowed; add it to --allow, or allow only one workload`,
    );
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  } finally {
    await client.close();
  }
}

/** The first signal drains; a second one, or the end of the grace period, gives the jobs back. */
function listenForSignals(graceMs: number, say: (text: string) => void) {
  const drain = new AbortController();
  const leave = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const onSignal = (): void => {
    if (drain.signal.aborted) return leave.abort();
    say(
      'Ending: this worker takes no more jobs and finishes its present job. A second signal gives that job back.',
    );
    drain.abort();
    timer = setTimeout(() => leave.abort(), graceMs);
  };
  for (const signal of signals) process.on(signal, onSignal);
  const close = (): void => {
    clearTimeout(timer);
    for (const signal of signals) process.removeListener(signal, onSignal);
  };
  return { drain: drain.signal, leave: leave.signal, endAll: () => drain.abort(), close };
}

const signals = ['SIGINT', 'SIGTERM'] as const;

/** Host name with only the characters that worker ids allow. */
function safeHost(): string {
  return hostname()
    .replaceAll(/[^A-Za-z0-9_.:-]/g, '-')
    .slice(0, 80);
}

function printWork(text: string, json: boolean): void {
  if (json) writeJsonLine('work', { text });
  else writeOut(`${formatInstant(Date.now())}  ${escapeControls(text)}`);
}

function workOptions(argv: Record<string, unknown>): WorkOptions {
  const gpu = oneText(argv, 'gpu');
  if (gpu !== undefined && !/^[A-Za-z0-9-]{1,64}$/.test(gpu))
    throw problem('--gpu', `${JSON.stringify(gpu)} is given; expected the number of one GPU, such as 0`);
  const { recycle, jobs } = argv;
  return {
    url: addressIn(textIn(argv, 'service'), argv['insecure'] === true),
    endpointId: endpointIn(oneText(argv, 'endpoint')),
    workerKey: keyIn(process.env[keyName]),
    allowed: allowedIn(argv),
    gpu,
    jobs: jobs === undefined ? 1 : wholeNumber(argv, 'jobs', 1, 64),
    idleMs: durationIn(argv, 'idle'),
    graceMs: durationIn(argv, 'grace') ?? 600_000,
    recycleJobs: recycle === undefined ? undefined : wholeNumber(argv, 'recycle', 1, 1_000_000),
    environment: environmentIn(oneText(argv, 'env')),
    dataDir: resolve(oneText(argv, 'data') ?? defaultDataDir()),
  };
}

interface WorkOptions {
  url: string;
  endpointId: string;
  workerKey: string;
  allowed: AllowedWorkload[];
  gpu: string | undefined;
  jobs: number;
  idleMs: number | undefined;
  graceMs: number;
  recycleJobs: number | undefined;
  environment: Record<string, string>;
  dataDir: string;
}

function environmentIn(names: string | undefined): Record<string, string> {
  const given = (names ?? '').split(',').map((name) => [name.trim(), process.env[name.trim()]] as const);
  return Object.fromEntries(given.filter((pair): pair is [string, string] => pair[1] !== undefined));
}

function allowedIn(argv: Record<string, unknown>): AllowedWorkload[] {
  const read = readAllowed(oneText(argv, 'allow') ?? 'scene');
  if ('workloads' in read) return read.workloads;
  throw problem('--allow', `${JSON.stringify(read.text)} is given; expected ${read.expected}`);
}

function addressIn(text: string, isInsecure: boolean): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '')
    throw problem(
      'service',
      `${JSON.stringify(text)} is not an address; expected for example https://render.example`,
    );
  if (/\/(v\d|console)(\/|$)/.test(url.pathname))
    throw problem('service', `${text} is too long: give the address of the service alone, ${url.origin}`);
  if (url.protocol === 'http:' && !isLoopback(url.hostname) && !isInsecure)
    throw problem(
      'service',
      `${text} is not encrypted: anybody on the way can read key and pictures; use https:, or add --insecure in a network that you trust`,
    );
  return url.origin + url.pathname.replace(/\/+$/, '');
}

function endpointIn(text: string | undefined): string {
  if (text !== undefined && /^[A-Za-z0-9_-]{1,128}$/.test(text)) return text;
  throw problem('--endpoint', `${JSON.stringify(text ?? '')} is given; expected the id of an endpoint`);
}

function keyIn(key: string | undefined): string {
  if (key !== undefined && fitsHeader(key)) return key;
  const what = key === undefined ? 'is not set' : 'is empty or holds characters that a header cannot carry';
  throw problem(
    keyName,
    `${what}; on the service, make one with \`nightrender keys add NAME --kind worker --endpoint ID\``,
  );
}

const settable = z.object({ value: durationWithin('1s', longestWait) });

function durationIn(argv: Record<string, unknown>, name: string): number | undefined {
  const text = oneText(argv, name);
  if (text === undefined) return undefined;
  const read = settable.safeParse({ value: text });
  if (read.success) return read.data.value;
  throw problem(`--${name}`, `${JSON.stringify(text)} is given; expected a duration such as 30s or 5m`);
}

function problem(where: string, text: string): ConfigError {
  return new ConfigError([{ where, text }]);
}
