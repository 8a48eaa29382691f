/**
 * A worker process gets each job in a single write, because some programs take each read for a whole line.
 */
import { PassThrough, Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { LineWorker } from '../../../src/service/workloads/line-worker.ts';
import type { WorkerLog } from '../../../src/service/workloads/worker-log.ts';
import type { WorkerProcess } from '../../../src/service/workloads/worker-process.ts';

it('a program is sent a job with a single write, whatever the job contains', () => {
  const pieces: string[] = [];
  const requests = new Writable({
    write(chunk: Buffer, _, done) {
      pieces.push(chunk.toString());
      done();
    },
    writev(chunks, done) {
      pieces.push(chunks.map(({ chunk }) => (chunk as Buffer).toString()).join(''));
      done();
    },
  });
  const process = { ended: new Promise<string>(() => undefined) } as WorkerProcess;
  const log = { follow: () => undefined } as unknown as WorkerLog;
  const worker = new LineWorker({ process, requests, answers: new PassThrough(), log });
  const report = {
    signal: new AbortController().signal,
    progress: async () => undefined,
    stream: async () => undefined,
  };
  void worker.run({ id: 'a', inputText: '{"prompt":\n"an owl"}', s3Config: '{"b":1}' }, report);
  expect(pieces).toEqual(['{"id":"a","input":{"prompt": "an owl"},"s3Config":{"b":1}}\n']);
});
