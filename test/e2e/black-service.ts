/** A service of the test's own whose every job is done at once and brings a black picture of 64×48 pixels. */
import { createServer } from 'node:http';
import sharp from 'sharp';
import { listenOnLoopback } from './listen-on-loopback.ts';

/** Resolves to its URL. */
export async function startBlackService(): Promise<string> {
  const black = await sharp({ create: { width: 64, height: 48, channels: 3, background: '#000' } })
    .png()
    .toBuffer();
  const output = [{ rendered_image: black.toString('base64'), seed: 1 }];
  let jobs = 0;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.setHeader('content-type', 'application/json');
      const isNew = request.method === 'POST';
      const id = isNew ? `job-${(jobs += 1)}` : request.url?.split('/').at(-1);
      response.end(JSON.stringify(isNew ? { id, status: 'IN_QUEUE' } : { id, status: 'COMPLETED', output }));
    });
  });
  return listenOnLoopback(server);
}
