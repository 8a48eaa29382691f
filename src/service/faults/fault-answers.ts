/** The ways in which a service answers that it should not, or does not answer at all. */
import type { ServerResponse } from 'node:http';

type Body = string | Buffer;

/** As it should be, save for what it says. */
export function sendWhole(
  response: ServerResponse,
  status: number,
  headers: Record<string, string | string[]>,
  body: Body,
): void {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

export function sendJson(response: ServerResponse, status: number, body: Body): void {
  sendWhole(response, status, { 'content-type': 'application/json' }, body);
}

/** What a proxy or a firewall in front of the service says in its place. */
export function sendHtml(
  response: ServerResponse,
  status: number,
  headers: Record<string, string> = {},
): void {
  const page = `<!DOCTYPE html><html><head><title>${status}</title></head><body><h1>${status}</h1></body></html>`;
  sendWhole(response, status, { ...headers, 'content-type': 'text/html' }, page);
}

export function sendPlain(response: ServerResponse, status: number, text: string): void {
  sendWhole(response, status, { 'content-type': 'text/plain' }, text);
}

export function sendRedirect(response: ServerResponse, status: number, location: string): void {
  sendWhole(response, status, { location }, '');
}

export function sendOverload(response: ServerResponse, headers: Record<string, string>, text: string): void {
  sendWhole(response, 429, headers, text);
}

/** As `Retry-After` has it, in whole seconds. */
export function dateAfter(ms: number): string {
  return new Date(Date.now() + ms).toUTCString();
}

/** Half of what was announced, then the connection breaks; or so many bytes of it. */
export function sendCut(response: ServerResponse, body: Body, keptBytes?: number): void {
  const bytes = Buffer.from(body);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length });
  response.write(bytes.subarray(0, keptBytes ?? bytes.length >> 1), () => response.socket?.destroy());
}

/** No length was announced, so that only the missing last chunk tells. */
export function sendCutChunks(response: ServerResponse, body: Body): void {
  const bytes = Buffer.from(body);
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write(bytes.subarray(0, bytes.length >> 1), () => response.socket?.destroy());
}

/** The whole body, announced as so many bytes longer than it is, or shorter where negative. */
export function sendMismeasured(response: ServerResponse, body: Body, byBytes: number): void {
  const bytes = Buffer.from(body);
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${bytes.length + byBytes}\r\n\r\n`;
  // Node would not let this pass through a response of its own.
  response.socket?.end(Buffer.concat([Buffer.from(head), bytes]));
}

/** Says that it is packed, and is not. */
export function sendUnpackable(response: ServerResponse, body: Body): void {
  sendWhole(response, 200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }, body);
}

/** A whole answer, late, and in time for whoever is patient. */
export function sendLate(response: ServerResponse, status: number, body: Body, lateMs: number): void {
  setTimeout(() => !response.destroyed && sendJson(response, status, body), lateMs).unref();
}

/** A whole answer in small parts, each in time, all of them together later than one part may be. */
export function sendDripping(response: ServerResponse, body: Body, everyMs: number): void {
  const bytes = Buffer.from(body);
  const partLength = Math.ceil(bytes.length / dripCount);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length });
  const drip = (part: number): void => {
    if (response.destroyed) return;
    response.write(bytes.subarray(part * partLength, (part + 1) * partLength));
    if (part + 1 === dripCount) response.end();
    else setTimeout(drip, everyMs, part + 1).unref();
  };
  drip(0);
}

export const dripCount = 6;

export function reset(response: ServerResponse): void {
  response.socket?.resetAndDestroy();
}

/** No answer; whoever waits gives up first. */
export function hang(response: ServerResponse, ms: number): void {
  const timer = setTimeout(() => response.socket?.destroy(), ms).unref();
  response.once('close', () => clearTimeout(timer));
}
