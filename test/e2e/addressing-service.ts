/** A service of the test's own whose worker hands in the address of its picture. */
import { createServer } from 'node:http';
import { listenOnLoopback } from './listen-on-loopback.ts';

export interface AddressingService {
  url: string;
  submissions: number;
}

/** Every job has completed at once, and names `picture`. */
export async function startAddressingService(picture: string): Promise<AddressingService> {
  const service: AddressingService = { url: '', submissions: 0 };
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.setHeader('content-type', 'application/json');
      if (request.method === 'POST') service.submissions += 1;
      const accepted = { id: `job-${service.submissions}`, status: 'IN_QUEUE' };
      const asked = request.url?.split('/').at(-1);
      const completed = { id: asked, status: 'COMPLETED', output: { image_url: picture } };
      response.end(JSON.stringify(request.method === 'POST' ? accepted : completed));
    });
  });
  service.url = await listenOnLoopback(server);
  return service;
}
