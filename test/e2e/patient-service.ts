/** A service of the test's own that accepts every job, finishes none until it is told to and cancels none. */
import { createServer } from 'node:http';
import { listenOnLoopback } from './listen-on-loopback.ts';

export interface PatientService {
  url: string;
  submissions: number;
  /** Every request, as `POST /v2/…`. */
  requests: string[];
  /** Status requests are heard and not answered. */
  isStatusSilent: boolean;
}

export async function startPatientService(): Promise<PatientService> {
  const service: PatientService = {
    url: '',
    submissions: 0,
    requests: [],
    isStatusSilent: false,
  };
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      service.requests.push(`${request.method} ${request.url}`);
      const isStatus = request.url?.includes('/status/') === true;
      if (service.isStatusSilent && isStatus) return;
      response.setHeader('content-type', 'application/json');
      if (request.url?.includes('/cancel/') === true) response.statusCode = 405;
      const isSubmission = request.url?.endsWith('/run') === true;
      if (isSubmission) service.submissions += 1;
      const id = isSubmission ? `job-${service.submissions}` : request.url?.split('/').at(-1);
      response.end(JSON.stringify({ id, status: 'IN_QUEUE' }));
    });
  });
  service.url = await listenOnLoopback(server);
  return service;
}
