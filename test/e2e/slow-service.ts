/** A service of the test's own whose jobs take a while, and that counts who was submitted how often. */
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { blackPicture } from './instant-service.ts';
import { listenOnLoopback } from './listen-on-loopback.ts';

export interface SlowService {
  url: string;
  /** By the text of the scene. */
  submissions(): Map<string, number>;
  /** Of jobs that have been given out. */
  jobs(): number;
}

interface Slowness {
  takesMs: number;
  /** How long a submission waits for its answer once it is taken. */
  answersAfterMs?: () => number;
}

export async function startSlowService({ takesMs, answersAfterMs }: Slowness): Promise<SlowService> {
  const counted = new Map<string, number>();
  const begun: number[] = [];
  const output = [{ rendered_image: await blackPicture(), seed: 1 }];
  const server = createServer((request, response) => {
    void (async () => {
      response.setHeader('content-type', 'application/json');
      if (request.method !== 'POST') {
        const id = request.url?.split('/').at(-1) ?? '';
        const beganAt = begun[Number(id.replace('job-', '')) - 1];
        const isDone = beganAt !== undefined && Date.now() - beganAt >= takesMs;
        return response.end(
          JSON.stringify(isDone ? { id, status: 'COMPLETED', output } : { id, status: 'IN_PROGRESS' }),
        );
      }
      const { input } = (await json(request)) as { input: JsonObject };
      const scene = JSON.stringify(input['scene']);
      counted.set(scene, (counted.get(scene) ?? 0) + 1);
      const id = `job-${begun.push(Date.now())}`;
      if (answersAfterMs !== undefined) await delay(answersAfterMs());
      return response.end(JSON.stringify({ id, status: 'IN_QUEUE' }));
    })();
  });
  return { url: await listenOnLoopback(server), submissions: () => counted, jobs: () => begun.length };
}
