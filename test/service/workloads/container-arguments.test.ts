/** Promise: the container settings of an endpoint become the right arguments of the container tool. */
import { describe, expect, it } from 'vitest';
import {
  containerEnvironment,
  type ContainerOptions,
  createArguments,
  environmentFile,
} from '../../../src/service/workloads/container-workload.ts';

function told(options: Partial<ContainerOptions> = {}, kind: 'docker' | 'podman' = 'docker'): string {
  const settings: ContainerOptions = {
    tool: { kind, command: [kind], containerArguments: [] },
    serviceId: 'abc',
    endpointId: 'e',
    image: 'user/image:1',
    arguments: [],
    environment: { KEY: 'secret' },
    pullEnvironment: () => ({}),
    ...options,
  };
  return createArguments('nightrender-e-w', settings).join(' ');
}

const always = '--label=nightrender.service=abc --name=nightrender-e-w --env-file=/dev/stdin user/image:1';

describe('the arguments', () => {
  it('name the container and leave its environment out', () => {
    expect(told()).toBe(`create --network=host ${always}`);
  });

  it('bound its memory and processors', () => {
    expect(told({ memory: 512 * 2 ** 20, cpus: 1.5 })).toContain('--memory=536870912b --cpus=1.5 ');
  });

  it.each([
    ['docker', '24 GB', '--gpus=all'],
    ['podman', '24 GB', '--device=nvidia.com/gpu=all'],
    ['docker', { devices: ['0'] }, '--gpus="device=0"'],
    ['docker', { devices: ['0', '2'] }, '--gpus="device=0,2"'],
    ['podman', { devices: ['0', '2'] }, '--device=nvidia.com/gpu=0 --device=nvidia.com/gpu=2'],
    ['docker', { devices: ['/dev/dri/renderD128'] }, '--device=/dev/dri/renderD128'],
    ['podman', { devices: ['/dev/kfd', 'amd.com/gpu=1'] }, '--device=/dev/kfd --device=amd.com/gpu=1'],
  ] as const)('give it, with %s, the GPU of %j', (kind, gpu, text) => {
    const settings = typeof gpu === 'string' ? gpu : { devices: [...gpu.devices] };
    expect(told({ gpu: settings }, kind)).toBe(`create --network=host ${text} ${always}`);
  });

  it('leave the network to whom it was said for', () => {
    expect(told({ arguments: ['--network=bridge', '--init'] })).toBe(
      `create --network=bridge --init ${always}`,
    );
    expect(told({ arguments: ['--net=none'] })).toBe(`create --net=none ${always}`);
  });

  it('name the network that the endpoint sets, or leave it to the tool', () => {
    expect(told({ network: 'host' })).toBe(`create --network=host ${always}`);
    expect(told({ network: 'farm' })).toBe(`create --network=farm ${always}`);
    expect(told({ network: 'default' })).toBe(`create ${always}`);
  });

  it('drop all capabilities except those that the endpoint sets, before its own arguments, which win', () => {
    const bounds = '--security-opt=no-new-privileges --pids-limit=4096';
    expect(told({ network: 'default', capabilities: [] })).toBe(`create --cap-drop=all ${bounds} ${always}`);
    const kept = told({
      network: 'default',
      capabilities: ['CHOWN', 'SETUID'],
      arguments: ['--pids-limit=9'],
    });
    expect(kept).toBe(
      `create --cap-drop=all --cap-add=CHOWN --cap-add=SETUID ${bounds} --pids-limit=9 ${always}`,
    );
    expect(told({ network: 'default', capabilities: ['default'] })).toBe(`create ${always}`);
  });

  it('include the arguments that the machine sets for all containers', () => {
    const tool = {
      kind: 'docker',
      command: ['docker'],
      containerArguments: ['--ulimit', 'nofile=9'],
    } as const;
    expect(told({ tool, arguments: ['-v=/a:/b'] })).toBe(
      `create --ulimit nofile=9 -v=/a:/b --network=host ${always}`,
    );
  });

  it.each(['1g', '-', '--', '', ' --init', '--=x', 'evil/image:1'])(
    'refuse %j with a message, because it would be taken for the image',
    (word) => {
      expect(() => told({ arguments: ['--shm-size', word] })).toThrow(
        `the argument ${JSON.stringify(word)} is not an option; write the value of an option after =`,
      );
    },
  );

  it('never mistake the image for the missing value of an option', () => {
    const words = told({ arguments: ['--volume'], memory: 1_000, cpus: 1, gpu: { devices: ['0'] } });
    const bare = words.split(' ').filter((word) => !word.startsWith('-'));
    expect(bare).toEqual(['create', 'user/image:1']);
  });
});

describe('the environment', () => {
  it('disables the internet check of public workers unless the endpoint wants it; the identity of the worker cannot be overridden', () => {
    const pullEnvironment = (workerId: string) => ({ RUNPOD_POD_ID: workerId });
    const of = (environment: Record<string, string>) =>
      containerEnvironment({ environment, pullEnvironment }, 'w');
    const skip = 'RUNPOD_SKIP_AUTO_SYSTEM_CHECKS';
    expect(of({ A: '1', RUNPOD_POD_ID: 'x' })).toEqual({ A: '1', [skip]: 'true', RUNPOD_POD_ID: 'w' });
    expect(of({ [skip]: 'false' })).toMatchObject({ [skip]: 'false' });
  });

  it('is one line a variable', () => {
    expect(environmentFile({ A: 'x "y"', B_2: '', C: '#=$' })).toBe('A=x "y"\nB_2=\nC=#=$\n');
  });

  it.each([
    [{ A: '1\nB=2' }, 'the variable A holds a line break'],
    [{ 'A\nB': '1' }, '"A\\nB" is not a variable name'],
    [{ '#A': '1' }, '"#A" is not a variable name'],
    [{ '': '1' }, '"" is not a variable name'],
  ])('refuses a variable that cannot be passed on, such as %j, with a message', (environment, text) => {
    expect(() => environmentFile(environment)).toThrow(text);
  });
});
