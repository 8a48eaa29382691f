/** The secrets by which receivers of webhooks know that the service sent them, as Standard Webhooks has it. */
import { createHmac } from 'node:crypto';
import { type FiledText, type Text, isFiled, piecesOf } from '../../lib/files/filed-text.ts';
import type { KeyStore } from '../keys/key-store.ts';

export class WebhookSecrets {
  readonly #service: Buffer;
  readonly #keys: Pick<KeyStore, 'digestsOf'>;

  /** `service` is the secret that the service keeps over restarts. */
  constructor(service: Buffer, keys: Pick<KeyStore, 'digestsOf'>) {
    this.#service = service;
    this.#keys = keys;
  }

  /**
   * Returns the secrets of a key, 32 bytes each: that of its text, and that of its earlier one while `keys rotate` keeps it valid. No
   * two keys have the same secret, and it tells nothing of its key.
   */
  of(keyId: string): [Buffer, ...Buffer[]] {
    const [digest = keyId, ...earlier] = this.#keys.digestsOf(keyId);
    return [this.#secretOf(digest), ...earlier.map((each) => this.#secretOf(each))];
  }

  #secretOf(digest: Buffer | string): Buffer {
    // Keys of workers are made of the same secret and the id of an endpoint, which holds no line break.
    return createHmac('sha256', this.#service).update('webhooks\n').update(digest).digest();
  }
}

/** Returns a secret as receivers enter it: `whsec_` and base64. */
export function secretText(secret: Buffer): string {
  return `whsec_${secret.toString('base64')}`;
}

/**
 * Returns the headers that identify and sign a message, with one signature for each secret. `id` is the same in every try; `nowMs` is the time of this
 * try, epoch ms by the system clock, which receivers compare with their own.
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
