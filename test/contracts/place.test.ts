/** Promise: pictures are as safe, and found by the same code, wherever they are: in a folder, in a bucket, or in memory. */
import type * as Fs from 'node:fs';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { bucketPlace } from '../../src/runner/images/bucket-place.ts';
import { folderPlace } from '../../src/runner/images/folder-place.ts';
import { memoryPlace } from '../fakes/memory-place.ts';
import { MemoryStore } from '../fakes/memory-store.ts';
import { placeContract } from './place.contract.ts';

const disk = vi.hoisted(() => ({ isCutting: false }));

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof Fs>();
  return {
    ...fs,
    writeFileSync: (file: number | string, bytes: Uint8Array | string) => {
      const isCut = disk.isCutting && typeof file === 'number';
      fs.writeFileSync(file, isCut ? bytes.slice(0, 3) : bytes);
      if (!isCut) return;
      disk.isCutting = false;
      throw Object.assign(new Error('ENOSPC: made up'), { code: 'ENOSPC', syscall: 'write' });
    },
  };
});

placeContract('a folder', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-place-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return {
    place: folderPlace(join(dir, 'images')),
    cutNextPut: () => (disk.isCutting = true),
    everything: async () =>
      readdirSync(join(dir, 'images'), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(join(dir, 'images/').length)),
  };
});

placeContract('a folder of a bucket', async () => {
  let isCutting = false;
  const store = await MemoryStore.start({
    trouble: (_, method) => {
      if (!isCutting || method !== 'PUT') return undefined;
      return 'garbled';
    },
  });
  const bucket = await store.open('s3://any/night/', { patienceMs: 20 });
  const place = bucketPlace(bucket, 'images/');
  return {
    place: {
      ...place,
      put: (...args) => place.put(...args).finally(() => (isCutting = false)),
    },
    cutNextPut: () => (isCutting = true),
    everything: async () => [...store.objects.keys()].map((key) => key.replace('any/night/images/', '')),
  };
});

placeContract('memory', async () => {
  const files = new Map<string, Buffer>();
  let isCutting = false;
  const place = memoryPlace(files);
  return {
    place: {
      ...place,
      put: async (...args) => {
        if (isCutting) {
          isCutting = false;
          throw new Error('cut');
        }
        return place.put(...args);
      },
    },
    cutNextPut: () => (isCutting = true),
    everything: async () => [...files.keys()],
  };
});
