/** Promise: a machine is described by what NVIDIA's driver says of its GPUs, and without them where there is no driver. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { packageFile } from '../../../src/lib/files/package-file.ts';
import { readGpus } from '../../../src/service/agent/reporter.ts';

it('reads names, memory in MiB, and cards without a sensor', () => {
  const told =
    '0, NVIDIA H200, 143771, 512, 570.86.15, 31\n1, NVIDIA GeForce RTX 4090, 24564, 1, 570.86.15, [N/A]\n';
  expect(readGpus(told)).toEqual([
    {
      index: 0,
      name: 'NVIDIA H200',
      memoryBytes: 143_771 * 1024 ** 2,
      usedMemoryBytes: 512 * 1024 ** 2,
      driver: '570.86.15',
      celsius: 31,
    },
    expect.objectContaining({ index: 1, name: 'NVIDIA GeForce RTX 4090', celsius: 0 }),
  ]);
  expect(readGpus('')).toEqual([]);
  expect(readGpus('NVIDIA-SMI has failed\n')).toEqual([]);
});

it('a worker that is told to end before it asks for a driver that is not there kills nothing of its own', async () => {
  const fixture = packageFile('dist/test/fixtures/machine-without-driver.js');
  // A process group of its own, so that a kill of the group stays in it.
  const child = spawn(process.execPath, [fixture], { detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  const [said, [code, signal]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  expect([code, signal]).toEqual([0, null]);
  expect(JSON.parse(said)).toMatchObject({ gpus: [] });
});
