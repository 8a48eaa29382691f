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

export function sendOverload(response: ServerResponse, headers: Record<string, string>, text: string): void {
  send(response, 429, headers, text);
}

export function inASecond(): string {
  return new Date(Date.now() + 1_000).toUTCString();
}

/** Half of what was announced, then the connection breaks. */
export function sendCut(response: ServerResponse, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.write(text.slice(0, text.length >> 1), () => response.socket?.destroy());
}

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
