/** `nightrender work`: this machine works for a service elsewhere. */
import { hostname } from 'node:os';
import { join } from 'node:path';
import { makeFolder } from '../runner/files/folders.ts';
import { describeMachine } from '../service/agent/machine.ts';
import { hostContainer } from '../service/agent/container-host.ts';
import { workAtJobs } from '../service/agent/job-worker.ts';
import { RefusedForGood, ServiceClient } from '../service/agent/service-client.ts';
import { endpointSettings, type WorkloadSettings } from '../service/endpoint-settings.ts';
import { lockDataFolder } from '../service/jobs/data-folder.ts';
import { clusterSuffix } from '../service/pool/cluster-workload.ts';
import { printWork } from '../terminal/print-work.ts';
import type { LoadedCommand } from './command.ts';
import { refuseService } from './data-folder.ts';
import { common } from './exit-codes.ts';
import { textOption } from './option-values.ts';
import { StoppedEarly } from './signals.ts';
import { keyName, problem, type WorkOptions, workOptions } from './work-options.ts';
import { removeContainersLeftIn, workloadNeeds, workloadOf } from './workload-of.ts';

export const workCommand: LoadedCommand = {
  purpose: `Takes jobs of an endpoint of a service elsewhere, on this machine. It runs what --allow says, and nothing that a service names. The key is ${keyName} (on the service: nightrender keys add NAME --kind worker --endpoint ID). SIGTERM and Ctrl-C end it when its job is done; a second one gives the job back at once.`,
  positionals: { service: { type: 'string', demandOption: true, describe: 'address of the service' } },
  options: {
    endpoint: { ...textOption, demandOption: true, describe: 'id of the endpoint to work for' },
    allow: {
      ...textOption,
      describe:
        'what it may run: painter, scene (default), command:LINE or image:NAME; of several, with commas, what the endpoint runs',
    },
    gpu: { ...textOption, describe: 'number of the one GPU that it uses (default: all)' },
    jobs: { requiresArg: true, describe: 'jobs at once (default: 1)' },
    idle: { ...textOption, describe: 'ends after so long without a job, such as 5m (default: never)' },
    grace: { ...textOption, describe: 'how long a job may take to end after a signal (default: 10m)' },
    recycle: { requiresArg: true, describe: 'starts what it runs anew after so many jobs (default: never)' },
    env: { ...textOption, describe: 'variables that what it runs is given, with commas, such as HF_TOKEN' },
    insecure: {
      type: 'boolean',
      describe: 'takes an http: address of another machine: key and pictures can be read on the way',
    },
    data: {
      ...textOption,
      describe: 'folder of its lock and renderer (default: ~/.local/share/nightrender)',
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
    ...common,
    complete: 'ended in order: by a signal, drained, or idle',
    'wrong-use': 'wrong use, or the service refused key, endpoint or worker',
    'already-running': 'another worker uses this folder for this endpoint and GPU',
  },
  work: (argv) => work(argv),
};

async function work(argv: Record<string, unknown>): Promise<number> {
  const json = argv['json'] === true;
  let dataDir: string | undefined;
  try {
    const wanted = workOptions(argv);
    dataDir = join(wanted.dataDir, 'work', `${wanted.endpointId}-gpu${wanted.gpu ?? '-any'}`);
    makeFolder(dataDir, 0o700);
    const lock = lockDataFolder(join(dataDir, 'lock.sqlite'));
    try {
      const why = await workUntilTold(wanted, dataDir, (text) => printWork(text, json));
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
            `Check ${keyName}, --endpoint and the address. No job is lost: what it had goes to another worker.`,
          )
        : thrown;
    return refuseService(refused, dataDir, json);
  }
}

async function workUntilTold(
  wanted: WorkOptions,
  dataDir: string,
  say: (text: string) => void,
): Promise<string> {
  const { url, endpointId, workerKey, gpu, jobs, graceMs } = wanted;
  const needs = { ...workloadNeeds(dataDir), renderer: workloadNeeds(wanted.dataDir).renderer };
  removeContainersLeftIn(dataDir, needs);
  const { drain, leave, endAll, close } = listenForSignals(graceMs, say);
  const machine = (signal: AbortSignal) => describeMachine(gpu, signal);
  const name = `${safeHost()}-gpu${gpu ?? '-any'}-${process.pid}${clusterSuffix(process.env)}`;
  try {
    const clientOf = (workerId: string) => new ServiceClient({ url, endpointId, workerId, workerKey }, say);
    const chosen = await chosenOf(wanted, () => clientOf(name), drain);
    if (chosen === undefined) return 'it was told to end';
    const settings = endpointSettings({
      id: endpointId,
      workload: chosen,
      gpu: gpu === undefined ? null : { devices: [gpu] },
      environment: wanted.environment,
    });
    const workload = workloadOf(settings, { url, workerKey }, needs);
    if (workload === undefined) throw new Error('there is nothing to run');
    say(`Working for ${endpointId} at ${url} as ${name}; Ctrl-C ends it.`);
    const lanes = Array.from({ length: jobs }, async (_, lane) => {
      const workerId = jobs === 1 ? name : `${name}.${lane + 1}`;
      const client = clientOf(workerId);
      const shared = { ...wanted, client, workerId, machine, drain, leave, onEvent: say };
      try {
        return await ('startPullWorker' in workload
          ? hostContainer({ ...shared, workload })
          : workAtJobs({ ...shared, workload }));
      } catch (error) {
        // The others bring what they are at.
        endAll();
        throw error;
      } finally {
        await client.close();
      }
    });
    await Promise.allSettled(lanes);
    const [why = ''] = await Promise.all(lanes);
    return why;
  } finally {
    close();
  }
}

/** The one that is allowed; of several the one that the endpoint names, undefined where `signal` aborts first. Throws `ConfigError`. */
async function chosenOf(
  { allowed, endpointId }: WorkOptions,
  openClient: () => ServiceClient,
  signal: AbortSignal,
): Promise<WorkloadSettings | undefined> {
  const [first] = allowed;
  if (first !== undefined && allowed.length === 1) return first.workload;
  const client = openClient();
  try {
    const answer = await client.report({ state: 'working' }, signal);
    const runs = 'refusal' in answer ? null : answer.runs;
    const named = allowed.find(({ text }) => text === runs);
    if (named !== undefined) return named.workload;
    throw problem(
      '--allow',
      runs === null
        ? `the endpoint ${endpointId} does not say what it runs; allow one alone`
        : `the endpoint ${endpointId} runs ${runs}, which is not allowed; add it, or allow one alone to run that`,
    );
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  } finally {
    await client.close();
  }
}

/** The first signal drains; the second, or the end of the grace, has the jobs given back. */
function listenForSignals(graceMs: number, say: (text: string) => void) {
  const drain = new AbortController();
  const leave = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const onSignal = (): void => {
    if (drain.signal.aborted) return leave.abort();
    say('Told to end: it takes no more jobs and finishes what it has. A second signal gives that back.');
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

/** As worker ids may be. */
function safeHost(): string {
  return hostname()
    .replaceAll(/[^A-Za-z0-9_.:-]/g, '-')
    .slice(0, 80);
}
