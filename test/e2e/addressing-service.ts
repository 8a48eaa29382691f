/** A service of the test's own whose worker hands in the address of its picture. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  service.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return service;
}
