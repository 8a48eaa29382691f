/** Who may ask the page's server, and for what. */
import type { IncomingMessage } from 'node:http';

export interface Refusal {
  status: number;
  /** For people. */
  text: string;
  headers?: Record<string, string>;
}

/** Undefined where the request may be answered. */
export function refusalOf(request: IncomingMessage): Refusal | undefined {
  if (!isLoopbackName(request.headers.host ?? '')) {
    return {
      status: 421,
      text: 'This page answers to the names 127.0.0.1 and localhost only. Behind a reverse proxy, have it send "Host: 127.0.0.1".',
    };
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return {
      status: 405,
      text: 'Nothing can be changed here: the page only looks.',
      headers: { Allow: 'GET, HEAD' },
    };
  }
  return undefined;
}

/** A page of another site whose name is made to lead here (DNS rebinding) sends that name. Any port: a tunnel has its own. */
function isLoopbackName(host: string): boolean {
  return /^(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?$/i.test(host);
}
