/** The copy of a report that lies beside pictures elsewhere: what is read last is put last. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { isSystemError } from '../files/disk-failure.ts';
import type { Place } from './place.ts';

/** Maximum number of concurrent uploads. Each holds a file of rows of about a megabyte in memory. */
const filesAtOnce = 8;

/** Uploads a report. If the report is replaced meanwhile, the process that replaced it uploads the new one. */
export async function uploadReport(to: Place, folder: string, signal?: AbortSignal): Promise<void> {
  try {
    await upload(to, folder, signal);
  } catch (error) {
    if (!isSystemError(error) || error.code !== 'ENOENT') throw error;
  }
}

/** Uploads the report. After an abort, throws the reason of `signal`; the page in the place stays intact. */
async function upload(to: Place, folder: string, signal?: AbortSignal): Promise<void> {
  const put = async (name: string): Promise<void> => {
    signal?.throwIfAborted();
    await to.put(name, { path: join(folder, name) });
  };
  const limit = pLimit(filesAtOnce);
  const before: string[] = [];
  for await (const { name } of to.list('gallery/')) before.push(name);
  const page = await readFile(join(folder, 'index.html'), 'utf8');
  // Signed links are credentials, so a report with them stays on this machine.
  if (page.includes('<meta name="nightrender-links" content="signed">')) return;
  const rows = /<meta name="nightrender-rows" content="([\w/-]+)">/.exec(page)?.[1] ?? '';
  const names = (await readdir(join(folder, rows))).map((name) => `${rows}/${name}`);
  await Promise.all(names.map((name) => limit(put, name)));
  for (const name of ['results.csv', 'results.jsonl', 'summary.json']) await put(name);
  await to.put('index.html', Buffer.from(page));
  const kept = new Set(names);
  for (const name of before) if (!kept.has(name)) await to.remove(name);
}
