/** A container image as a workload. Its containers pull jobs over the network, as workers elsewhere do. */
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { address, programText } from '../../lib/yaml/scalar-schemas.ts';
import { type ContainerTool, image as imageName, runTool } from './container-tool.ts';
import { WorkerLog } from './worker-log.ts';
import { helperEnvironment, publicWorkerDefaults, workerEnvironment } from './worker-environment.ts';
import { WorkerProcess } from './worker-process.ts';
import {
  at,
  defineWorkload,
  hiddenWord,
  noCluster,
  type PullWorker,
  type PullWorkload,
  type WorkerContext,
  type WorkloadEdges,
} from './workload-definition.ts';
import type { EndpointSettings } from '../model/endpoint-settings.ts';

const argumentExpected =
  'an option of `docker run` with its value after =, such as --shm-size=1g; a separate word would be taken as the image';

const networkExpected = 'host, default, or the name of a network of docker or podman';

const serviceUrlExpected =
  'the address at which the containers reach this service, such as http://172.17.0.1:4747, or `network: host`';

const capabilityExpected = 'a capability such as CHOWN, or default';

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
  allowed: {
    notation: 'image:NAME',
    beginnings: ['image:'],
    read: (text) => {
      const image = text.slice('image:'.length).trim();
      return /^[\w./:@-]+$/.test(image) ? { image } : undefined;
    },
  },
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

/** Returns the capabilities that an endpoint adds. Some of them make a container root on the machine. */
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

/** Allows for the download of an image of many gigabytes. */
const createTimeoutMs = 2 * 60 * 60_000;
const commandTimeoutMs = 60_000;
/** Time between SIGTERM and SIGKILL. */
const graceSeconds = 5;

/** Returns a workload whose workers are containers of the image. Starting one first downloads the image if it is missing. */
export function containerWorkload(options: ContainerOptions): PullWorkload {
  return { name: options.image, startPullWorker: (context) => startContainer(options, context) };
}

/** Removes containers that a killed service left running, and returns their number. Rejects with a message for people. */
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
    // The container's last output still passes through the attached tool.
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
    // A container that never ran reports exit code 0. The tool failed instead, and its error is in the log.
    const { exitCode: toolCode } = this.#attached;
    if (exitCode === '0' && toolCode !== 0 && toolCode !== null)
      return `the container could not be started (${this.#tool.kind} exited with code ${toolCode})`;
    return exitCode === undefined || exitCode === '' ? reason : `the container ${exitText(Number(exitCode))}`;
  }

  /** Returns the tool's output; empty if the command fails. */
  async #ask(...toolArguments: string[]): Promise<string> {
    return runTool(this.#tool, toolArguments, { timeoutMs: commandTimeoutMs }).then(
      ({ exitCode, stdout }) => (exitCode === 0 ? stdout : ''),
      () => '',
    );
  }
}

/** Removes a container in any state. Never rejects, also if the container does not exist. */
async function remove(tool: ContainerTool, name: string): Promise<void> {
  await runTool(tool, ['rm', '--force', name], { timeoutMs: commandTimeoutMs }).catch(() => undefined);
}

/** Describes an exit code. Codes above 128 stand for the signal that killed the program, as in a shell. */
function exitText(exitCode: number): string {
  const signal = Object.entries(constants.signals).find(([, number]) => number === exitCode - 128)?.[0];
  if (signal !== undefined) return `was killed by ${signal}`;
  if (exitCode === 126 || exitCode === 127) return `could not run its command (exit code ${exitCode})`;
  return `exited with code ${exitCode}`;
}

export interface ContainerOptions {
  tool: ContainerTool;
  /** Labels the containers, so that one service never removes those of another: `[A-Za-z0-9_.-]+`. */
  serviceId: string;
  endpointId: string;
  image: string;
  /** Options of `docker run` or `podman run`, which `create` accepts as well. */
  arguments: readonly string[];
  environment: Readonly<Record<string, string>>;
  /** Returns the variables with which a worker reaches the service, including its key; see `workerEnvironment`. */
  pullEnvironment: (workerId: string) => Readonly<Record<string, string>>;
  /** Memory limit in bytes; undefined for none. */
  memory?: number | undefined;
  /** Maximum number of processors; undefined for no limit. */
  cpus?: number | undefined;
  /** Network name, or `default` for the tool's own; undefined for the machine's network, as in earlier versions. */
  network?: string | undefined;
  /** Capabilities that containers keep. Undefined, or a list with `default`, keeps those of the tool. */
  capabilities?: readonly string[] | undefined;
  gpu?: EndpointSettings['gpu'];
}

/** Returns the label by which a service finds its containers again. */
export function serviceLabel(serviceId: string): string {
  return `nightrender.service=${serviceId}`;
}

/**
 * Returns the arguments of `docker create`. The environment is passed by standard input, because all users of the
 * machine can read arguments. Every option and its value are one word: otherwise an endpoint's option without a value
 * would swallow the next word, and a wrong word would become the image. Throws if an argument is not an option.
 */
export function createArguments(name: string, options: ContainerOptions): string[] {
  const { tool, serviceId, memory, cpus, gpu, image } = options;
  assertOptions(options.arguments);
  const further = [...tool.containerArguments, ...options.arguments];
  const unsaid = further.some(isNetwork) ? 'default' : 'host';
  const network = options.network ?? unsaid;
  return [
    'create',
    // The last option wins, so the endpoint's own arguments come later.
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

/** Maximum processes of a container, so that one that forks endlessly does not use up the machine's process ids. */
const maxProcesses = 4_096;

/** Returns options that drop all capabilities but `capabilities`; none if the tool's own are kept. */
export function capabilityArguments(capabilities: readonly string[] | undefined): string[] {
  if (capabilities === undefined || capabilities.includes('default')) return [];
  const kept = capabilities.map((name) => `--cap-add=${name}`);
  return ['--cap-drop=all', ...kept, '--security-opt=no-new-privileges', `--pids-limit=${maxProcesses}`];
}

/** Throws if an argument is not an option. Endpoints created by earlier versions were not checked for this. */
function assertOptions(given: readonly string[]): void {
  const wrong = given.find((argument) => !/^--?[A-Za-z0-9]/.test(argument));
  if (wrong !== undefined)
    throw new Error(
      `the argument ${JSON.stringify(wrong)} is not an option; write the value of an option after =, such as --shm-size=1g`,
    );
}

/** Returns options that give a container its GPUs. A GPU label names no device, so it gives all GPUs. */
function gpuArguments(kind: ContainerTool['kind'], gpu: EndpointSettings['gpu']): string[] {
  if (gpu === undefined) return [];
  const devices = typeof gpu === 'string' ? ['all'] : gpu.devices;
  const isWhole = (device: string): boolean => device.startsWith('/') || device.includes('=');
  const whole = devices.filter(isWhole).map((device) => `--device=${device}`);
  const numbers = devices.filter((device) => !isWhole(device));
  if (numbers.length === 0) return whole;
  if (kind === 'podman') return [...whole, ...numbers.map((number) => `--device=nvidia.com/gpu=${number}`)];
  // Docker parses the value as a row of CSV. The quotes keep the commas of the list together.
  return [...whole, `--gpus=${numbers.includes('all') ? 'all' : `"device=${numbers.join(',')}"`}`];
}

export function containerEnvironment(
  { environment, pullEnvironment }: Pick<ContainerOptions, 'environment' | 'pullEnvironment'>,
  workerId: string,
): Record<string, string> {
  return { ...publicWorkerDefaults, ...environment, ...pullEnvironment(workerId) };
}

/** Returns variables in the format of `--env-file`. Throws if a name or value cannot be written, as it has no quotes. */
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
