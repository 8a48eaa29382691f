/** The ways in which a service answers that it should not, or does not answer at all. */
import type { ServerResponse } from 'node:http';

export type Fields = Record<string, unknown>;

export function send(
  response: ServerResponse,
  status: number,
  body: string | Buffer = '',
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

export function sendJson(response: ServerResponse, fields: unknown, status = 200): void {
  send(response, status, JSON.stringify(fields), json);
}

/** What a proxy or a firewall in front of the service says in its place. */
export function sendHtml(
  response: ServerResponse,
  status: number,
  headers: Record<string, string> = {},
): void {
  const page = `<!DOCTYPE html><html><head><title>${status}</title></head><body><h1>${status}</h1></body></html>`;
  send(response, status, page, { ...headers, 'content-type': 'text/html' });
}

/** So many bytes of what was announced, or half of them, then the connection breaks. */
export function sendCut(response: ServerResponse, fields: Fields, keptBytes?: number): void {
  const bytes = bytesOf(fields);
  response.writeHead(200, { ...json, 'content-length': bytes.length });
  response.write(bytes.subarray(0, keptBytes ?? bytes.length >> 1), () => response.socket?.destroy());
}

/** No length was announced, so that only the missing last chunk tells. */
export function sendCutChunks(response: ServerResponse, fields: Fields): void {
  const bytes = bytesOf(fields);
  response.writeHead(200, json);
  response.write(bytes.subarray(0, bytes.length >> 1), () => response.socket?.destroy());
}

/** The whole body, announced as so many bytes longer than it is, or shorter where negative. */
export function sendMismeasured(response: ServerResponse, fields: Fields, byBytes: number): void {
  const bytes = bytesOf(fields);
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${bytes.length + byBytes}\r\n\r\n`;
  // Node would not let this pass through a response of its own.
  response.socket?.end(Buffer.concat([Buffer.from(head), bytes]));
}

/** A whole answer, late, and in time for whoever is patient. */
export function sendLate(response: ServerResponse, fields: Fields, lateMs: number): void {
  setTimeout(() => !response.destroyed && sendJson(response, fields), lateMs).unref();
}

/** A whole answer in small parts, each in time, all of them together later than one part may be. */
export function sendDripping(response: ServerResponse, fields: Fields): void {
  const bytes = bytesOf(fields);
  const partLength = Math.ceil(bytes.length / dripCount);
  response.writeHead(200, { ...json, 'content-length': bytes.length });
  const drip = (part: number): void => {
    if (response.destroyed) return;
    response.write(bytes.subarray(part * partLength, (part + 1) * partLength));
    if (part + 1 === dripCount) response.end();
    else setTimeout(drip, dripMs, part + 1).unref();
  };
  drip(0);
}

const dripCount = 6;
const dripMs = 80;

export function reset(response: ServerResponse): void {
  response.socket?.resetAndDestroy();
}

/** No answer; whoever waits gives up first. */
export function hang(response: ServerResponse): void {
  const timer = setTimeout(() => response.socket?.destroy(), hangMs).unref();
  response.once('close', () => clearTimeout(timer));
}

const hangMs = 10_000;

const json = { 'content-type': 'application/json' };

function bytesOf(fields: Fields): Buffer {
  return Buffer.from(JSON.stringify(fields));
}
