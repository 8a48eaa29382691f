/** A service of the test's own whose every job is done at once, each with the same output. */
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import sharp from 'sharp';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { listenOnLoopback } from './listen-on-loopback.ts';

export interface InstantService {
  url: string;
  /** Of all submissions. */
  inputs: JsonObject[];
}

export async function startInstantService(output: unknown): Promise<InstantService> {
  const inputs: JsonObject[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      response.setHeader('content-type', 'application/json');
      const id = request.url?.split('/').at(-1);
      if (request.method !== 'POST') return response.end(JSON.stringify({ id, status: 'COMPLETED', output }));
      const count = inputs.push(((await json(request)) as { input: JsonObject }).input);
      return response.end(JSON.stringify({ id: `job-${count}`, status: 'IN_QUEUE' }));
    })();
  });
  return { url: await listenOnLoopback(server), inputs };
}

/** Every job brings a black picture of 64×48 pixels. */
export async function startBlackService(): Promise<string> {
  return (await startInstantService([{ rendered_image: await blackPicture(), seed: 1 }])).url;
}

/** PNG as base64. */
export async function blackPicture(): Promise<string> {
  const black = sharp({ create: { width: 64, height: 48, channels: 3, background: '#000' } });
  return (await black.png().toBuffer()).toString('base64');
}
