/** Promise: a read that waits for rows can be aborted at any moment, from any source. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { expect, it, onTestFinished } from 'vitest';
import { openManifest } from '../../../src/runner/manifest/read-manifest.ts';
import { withFile } from './read-all.ts';

const rows = (count: number): string =>
  `id,scene\n${Array.from({ length: count }, (_, i) => `s${i},hills\n`).join('')}`;
const given = { name: 'AbortError' };

it('a read can be aborted before the first row, and between two rows', async () => {
  for (const begun of ['', 'id,scene\na,sea\n']) {
    const stopped = new AbortController();
    const source = new PassThrough();
    source.write(begun);
    const reading = readAll('-', stopped.signal, source);
    setImmediate(() => stopped.abort());
    await expect(reading).rejects.toMatchObject(given);
    expect(source.destroyed).toBe(true);
  }
});

it('a read can be aborted in the middle of a compressed file', async () => {
  const stopped = new AbortController();
  const source = new PassThrough();
  source.write(gzipSync(rows(5_000)).subarray(0, -20));
  const reading = readAll('-', stopped.signal, source);
  setImmediate(() => stopped.abort());
  await expect(reading).rejects.toMatchObject(given);
});

it('a read can be aborted in the middle of a file', async () => {
  await withFile('list.csv', rows(50_000), async (path) => {
    const stopped = new AbortController();
    await expect(readAll(path, stopped.signal, undefined, () => stopped.abort())).rejects.toMatchObject(
      given,
    );
  });
});

it.skipIf(process.platform === 'win32')(
  'a named pipe that nobody writes to, and one whose writer is silent; one that is written to is read whole',
  async () => {
    const path = namedPipe();
    const unheard = new AbortController();
    const waiting = readAll(path, unheard.signal);
    setImmediate(() => unheard.abort());
    await expect(waiting).rejects.toMatchObject(given);

    const stopped = new AbortController();
    const reading = readAll(path, stopped.signal);
    const writer = await open(path, 'w');
    stopped.abort();
    await expect(reading).rejects.toMatchObject(given);
    await writer.close();

    const [count] = await Promise.all([
      readAll(path, new AbortController().signal),
      writeFile(path, rows(20_000)),
    ]);
    expect(count).toBe(20_000);
  },
);

/** Returns the number of rows. */
async function readAll(
  path: string,
  signal: AbortSignal,
  source?: PassThrough,
  onBatch: () => void = () => undefined,
): Promise<number> {
  const { batches } = await openManifest(path, { signal, ...(source !== undefined && { source }) });
  let count = 0;
  for await (const batch of batches) {
    count += batch.length;
    onBatch();
  }
  return count;
}

function namedPipe(): string {
  const folder = mkdtempSync(join(tmpdir(), 'nightrender-pipe-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'list.csv');
  execFileSync('mkfifo', [path]);
  return path;
}
