/** What the tool for containers is told of one: its resources, its environment, its name. */
import type { EndpointSettings } from '../endpoint-settings.ts';
import type { ContainerTool } from './container-tool.ts';

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
  memoryBytes: number | null;
  cpus: number | null;
  gpu: EndpointSettings['gpu'];
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
  const { tool, serviceId, memoryBytes, cpus, gpu, image } = options;
  assertOptions(options.arguments);
  const further = [...tool.containerArguments, ...options.arguments];
  return [
    'create',
    ...further,
    ...(further.some((argument) => /^--net(work)?(=|$)/.test(argument)) ? [] : ['--network=host']),
    ...(memoryBytes === null ? [] : [`--memory=${memoryBytes}b`]),
    ...(cpus === null ? [] : [`--cpus=${cpus}`]),
    ...gpuArguments(tool.kind, gpu),
    `--label=${serviceLabel(serviceId)}`,
    `--name=${name}`,
    '--env-file=/dev/stdin',
    image,
  ];
}

/** The settings of an endpoint are checked before; those of one that was made by an earlier version were not. */
function assertOptions(given: readonly string[]): void {
  const wrong = given.find((argument) => !/^--?[A-Za-z0-9]/.test(argument));
  if (wrong !== undefined)
    throw new Error(
      `the argument ${JSON.stringify(wrong)} is no option; write the value of an option behind =, such as --shm-size=1g`,
    );
}

/** A label says how large a GPU should be, not which one of this machine it is: all of them, then. */
function gpuArguments(kind: ContainerTool['kind'], gpu: EndpointSettings['gpu']): string[] {
  if (gpu === null) return [];
  const devices = 'devices' in gpu ? gpu.devices : ['all'];
  const isWhole = (device: string): boolean => device.startsWith('/') || device.includes('=');
  const whole = devices.filter(isWhole).map((device) => `--device=${device}`);
  const numbers = devices.filter((device) => !isWhole(device));
  if (numbers.length === 0) return whole;
  if (kind === 'podman') return [...whole, ...numbers.map((number) => `--device=nvidia.com/gpu=${number}`)];
  // The value is a row of CSV: with its quotes the comma belongs to the list.
  return [...whole, `--gpus=${numbers.includes('all') ? 'all' : `"device=${numbers.join(',')}"`}`];
}

/** In the form of `--env-file`, which knows no quotes. Throws, in words, what it cannot say. */
export function environmentFile(environment: Readonly<Record<string, string>>): string {
  const lines = Object.entries(environment).map(([name, value]) => {
    if (!/^[A-Za-z_][A-Za-z0-9_.-]*$/.test(name))
      throw new Error(`${JSON.stringify(name)} is no name of a variable`);
    if (/[\r\n\0]/.test(value))
      throw new Error(`the variable ${name} holds a line break, which a container cannot be given`);
    return `${name}=${value}\n`;
  });
  return lines.join('');
}
