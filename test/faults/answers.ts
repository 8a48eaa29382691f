/** Answers of a service that are wrong, late, incomplete or missing. */
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

/** Answers with an HTML page, as a proxy or firewall in front of the service does. */
export function sendHtml(
  response: ServerResponse,
  status: number,
  headers: Record<string, string> = {},
): void {
  const page = `<!DOCTYPE html><html><head><title>${status}</title></head><body><h1>${status}</h1></body></html>`;
  send(response, status, page, { ...headers, 'content-type': 'text/html' });
}

/** Sends `keptBytes` bytes of the announced length (half of it by default), then breaks the connection. */
export function sendCut(response: ServerResponse, fields: Fields, keptBytes?: number): void {
  const bytes = bytesOf(fields);
  response.writeHead(200, { ...json, 'content-length': bytes.length });
  response.write(bytes.subarray(0, keptBytes ?? bytes.length >> 1), () => response.socket?.destroy());
}

/** Sends half of a chunked answer. Only the missing last chunk shows that it is incomplete. */
export function sendCutChunks(response: ServerResponse, fields: Fields): void {
  const bytes = bytesOf(fields);
  response.writeHead(200, json);
  response.write(bytes.subarray(0, bytes.length >> 1), () => response.socket?.destroy());
}

/** Sends the whole body with a wrong Content-Length: too large by `byBytes`, or too small if negative. */
export function sendMismeasured(response: ServerResponse, fields: Fields, byBytes: number): void {
  const bytes = bytesOf(fields);
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${bytes.length + byBytes}\r\n\r\n`;
  // Node does not send a wrong Content-Length through its own response.
  response.socket?.end(Buffer.concat([Buffer.from(head), bytes]));
}

/** Sends a complete answer after `lateMs`, which is within the timeouts of clients. */
export function sendLate(response: ServerResponse, fields: Fields, lateMs: number): void {
  setTimeout(() => !response.destroyed && sendJson(response, fields), lateMs).unref();
}

/**
 * Sends a complete answer in small parts. Each pause is short, but all together take longer than a single
 * pause may.
 */
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

/** Sends no answer. The client times out first. */
export function hang(response: ServerResponse): void {
  const timer = setTimeout(() => response.socket?.destroy(), hangMs).unref();
  response.once('close', () => clearTimeout(timer));
}

const hangMs = 10_000;

const json = { 'content-type': 'application/json' };

function bytesOf(fields: Fields): Buffer {
  return Buffer.from(JSON.stringify(fields));
}
