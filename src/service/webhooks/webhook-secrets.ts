/** Secrets that sign webhooks, as specified by Standard Webhooks (standardwebhooks.com). */
import { createHmac } from 'node:crypto';
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
