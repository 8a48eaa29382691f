/**
 * Measures each part of the work that no client can avoid for its pictures, separately, with the concurrency that suits
 * it.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inflate, inflateSync, type ZlibOptions } from 'node:zlib';
import pLimit from 'p-limit';
import { Pool } from 'undici';
import type { Load } from './load.ts';
import { startService } from './start-service.ts';
import { median } from './statistics.ts';

export interface Part {
  name: string;
  /** Time for all pictures, as the median over the rounds. */
  ms: number;
}

export async function measureParts(load: Load, picture: Buffer, rounds: number): Promise<Part[]> {
  const text = picture.toString('base64');
  const unpack = unpackerOf(picture);
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-bench-'));
  const times = (work: (index: number) => unknown): void => {
    for (let i = 0; i < load.scenes; i++) work(i);
  };
  const atOnce = async (most: number, work: (index: number) => Promise<unknown>): Promise<void> => {
    const limit = pLimit(most);
    await Promise.all(Array.from({ length: load.scenes }, (_, i) => limit(() => work(i))));
  };
  const inSeries = (work: () => unknown) => async (): Promise<number> => timed(() => times(work));
  const parallel = (most: number, work: (index: number) => Promise<unknown>) => async (): Promise<number> =>
    timed(() => atOnce(most, work));
  const parts: Record<string, () => Promise<number>> = {
    receive: () => receive(load, picture, dir),
    base64: inSeries(() => Buffer.from(text, 'base64')),
    'PNG decode': parallel(availableParallelism(), unpack),
    sha256: inSeries(() => createHash('sha256').update(picture).digest()),
    'write and fsync': parallel(writesAtOnce, (i) => keep(join(dir, `${i}.png`), picture)),
  };
  try {
    const measured: Part[] = [];
    for (const [name, measure] of Object.entries(parts)) {
      const ms: number[] = [];
      for (let round = 0; round < rounds; round++) ms.push(await measure());
      measured.push({ name, ms: median(ms) });
    }
    return measured;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

const writesAtOnce = 8;

/**
 * Returns a function that unpacks the pixels. In a valid plain PNG nothing else needs a check, and a picture library
 * takes twice as long.
 */
function unpackerOf(png: Buffer): () => Promise<Buffer> {
  const pixelData = pixelDataOf(png);
  const chunkSize = inflateSync(pixelData).length + 1;
  return () => inflateOnThread(pixelData, { chunkSize });
}

const inflateOnThread = promisify<Buffer, ZlibOptions, Buffer>(inflate);

function pixelDataOf(png: Buffer): Buffer {
  const parts: Buffer[] = [];
  const signatureBytes = 8;
  const frameBytes = 12;
  for (let at = signatureBytes; at < png.length; at += frameBytes + png.readUInt32BE(at)) {
    const data = at + 8;
    if (png.toString('latin1', at + 4, data) === 'IDAT')
      parts.push(png.subarray(data, data + png.readUInt32BE(at)));
  }
  return Buffer.concat(parts);
}

async function timed(work: () => unknown): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** Receives the answers of completed jobs over loopback, and discards them. */
async function receive(load: Load, picture: Buffer, dir: string): Promise<number> {
  const service = await startService(dir, load, picture);
  const pool = new Pool(service.url, { connections: load.inFlight });
  const limit = pLimit(load.inFlight);
  const each = (work: (number: number) => Promise<unknown>): Promise<unknown> =>
    Promise.all(Array.from({ length: load.scenes }, (_, i) => limit(() => work(i + 1))));
  try {
    await each(async (number) => {
      const body = JSON.stringify({ input: { scene: String(number) } });
      await (await pool.request({ path: '/v2/scene-renderer/run', method: 'POST', body })).body.dump();
    });
    return await timed(() =>
      each(async (number) => {
        const path = `/v2/scene-renderer/status/job-${number}`;
        const { body } = await pool.request({ path, method: 'GET' });
        // Joining the pieces is not a part of receiving.
        for await (const _ of body) continue;
      }),
    );
  } finally {
    await pool.close();
    await service.stop();
  }
}

async function keep(path: string, bytes: Buffer): Promise<void> {
  const file = await open(`${path}.part`, 'w');
  await file.writeFile(bytes);
  await file.sync();
  await file.close();
  await rename(`${path}.part`, path);
}
