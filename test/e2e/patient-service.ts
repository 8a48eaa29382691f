/** A service of the test's own that accepts every job, finishes none until it is told to and cancels none. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface PatientService {
  url: string;
  submissions: number;
  /** Every request, as `POST /v2/…`. */
  requests: string[];
  /** Whether it lets status requests wait for ever. */
  isSilent: boolean;
}

export async function startPatientService(): Promise<PatientService> {
  const service: PatientService = { url: '', submissions: 0, requests: [], isSilent: false };
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      service.requests.push(`${request.method} ${request.url}`);
      if (service.isSilent && request.url?.includes('/status/') === true) return;
      response.setHeader('content-type', 'application/json');
      if (request.url?.includes('/cancel/') === true) response.statusCode = 405;
      const isSubmission = request.url?.endsWith('/run') === true;
      if (isSubmission) service.submissions += 1;
      const id = isSubmission ? `job-${service.submissions}` : request.url?.split('/').at(-1);
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
