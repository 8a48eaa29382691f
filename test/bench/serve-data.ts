/** Prepares a data folder with keys and jobs before a service starts on it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { JobStore } from '../../src/service/jobs/job-store.ts';
import { KeyStore } from '../../src/service/keys/key-store.ts';

export const endpointId = 'scene-renderer';

export interface Data {
  dir: string;
  clientKeys: string[];
  workerKey: string;
  /** A file with the ids of all jobs, one a line. */
  idsFile: string;
}

const clients = 8;
const atOnce = 1_000;

/** Creates a data folder with this number of queued and of completed jobs. */
export async function makeData(dir: string, { queued = 0, completed = 0 }): Promise<Data> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const keys = new KeyStore(join(dir, 'keys.sqlite'), { now: Date.now });
  const add = (name: string, kind: string): string => keys.add({ name, kind, endpoints: null }).key;
  const clientKeys = Array.from({ length: clients }, (_, i) => add(`client-${i + 1}`, 'client'));
  const workerKey = add('worker', 'worker');
  keys.close();
  const idsFile = join(dir, '..', 'ids.txt');
  writeFileSync(idsFile, (await fillBook(dir, queued, completed)).join('\n'));
  return { dir, clientKeys, workerKey, idsFile };
}

async function fillBook(dir: string, queued: number, completed: number): Promise<string[]> {
  const path = join(dir, 'service.sqlite');
  const store = new JobStore(path, { retentionMs: 30 * 60_000, now: Date.now });
  const ids: string[] = [];
  const total = queued + completed;
  while (ids.length < total) {
    const some = Array.from({ length: Math.min(atOnce, total - ids.length) }, (_, i) =>
      store.accept(endpointId, JSON.stringify(inputOf(ids.length + i))),
    );
    ids.push(...(await Promise.all(some)).flatMap((job) => (typeof job === 'object' ? job.id : [])));
  }
  for (let done = 0; done < completed; done += atOnce) {
    const takers = Array.from({ length: Math.min(atOnce, completed - done) }, () => taker);
    const taken = await store.work.take(endpointId, takers);
    const outcome = { state: 'COMPLETED', output: JSON.stringify(outputOf()) } as const;
    await Promise.all(taken.map(({ id }) => store.work.settle({ id, workerId: taker.workerId }, outcome)));
  }
  store.close();
  return ids;
}

const taker = { workerId: 'worker-of-the-benchmark', isPulled: true };

export function inputOf(index: number): object {
  return { scene: `hills and ${index + 1} trees`, seed: index, width: 1024, height: 1024 };
}

/** Returns an output about as long as a very small picture. */
export function outputOf(): object {
  return [{ rendered_image: 'A'.repeat(1_000), seed: 1 }];
}
