/** Promise: a container image works as a worker that pulls jobs, and no container is left behind. */
import { execFile, fork } from 'node:child_process';
import { packageFile } from '../../../src/lib/files/package-file.ts';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { type ContainerOptions } from '../../../src/service/workloads/container-workload.ts';
import type { ContainerTool } from '../../../src/service/workloads/container-tool.ts';
import {
  containerWorkload,
  removeLeftContainers,
} from '../../../src/service/workloads/container-workload.ts';
import { prepareContainers, testImage } from './container-image.ts';

const prepared = await prepareContainers();
const skipped =
  typeof prepared === 'string' ? `(skipped: podman cannot run containers here: ${prepared})` : '';
const tool: ContainerTool =
  typeof prepared === 'string' ? { kind: 'podman', command: [], containerArguments: [] } : prepared.tool;
afterAll(() => (typeof prepared === 'string' ? undefined : prepared.remove()));

const run = promisify(execFile);

async function podman(...toolArguments: string[]): Promise<string> {
  const [program = '', ...rest] = tool.command;
  return (await run(program, [...rest, ...toolArguments])).stdout;
}

/** Returns the names of all containers. */
const names = async (): Promise<string[]> =>
  (await podman('ps', '--all', '--format', '{{.Names}}')).split('\n').filter(Boolean);

/** False for warnings of podman about its restricted environment, which do not matter here. */
const isOurs = (line: string): boolean => !/^time=.* level=warning/.test(line);

let count = 0;

async function start(script: string, options: Partial<ContainerOptions> = {}, pullEnvironment = {}) {
  const log: string[] = [];
  const workload = containerWorkload({
    tool,
    serviceId: 'service-1',
    endpointId: 'endpoint',
    image: testImage,
    arguments: [],
    pullEnvironment: () => pullEnvironment,
    ...options,
    environment: { SCRIPT: script, ...options.environment },
  });
  count += 1;
  const workerId = `worker-${count}`;
  const container = await workload.startPullWorker({
    workerId,
    log: (line) => isOurs(line) && log.push(line),
  });
  onTestFinished(() => container.stop());
  return { container, log, name: `nightrender-endpoint-${workerId}` };
}

const endless = 'trap "echo bye; exit 0" TERM; while :; do sleep 0.1; done';

describe.skipIf(skipped !== '')(`a container ${skipped}`, () => {
  it('runs its image with the environment of its endpoint and the one to pull jobs with', async () => {
    const { container, log } = await start(
      'echo "$MODEL|$RUNPOD_AI_API_KEY|$NIGHTRENDER_API_KEY"; echo "to stderr" >&2',
      { environment: { MODEL: ' "x" #1 $HOME é=' } },
      { RUNPOD_AI_API_KEY: 'secret-of-the-worker' },
    );
    expect(await container.ended).toBe('the container exited with code 0');
    expect(log.toSorted()).toEqual([' "x" #1 $HOME é=|secret-of-the-worker|', 'to stderr']);
    expect(await names()).toEqual([]);
  });

  it('does not show its key in the list of processes', async () => {
    const { container, log } = await start(
      `echo started; ${endless}`,
      {},
      { RUNPOD_AI_API_KEY: 'secret-of-the-worker' },
    );
    await expect.poll(() => log).toContain('started');
    const { stdout } = await run('ps', ['axww', '-o', 'args']);
    expect(stdout).toContain('start --attach');
    expect(stdout).not.toContain('secret-of-the-worker');
    await container.stop();
  });

  it('is stopped politely, has its last words in the log, and is removed', async () => {
    const { container, log, name } = await start(`echo started; ${endless}`);
    await expect.poll(() => log).toContain('started');
    expect(await names()).toEqual([name]);
    await container.stop();
    expect(await container.ended).toBe('the container was stopped');
    expect(log).toEqual(['started', 'bye']);
    expect(await names()).toEqual([]);
  });

  it('is stopped by force if it does not heed that', async () => {
    const { container, log } = await start('trap "" TERM; echo started; while :; do sleep 0.1; done');
    await expect.poll(() => log).toContain('started');
    await container.stop();
    expect(await names()).toEqual([]);
  });

  it('says so when it is killed', async () => {
    const { container, log, name } = await start(`echo started; ${endless}`);
    await expect.poll(() => log).toContain('started');
    await podman('kill', '--signal', 'KILL', name);
    expect(await container.ended).toBe('the container was killed by SIGKILL');
    expect(await names()).toEqual([]);
  });

  it('says so when it cannot be started', async () => {
    const { container, log } = await start('exit 0', { arguments: ['--entrypoint=/no/such/program'] });
    expect(await container.ended).toMatch(
      /^the container (could not be started \(podman exited with code 12\d\)|could not run its command \(exit code 12\d\))$/,
    );
    expect(log.join('\n')).toMatch(/no such file|not found/);
    expect(await names()).toEqual([]);
  });

  it('says so when it is removed from outside', async () => {
    const { container, log, name } = await start(`echo started; ${endless}`);
    await expect.poll(() => log).toContain('started');
    await podman('rm', '--force', '--time', '0', name);
    expect(await container.ended).toMatch(/^the container (exited with code|was killed by)/);
  });

  it('is removed at the next start if the service ended without removing it, and foreign containers are not', async () => {
    await start(`echo started; ${endless}`, { serviceId: 'service-2' });
    const left = await start(`echo started; ${endless}`);
    await expect.poll(() => left.log).toContain('started');
    expect(await removeLeftContainers(tool, 'service-1')).toBe(1);
    expect(await names()).toEqual([`nightrender-endpoint-worker-${count - 1}`]);
    await left.container.ended;
  });

  it.each([
    [
      'an image that is not there',
      { image: '127.0.0.1:9/nobody/none:1' },
      'cannot make a container of 127.0.0.1:9/nobody/none:1',
    ],
    ['an argument that there is not', { arguments: ['--no-such-flag'] }, 'no-such-flag'],
    ['a variable of two lines', { environment: { A: '1\n2' } }, 'A holds a line break'],
  ])('with %s is refused with a message', async (_, options, text) => {
    await expect(start('exit 0', options)).rejects.toThrow(text);
    expect(await names()).toEqual([]);
  });

  it('ends with a service that is killed', async () => {
    const fixture = packageFile('dist/test/fixtures/containers-of-a-service.js');
    const service = fork(
      fixture,
      [JSON.stringify({ tool, image: testImage, script: `echo started; ${endless}` })],
      {
        execArgv: [],
      },
    );
    onTestFinished(() => {
      service.kill('SIGKILL');
    });
    const lines: unknown[] = [];
    service.on('message', (line) => lines.push(line));
    await expect.poll(() => lines).toContain('started');
    expect(await names()).toEqual(['nightrender-killed-worker']);
    service.kill('SIGKILL');
    await expect.poll(names).toEqual([]);
  });
});
