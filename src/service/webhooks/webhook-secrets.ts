/** Secrets that sign webhooks, as specified by Standard Webhooks (standardwebhooks.com). */
import { createHmac } from 'node:crypto';
import { type FiledText, type Text, isFiled, piecesOf } from '../../lib/files/filed-text.ts';
import type { KeyStore } from '../keys/key-store.ts';

export class WebhookSecrets {
  readonly #service: Buffer;
  readonly #keys: Pick<KeyStore, 'digestsOf'>;

  /** `service`: the service's secret, which survives restarts. */
  constructor(service: Buffer, keys: Pick<KeyStore, 'digestsOf'>) {
    this.#service = service;
    this.#keys = keys;
  }

  /**
   * Returns the 32-byte secrets of a key: of its text, and of its earlier text while `keys rotate` keeps that
   * valid. Different keys have different secrets, which reveal nothing about the key.
   */
  of(keyId: string): [Buffer, ...Buffer[]] {
    const [digest = keyId, ...earlier] = this.#keys.digestsOf(keyId);
    return [this.#secretOf(digest), ...earlier.map((each) => this.#secretOf(each))];
  }

  #secretOf(digest: Buffer | string): Buffer {
    // The line break separates this from worker keys, which derive from the same secret and an endpoint id.
    return createHmac('sha256', this.#service).update('webhooks\n').update(digest).digest();
  }
}

/** Returns a secret in the form that receivers enter: `whsec_` and base64. */
export function secretText(secret: Buffer): string {
  return `whsec_${secret.toString('base64')}`;
}

/**
 * Returns the headers that identify and sign a message, with one signature for each secret. `id` is the same in
 * every try. `nowMs` is the time of this try (system clock, epoch ms), which receivers check.
 */
export async function signedHeaders(
  secrets: Buffer[],
  { id, nowMs, body }: { id: string; nowMs: number; body: Text | FiledText },
): Promise<Record<string, string>> {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const hmacs = secrets.map((secret) => createHmac('sha256', secret).update(`${id}.${timestamp}.`));
  for await (const piece of piecesOf(isFiled(body) ? body : [body]))
    for (const hmac of hmacs) hmac.update(piece);
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': hmacs.map((hmac) => `v1,${hmac.digest('base64')}`).join(' '),
  };
}
