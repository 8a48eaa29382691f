/** The answers of a service that lets nobody in: each of them is to stop a run at once. */
import type { ServerResponse } from 'node:http';
import { sendHtml, sendJson, sendRedirect, sendPlain } from './answers.ts';

interface ClosedDoor {
  /** Whether it is closed to submissions only. */
  isForSubmissions: boolean;
  /** Whether the first answer is enough to know that nobody gets in; of 404s, each may be its job's own. */
  isPlain: boolean;
  answer: (response: ServerResponse, elsewhere: string) => void;
}

export const closedDoors: Record<string, ClosedDoor> = {
  '401 to everything': everything((response) => sendPlain(response, 401, '')),
  '403 and HTML to everything': everything((response) => sendHtml(response, 403)),
  '402 to submissions': submissions((response) => sendJson(response, { error: 'out of credit' }, 402)),
  '401 within 200 to submissions': submissions((response) =>
    sendJson(response, { status: 401, error: 'unauthorized' }),
  ),
  '404 to everything': {
    ...everything((response) => sendJson(response, { detail: 'endpoint not found' }, 404)),
    isPlain: false,
  },
  'a redirect of submissions': submissions(sendRedirect),
};

function everything(answer: ClosedDoor['answer']): ClosedDoor {
  return { isForSubmissions: false, isPlain: true, answer };
}

function submissions(answer: ClosedDoor['answer']): ClosedDoor {
  return { isForSubmissions: true, isPlain: true, answer };
}
