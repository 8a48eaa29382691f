/** What NVIDIA's driver tells of GPUs, read. */
import { expect, it } from 'vitest';
import { readGpus } from '../../../src/service/agent/machine.ts';

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
