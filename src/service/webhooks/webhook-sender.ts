/** Sends one webhook, to nobody whom it may not lead to. */
import { Readable } from 'node:stream';
import { Agent, request } from 'undici';
import { type Internet, publicLookup } from '../../lib/net/public-lookup.ts';
import { byteCountOf, type FiledText, isFiled, piecesOf, type Text } from '../jobs/filed-text.ts';
import { isPrivateTarget } from './private-target.ts';

/** Whom webhooks may lead to. */
export interface WebhookTargets {
  /** Whether they may lead to this machine and its network. */
  hasPrivate: boolean;
  /** Where names are looked up that may lead to the internet only. */
  internet?: Internet;
}

/** How one went. */
export interface Try {
  /** Why it was not heard; undefined where it was. */
  why?: string;
  /** Undefined where the host was not asked. */
  hasAnswered?: boolean;
}

const timeoutMs = 15_000;
const connectMs = 5_000;

export class WebhookSender {
  readonly #hasPrivate: boolean;
  readonly #agent: Agent;

  constructor({ hasPrivate, internet }: WebhookTargets) {
    this.#hasPrivate = hasPrivate;
    this.#agent = new Agent({
      connect: { timeout: connectMs, ...(!hasPrivate && { lookup: publicLookup(internet) }) },
    });
  }

  async send(url: string, text: Text | FiledText, stop: AbortSignal): Promise<Try> {
    if (!this.#hasPrivate && isPrivateTarget(url))
      return { why: 'it is an address of this machine or its network, which webhooks may not lead to' };
    try {
      const { statusCode, body } = await request(url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'Content-Length': String(byteCountOf(text)) },
        body: isFiled(text) ? Readable.from(piecesOf(text)) : text,
        signal: AbortSignal.any([stop, AbortSignal.timeout(timeoutMs)]),
        dispatcher: this.#agent,
      });
      await body.dump();
      const isHeard = statusCode >= 200 && statusCode < 300;
      return { hasAnswered: true, ...(!isHeard && { why: `it answered ${statusCode}` }) };
    } catch (error) {
      return { hasAnswered: false, why: String(error) };
    }
  }

  /** Those that are on their way end. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}
