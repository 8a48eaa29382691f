/** Promise: any container tool that works is used, and if there is none, the message says so. */
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { findContainerTool } from '../../../src/service/workloads/container-tool.ts';
import { makeFolder } from './started-worker.ts';

async function program(name: string, script: string): Promise<string> {
  const path = join(await makeFolder(), name);
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}

it('the service uses the tool that is requested, with its arguments', async () => {
  const podman = await program('podman', '[ "$*" = "--runtime runc version" ]');
  const command = [podman, '--runtime', 'runc'];
  expect(await findContainerTool({ command }, {})).toEqual({
    kind: 'podman',
    command,
    containerArguments: [],
  });
});

it('the service uses the tool that the environment names', async () => {
  const docker = await program('docker', '[ "$*" = "--context gpu version" ]');
  const env = {
    NIGHTRENDER_CONTAINER_TOOL: `${docker} --context  gpu`,
    NIGHTRENDER_CONTAINER_ARGUMENTS: '--ulimit nofile=1024:1024',
  };
  expect(await findContainerTool({}, env)).toEqual({
    kind: 'docker',
    command: [docker, '--context', 'gpu'],
    containerArguments: ['--ulimit', 'nofile=1024:1024'],
  });
});

it('the service says what is wrong if no tool answers', async () => {
  const down = await program('docker', 'echo "Cannot connect to the Docker daemon" >&2; exit 1');
  await expect(findContainerTool({ command: [down] }, {})).rejects.toThrow(
    `containers cannot be run here: ${down} does not answer (Cannot connect to the Docker daemon)`,
  );
  await expect(findContainerTool({ command: ['no-such-tool'] }, {})).rejects.toThrow(
    'no-such-tool not found',
  );
});

it('hands no secret of the service to the tool, and the address of its own service', async () => {
  vi.stubEnv('NIGHTRENDER_API_KEY', 'secret-of-the-service');
  vi.stubEnv('DATABASE_URL', 'postgres://service:secret@box/jobs');
  vi.stubEnv('CONTAINER_HOST', 'unix:///run/podman.sock');
  onTestFinished(() => void vi.unstubAllEnvs());
  const podman = await program(
    'podman',
    '[ -z "$NIGHTRENDER_API_KEY$DATABASE_URL" ] && [ "$CONTAINER_HOST" = unix:///run/podman.sock ]',
  );
  const found = findContainerTool({ command: [podman] }, {});
  await expect(found).resolves.toMatchObject({ kind: 'podman' });
});
