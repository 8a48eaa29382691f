/** A service of the test's own that accepts every job and finishes none until it is told to. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface PatientService {
  url: string;
  submissions: number;
}

export async function startPatientService(): Promise<PatientService> {
  const service: PatientService = { url: '', submissions: 0 };
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.setHeader('content-type', 'application/json');
      if (request.method === 'POST') service.submissions += 1;
      const id = request.method === 'POST' ? `job-${service.submissions}` : request.url?.split('/').at(-1);
      response.end(JSON.stringify({ id, status: 'IN_QUEUE' }));
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
