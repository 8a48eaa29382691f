/** Program of a thread that runs a module's `handler`. Jobs and answers are messages. */
import { parentPort, workerData } from 'node:worker_threads';
import { pathToFileURL } from 'node:url';
import type { ThreadAnswer, ThreadJob } from './thread-workload.ts';

interface Job {
  id: string;
  input: Record<string, unknown>;
}

type Handler = (
  job: Job,
  context: {
    progress(message: unknown): void;
  },
) => Promise<unknown>;

const { handler } = (await import(pathToFileURL(workerData as string).href)) as { handler: Handler };
const answer = (message: ThreadAnswer): void => parentPort?.postMessage(message);

parentPort?.on('message', ({ id, inputText }: ThreadJob) => {
  const input = JSON.parse(inputText) as Job['input'];
  handler({ id, input }, { progress: (progress) => answer({ progress }) }).then(
    (output) => answer({ output }),
    (error: unknown) => answer({ error: error instanceof Error ? error.message : String(error) }),
  );
});
