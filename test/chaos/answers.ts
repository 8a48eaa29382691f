/** The ways in which the hostile service answers, or does not: those of the faults that can be asked for, in its words. */
import type { ServerResponse } from 'node:http';
import type { Chance } from '../../src/service/faults/chance.ts';
import * as shared from '../../src/service/faults/fault-answers.ts';

export { reset, sendOverload, sendPlain } from '../../src/service/faults/fault-answers.ts';

export function sendJson(response: ServerResponse, body: unknown, status = 200): void {
  shared.sendJson(response, status, JSON.stringify(body));
}

/** What a proxy in front of the service says in its place. */
export function sendProxyTrouble(response: ServerResponse, random: Chance): void {
  const status = random.pick([500, 502, 503, 504, 520, 521, 522, 523, 524]);
  sendHtml(response, status);
}

export function sendHtml(response: ServerResponse, status: number): void {
  shared.sendHtml(response, status);
}

export function sendText(response: ServerResponse, text: string): void {
  shared.sendJson(response, 200, text);
}

/** Where it leads, keys are not to go. */
export function sendRedirect(response: ServerResponse, elsewhere: string, status = 307): void {
  shared.sendRedirect(response, status, `${elsewhere}/elsewhere`);
}

export function inASecond(): string {
  return shared.dateAfter(1_000);
}

export function sendUnavailable(response: ServerResponse): void {
  shared.sendHtml(response, 503, { 'retry-after': '1' });
}

export function sendCut(response: ServerResponse, body: unknown): void {
  shared.sendCut(response, JSON.stringify(body));
}

export function sendCutChunks(response: ServerResponse, body: unknown): void {
  shared.sendCutChunks(response, JSON.stringify(body));
}

export function sendMismeasured(response: ServerResponse, body: unknown, byBytes: number): void {
  shared.sendMismeasured(response, JSON.stringify(body), byBytes);
}

export function sendUnpackable(response: ServerResponse, body: unknown): void {
  shared.sendUnpackable(response, JSON.stringify(body));
}

export function sendLate(response: ServerResponse, body: unknown, lateMs: number): void {
  shared.sendLate(response, 200, JSON.stringify(body), lateMs);
}

/** Each part in time, all of them together later than one part may be. */
export function sendDripping(response: ServerResponse, body: unknown): void {
  shared.sendDripping(response, JSON.stringify(body), 80);
}

export function hang(response: ServerResponse): void {
  shared.hang(response, 10_000);
}
