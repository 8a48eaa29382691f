/** The ways in which the hostile service answers, or does not. */
import type { ServerResponse } from 'node:http';
import type { Chance } from './chance.ts';

export function sendJson(response: ServerResponse, body: unknown, status = 200): void {
  send(response, status, { 'content-type': 'application/json' }, JSON.stringify(body));
}

/** What a proxy in front of the service says in its place. */
export function sendProxyTrouble(response: ServerResponse, random: Chance): void {
  const status = random.pick([500, 502, 503, 504, 520, 521, 522, 523, 524]);
  sendHtml(response, status);
}

export function sendHtml(response: ServerResponse, status: number): void {
  const page = `<!DOCTYPE html><html><head><title>${status}</title></head><body><h1>${status}</h1></body></html>`;
  send(response, status, { 'content-type': 'text/html' }, page);
}

export function sendText(response: ServerResponse, text: string): void {
  send(response, 200, { 'content-type': 'application/json' }, text);
}

export function sendPlain(response: ServerResponse, status: number, text: string): void {
  send(response, status, { 'content-type': 'text/plain' }, text);
}

/** Where it leads, keys are not to go. */
export function sendRedirect(response: ServerResponse, elsewhere: string, status = 307): void {
  send(response, status, { location: `${elsewhere}/elsewhere` }, '');
}

export function sendOverload(response: ServerResponse, headers: Record<string, string>, text: string): void {
  send(response, 429, headers, text);
}

export function inASecond(): string {
  return new Date(Date.now() + 1_000).toUTCString();
}

export function sendUnavailable(response: ServerResponse): void {
  send(response, 503, { 'retry-after': '1', 'content-type': 'text/html' }, '<html>maintenance</html>');
}

/** Half of what was announced, then the connection breaks. */
export function sendCut(response: ServerResponse, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.write(text.slice(0, text.length >> 1), () => response.socket?.destroy());
}

/** No length was announced, so that only the missing last chunk tells. */
export function sendCutChunks(response: ServerResponse, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write(text.slice(0, text.length >> 1), () => response.socket?.destroy());
}

/** The whole body, announced as so many bytes longer than it is, or shorter where negative. */
export function sendMismeasured(response: ServerResponse, body: unknown, byBytes: number): void {
  const text = JSON.stringify(body);
  const length = Buffer.byteLength(text) + byBytes;
  // Node would not let this pass through a response of its own.
  response.socket?.end(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n${text}`,
  );
}

/** Says that it is packed, and is not. */
export function sendUnpackable(response: ServerResponse, body: unknown): void {
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
  send(response, 200, headers, JSON.stringify(body));
}

/** A whole answer, late, and in time for whoever is patient. */
export function sendLate(response: ServerResponse, body: unknown, lateMs: number): void {
  setTimeout(() => sendJson(response, body), lateMs).unref();
}

/** A whole answer in small parts, each in time, all of them together later than one part may be. */
export function sendDripping(response: ServerResponse, body: unknown): void {
  const text = JSON.stringify(body);
  const partLength = Math.ceil(text.length / parts);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  const drip = (part: number): void => {
    if (response.destroyed) return;
    response.write(text.slice(part * partLength, (part + 1) * partLength));
    if (part + 1 === parts) response.end();
    else setTimeout(drip, 80, part + 1).unref();
  };
  drip(0);
}

const parts = 6;

export function reset(response: ServerResponse): void {
  response.socket?.resetAndDestroy();
}

/** No answer; whoever waits gives up first. */
export function hang(response: ServerResponse): void {
  setTimeout(() => response.socket?.destroy(), 10_000).unref();
}

function send(response: ServerResponse, status: number, headers: Record<string, string>, text: string): void {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(text) });
  response.end(text);
}
