/** The copy of a report that a bucket has beside the pictures: what is read last is put last. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import type { Bucket } from '../../lib/s3/bucket.ts';
import { withBucketFailure } from './bucket-failure.ts';
import { isSystemError } from '../files/disk-failure.ts';
import { reportFolder, typeOf } from './bucket-store.ts';

/** Each holds a file of rows, of a megabyte. */
const filesAtOnce = 8;

/** One that is written anew meanwhile is put by whoever has written it. */
export async function uploadReport(bucket: Bucket, folder: string, signal?: AbortSignal): Promise<void> {
  try {
    await upload(bucket, folder, signal);
  } catch (error) {
    if (!isSystemError(error) || error.code !== 'ENOENT') throw error;
  }
}

/** `folder` is the report's on this machine. Throws the reason of `signal` where that cuts it; the page there stays whole. */
async function upload(bucket: Bucket, folder: string, signal?: AbortSignal): Promise<void> {
  const put = async (name: string): Promise<void> => {
    signal?.throwIfAborted();
    await bucket.putFile(reportFolder + name, join(folder, name), typeOf(name));
  };
  const limit = pLimit(filesAtOnce);
  await withBucketFailure(async () => {
    const before: string[] = [];
    for await (const { key } of bucket.list(`${reportFolder}gallery/`)) before.push(key);
    const page = await readFile(join(folder, 'index.html'), 'utf8');
    // Links that are credentials stay on this machine.
    if (page.includes('<meta name="nightrender-links" content="signed">')) return;
    const rows = /<meta name="nightrender-rows" content="([\w/-]+)">/.exec(page)?.[1] ?? '';
    const names = (await readdir(join(folder, rows))).map((name) => `${rows}/${name}`);
    await Promise.all(names.map((name) => limit(put, name)));
    for (const name of ['results.csv', 'results.jsonl', 'summary.json']) await put(name);
    await bucket.put(`${reportFolder}index.html`, Buffer.from(page), { type: typeOf('index.html') });
    const kept = new Set(names.map((name) => reportFolder + name));
    for (const key of before) if (!kept.has(key)) await bucket.remove(key);
  });
}
