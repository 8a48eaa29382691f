/** The keys of workers that the service starts itself: one for each endpoint, for as long as the service runs. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { KeyHolder } from './key.ts';

const pattern = /^own\.(?<endpointId>[A-Za-z0-9_-]{1,128})\.(?<proof>[0-9a-f]{64})$/;

/** What runs in such a worker is its endpoint's business only: its key takes no job of another endpoint. */
export class OwnWorkerKeys {
  static readonly holderName = 'own-workers';

  /** Held in memory alone, so that the keys of a service end with it. */
  readonly #secret = randomBytes(32);

  keyOf(endpointId: string): string {
    return `own.${endpointId}.${this.#proofOf(endpointId).toString('hex')}`;
  }

  /** Undefined for all other keys. */
  find(key: string): KeyHolder | undefined {
    const { endpointId, proof } = pattern.exec(key)?.groups ?? {};
    if (endpointId === undefined || proof === undefined) return undefined;
    if (!timingSafeEqual(this.#proofOf(endpointId), Buffer.from(proof, 'hex'))) return undefined;
    const name = OwnWorkerKeys.holderName;
    return { id: name, name, kind: 'worker', endpoints: [endpointId] };
  }

  #proofOf(endpointId: string): Buffer {
    return createHmac('sha256', this.#secret).update(endpointId).digest();
  }
}
