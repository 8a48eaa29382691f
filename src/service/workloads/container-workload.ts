/** A container image as a workload: its containers pull their jobs, as workers elsewhere do. */
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { address, programText } from '../../lib/yaml/scalar-schemas.ts';
import { type ContainerTool, runTool } from './container-tool.ts';
import { WorkerLog } from './worker-log.ts';
import { image as imageName } from './image-name.ts';
import { helperEnvironment, publicWorkerDefaults, workerEnvironment } from './worker-environment.ts';
import { WorkerProcess } from './worker-process.ts';
import type { PullWorker, PullWorkload, WorkerContext } from './workload.ts';
import type { EndpointSettings } from '../model/endpoint-settings.ts';
import { at, defineWorkload, hiddenWord, noCluster, type WorkloadEdges } from './workload-definition.ts';

const argumentExpected =
  'an option of `docker run` with its value after =, such as --shm-size=1g; a separate word would be taken as the image';

const networkExpected = 'host, default, or the name of a network of docker or podman';

const serviceUrlExpected =
  'the address at which the containers reach this service, such as http://172.17.0.1:4747, or `network: host`';

const capabilityExpected = 'a capability such as CHOWN, or default';

/** Schema of the capabilities that containers keep. */
export const capabilityList = z
  .array(
    z.string(capabilityExpected).regex(/^(default|(CAP_)?[A-Z][A-Z_]*)$/, capabilityExpected),
    'a list such as [CHOWN, SETUID, SETGID]',
  )
  .optional()
  .meta({
    description:
      'capabilities that containers keep, such as CHOWN; with a list, processes gain no privileges and are 4,096 at most. `default` leaves all that to docker or podman',
  });

export const noCapabilities = 'none: only containers have capabilities';

export const unboundedCapabilities = '`capabilities` (`[]` drops all, `[default]` keeps them)';

const noNetwork = 'none: only an image has a network of its own';

export const container = defineWorkload({
  key: 'image',
  fields: {
    image: imageName.meta({
      description:
        'a container image for linux/amd64, run by docker or podman: <registry_user>/<image_name>:<tag>',
      examples: ['registry_user/image_name:tag'],
    }),
    arguments: z
      .array(programText.regex(/^--?[A-Za-z0-9]/, argumentExpected), 'a list such as [--shm-size=1g]')
      .optional()
      .meta({
        title: 'Further arguments',
        description: 'more options of `docker run`, each with its value after =, such as --shm-size=1g',
      }),
    network: z
      .string(networkExpected)
      .regex(/^(?!none$)[A-Za-z0-9][A-Za-z0-9_.:,=/-]*$/, networkExpected)
      .optional()
      .meta({
        description:
          'the network of the containers: `default` for that of docker or podman, a name, or `host` for that of this machine, with all that listens there',
        examples: ['default'],
      }),
    serviceUrl: address(serviceUrlExpected)
      .overwrite((url) => url.replace(/\/+$/, ''))
      .optional()
      .meta({
        title: 'Address of the service',
        description:
          'the address at which the containers reach this service, unless their network is `host`; `publicUrl` by default',
        examples: ['http://172.17.0.1:4747'],
      }),
    capabilities: capabilityList,
  },
  elsewhere: {
    arguments: 'none: only an image takes options of `docker run`',
    network: noNetwork,
    serviceUrl: noNetwork,
    capabilities: noCapabilities,
  },
  takes: ['memory', 'cpus'],
  without: {
    ...noCluster,
    'recycle.memory': 'no memory: a container has its `memory`, beyond which it is killed',
  },
  choice: { title: 'Container image', means: 'Run by docker or podman.' },
  gpu: 'is given no GPU',
  words: ({ image }) => `Image ${image}`,
  concealed: ({ arguments: options }) =>
    options === undefined ? {} : { arguments: options.map(() => hiddenWord) },
  consoleDefaults: { network: 'default', capabilities: [] },
  namedDefaults: ({ network, arguments: options = [], capabilities: kept = ['default'] }) => ({
    capabilities: kept,
    ...(network === undefined && !options.some(isNetwork) && { network: 'host' }),
  }),
  problems: ({ network, serviceUrl, arguments: options = [] }, publicUrl) => {
    if (network === undefined) return [];
    const isReached = network === 'host' || Boolean(serviceUrl ?? publicUrl);
    return [
      ...at('arguments', options.some(isNetwork) ? 'no --network: the key `network` says it' : undefined),
      ...at('serviceUrl', isReached ? undefined : serviceUrlExpected),
    ];
  },
  unbounded: ({ network, arguments: options = [], capabilities: kept }) => [
    ...(network === undefined && !options.some(isNetwork)
      ? ['`network` (`host` keeps the network of this machine)']
      : []),
    ...(kept === undefined ? [unboundedCapabilities] : []),
  ],
  programs: ({ arguments: options, capabilities: kept }) => ({
    arguments: options,
    capabilities: addedCapabilities(kept),
  }),
  nameElsewhere: ({ image }) => `image:${image}`,
  start: (settings, edges) => ({
    name: settings.image,
    startPullWorker: async (started) =>
      await containerWorkload({
        ...settings,
        tool: await edges.containerTool(),
        serviceId: edges.serviceId,
        endpointId: settings.id,
        arguments: settings.arguments ?? [],
        pullEnvironment: (workerId) => environmentOf(settings, edges, workerId),
      }).startPullWorker(started),
  }),
});

/** With some of them a container becomes the machine's root. */
export function addedCapabilities(all: readonly string[] = []): string[] {
  return all.filter((name) => name !== 'default');
}

function environmentOf(
  { id: endpointId, gpu, network, serviceUrl }: EndpointSettings,
  { url, publicUrl = url, workerKey }: WorkloadEdges,
  workerId: string,
): Record<string, string> {
  const isHere = network === undefined || network === 'host';
  const baseUrl = isHere ? url : typeof serviceUrl === 'string' ? serviceUrl : publicUrl;
  const gpuName = typeof gpu === 'object' ? gpu.devices.join(',') : (gpu ?? null);
  return workerEnvironment({ baseUrl, endpointId, workerKey, gpuName, workerId });
}

/** An image of many gigabytes may have to come first. */
const createTimeoutMs = 2 * 60 * 60_000;
const commandTimeoutMs = 60_000;
/** Between SIGTERM and SIGKILL. */
const graceSeconds = 5;

export function containerWorkload(options: ContainerOptions): PullWorkload {
  return { name: options.image, startPullWorker: (context) => startContainer(options, context) };
}

/** Of a service that was killed, whose containers nobody ended. Tells how many there were; rejects in words. */
export async function removeLeftContainers(tool: ContainerTool, serviceId: string): Promise<number> {
  const filter = ['--filter', `label=${serviceLabel(serviceId)}`];
  const list = ['ps', '--all', '--quiet', ...filter];
  const { exitCode, stdout, errorText } = await runTool(tool, list, { timeoutMs: commandTimeoutMs });
  if (exitCode !== 0) throw new Error(`${tool.kind} does not list its containers: ${errorText}`);
  const ids = stdout.split('\n').filter(Boolean);
  if (ids.length === 0) return 0;
  const removal = ['rm', '--force', ...ids];
  const removed = await runTool(tool, removal, { timeoutMs: commandTimeoutMs * ids.length });
  if (removed.exitCode !== 0)
    throw new Error(`${tool.kind} does not remove containers: ${removed.errorText}`);
  return ids.length;
}

async function startContainer(options: ContainerOptions, context: WorkerContext): Promise<PullWorker> {
  const { tool, endpointId } = options;
  const name = `nightrender-${endpointId}-${context.workerId}`;
  const log = new WorkerLog(context.log);
  await create(name, options, context, log);
  const attached = await WorkerProcess.start({
    title: 'the container',
    command: [...tool.command, 'start', '--attach', name],
    cwd: null,
    environment: helperEnvironment(),
    memoryBytes: null,
    cleanUp: [...tool.command, 'rm', '--force', name],
  });
  log.follow(attached.pipes.stdout);
  log.follow(attached.pipes.stderr);
  return new Container(tool, name, attached, log);
}

async function create(
  name: string,
  options: ContainerOptions,
  context: WorkerContext,
  log: WorkerLog,
): Promise<void> {
  const input = environmentFile(containerEnvironment(options, context.workerId));
  const { exitCode, errorText } = await runTool(options.tool, createArguments(name, options), {
    input,
    log,
    timeoutMs: createTimeoutMs,
    signal: context.signal,
  });
  if (exitCode === 0) return;
  await remove(options.tool, name);
  throw new Error(
    `${options.tool.kind} cannot make a container of ${options.image}: ${errorText || 'it was ended'}`,
  );
}

class Container implements PullWorker {
  readonly ended: Promise<string>;
  readonly #tool: ContainerTool;
  readonly #name: string;
  readonly #attached: WorkerProcess;
  readonly #log: WorkerLog;
  #isStopped = false;

  constructor(tool: ContainerTool, name: string, attached: WorkerProcess, log: WorkerLog) {
    this.#tool = tool;
    this.#name = name;
    this.#attached = attached;
    this.#log = log;
    this.ended = this.#untilEnded();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#ask('stop', '-t', String(graceSeconds), this.#name);
    // What it wrote last is on its way through the tool that is attached to it.
    await Promise.race([this.#attached.ended, sleep(graceSeconds * 1_000, undefined, { ref: false })]);
    await this.#attached.end('the container was stopped');
    await this.ended;
  }

  async #untilEnded(): Promise<string> {
    const reason = await this.#attached.ended;
    this.#log.end();
    const state = await this.#ask(
      'inspect',
      '--format',
      '{{.State.OOMKilled}} {{.State.ExitCode}}',
      this.#name,
    );
    await remove(this.#tool, this.#name);
    if (this.#isStopped) return 'the container was stopped';
    const [wasOutOfMemory, exitCode] = state.trim().split(' ');
    if (wasOutOfMemory === 'true') return 'the container exceeded its memory and was killed';
    // What never ran has no exit code of its own: the tool that could not start it has, and its words are in the log.
    const { exitCode: toolCode } = this.#attached;
    if (exitCode === '0' && toolCode !== 0 && toolCode !== null)
      return `the container could not be started (${this.#tool.kind} exited with code ${toolCode})`;
    return exitCode === undefined || exitCode === '' ? reason : `the container ${exitText(Number(exitCode))}`;
  }

  /** What it says; nothing where it cannot. */
  async #ask(...toolArguments: string[]): Promise<string> {
    return runTool(this.#tool, toolArguments, { timeoutMs: commandTimeoutMs }).then(
      ({ exitCode, stdout }) => (exitCode === 0 ? stdout : ''),
      () => '',
    );
  }
}

/** Whatever state it is in; one that is not there is fine. */
async function remove(tool: ContainerTool, name: string): Promise<void> {
  await runTool(tool, ['rm', '--force', name], { timeoutMs: commandTimeoutMs }).catch(() => undefined);
}

/** A shell's way to say by which signal a program was killed. */
function exitText(exitCode: number): string {
  const signal = Object.entries(constants.signals).find(([, number]) => number === exitCode - 128)?.[0];
  if (signal !== undefined) return `was killed by ${signal}`;
  if (exitCode === 126 || exitCode === 127) return `could not run its command (exit code ${exitCode})`;
  return `exited with code ${exitCode}`;
}

export interface ContainerOptions {
  tool: ContainerTool;
  /** Whose containers they are, so that one service does not remove another's: `[A-Za-z0-9_.-]+`. */
  serviceId: string;
  endpointId: string;
  image: string;
  /** Options of `docker create` or `podman create`, which are those of `run`. */
  arguments: readonly string[];
  environment: Readonly<Record<string, string>>;
  /** How a worker of this id reaches the service, its key among them: what `workerEnvironment` gives. */
  pullEnvironment: (workerId: string) => Readonly<Record<string, string>>;
  /** Bytes and processors; undefined for no bound. */
  memory?: number | undefined;
  cpus?: number | undefined;
  /** Network of the tool, or `default` for its usual one; undefined if nobody has said, as in earlier versions: that of the machine. */
  network?: string | undefined;
  /** Capabilities that containers keep, or `default` for those that the tool gives; undefined if nobody has said, which means the same. */
  capabilities?: readonly string[] | undefined;
  gpu?: EndpointSettings['gpu'];
}

/** Of a container for finding it again. */
export function serviceLabel(serviceId: string): string {
  return `nightrender.service=${serviceId}`;
}

/**
 * The environment comes by standard input: what stands in arguments can be seen by everyone on the machine. Every option
 * is one word with its value: behind one of the endpoint's that lacks its value, no word is left over to be the image.
 * Throws, in words, for an argument that is no option.
 */
export function createArguments(name: string, options: ContainerOptions): string[] {
  const { tool, serviceId, memory, cpus, gpu, image } = options;
  assertOptions(options.arguments);
  const further = [...tool.containerArguments, ...options.arguments];
  const unsaid = further.some(isNetwork) ? 'default' : 'host';
  const network = options.network ?? unsaid;
  return [
    'create',
    // The endpoint's arguments come later, so that they win.
    ...capabilityArguments(options.capabilities),
    ...further,
    ...(network === 'default' ? [] : [`--network=${network}`]),
    ...(memory === undefined ? [] : [`--memory=${memory}b`]),
    ...(cpus === undefined ? [] : [`--cpus=${cpus}`]),
    ...gpuArguments(tool.kind, gpu),
    `--label=${serviceLabel(serviceId)}`,
    `--name=${name}`,
    '--env-file=/dev/stdin',
    image,
  ];
}

function isNetwork(argument: string): boolean {
  return /^--net(work)?(=|$)/.test(argument);
}

/** Processes of one container: one that forks without end would take the process ids of all others. */
const maxProcesses = 4_096;

/** Returns nothing if the tool's own capabilities are kept. */
export function capabilityArguments(capabilities: readonly string[] | undefined): string[] {
  if (capabilities === undefined || capabilities.includes('default')) return [];
  const kept = capabilities.map((name) => `--cap-add=${name}`);
  return ['--cap-drop=all', ...kept, '--security-opt=no-new-privileges', `--pids-limit=${maxProcesses}`];
}

/** The settings of an endpoint are checked before; those of one that was made by an earlier version were not. */
function assertOptions(given: readonly string[]): void {
  const wrong = given.find((argument) => !/^--?[A-Za-z0-9]/.test(argument));
  if (wrong !== undefined)
    throw new Error(
      `the argument ${JSON.stringify(wrong)} is not an option; write the value of an option after =, such as --shm-size=1g`,
    );
}

/** A label says how large a GPU should be, not which one of this machine it is: all of them, then. */
function gpuArguments(kind: ContainerTool['kind'], gpu: EndpointSettings['gpu']): string[] {
  if (gpu === undefined) return [];
  const devices = typeof gpu === 'string' ? ['all'] : gpu.devices;
  const isWhole = (device: string): boolean => device.startsWith('/') || device.includes('=');
  const whole = devices.filter(isWhole).map((device) => `--device=${device}`);
  const numbers = devices.filter((device) => !isWhole(device));
  if (numbers.length === 0) return whole;
  if (kind === 'podman') return [...whole, ...numbers.map((number) => `--device=nvidia.com/gpu=${number}`)];
  // The value is a row of CSV: with its quotes the comma belongs to the list.
  return [...whole, `--gpus=${numbers.includes('all') ? 'all' : `"device=${numbers.join(',')}"`}`];
}

export function containerEnvironment(
  { environment, pullEnvironment }: Pick<ContainerOptions, 'environment' | 'pullEnvironment'>,
  workerId: string,
): Record<string, string> {
  return { ...publicWorkerDefaults, ...environment, ...pullEnvironment(workerId) };
}

/** In the form of `--env-file`, which knows no quotes. Throws, in words, what it cannot say. */
export function environmentFile(environment: Readonly<Record<string, string>>): string {
  const lines = Object.entries(environment).map(([name, value]) => {
    if (!/^[A-Za-z_][A-Za-z0-9_.-]*$/.test(name))
      throw new Error(`${JSON.stringify(name)} is not a variable name`);
    if (/[\r\n\0]/.test(value))
      throw new Error(`the variable ${name} holds a line break, which containers do not support`);
    return `${name}=${value}\n`;
  });
  return lines.join('');
}
