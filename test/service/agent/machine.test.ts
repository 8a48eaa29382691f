/** Promise: a machine is described with its NVIDIA GPUs, or without GPUs if it has no driver. */
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

it('a worker that is told to end before it looks for a missing driver does not kill its own processes', async () => {
  const fixture = packageFile('dist/test/fixtures/machine-without-driver.js');
  // The child gets its own process group, so that killing the group cannot affect this process.
  const child = spawn(process.execPath, [fixture], { detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  const [said, [code, signal]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  expect([code, signal]).toEqual([0, null]);
  expect(JSON.parse(said)).toMatchObject({ gpus: [] });
});
