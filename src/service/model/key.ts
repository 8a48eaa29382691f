/** Keys of the service: their holders, their rights, and their texts. */
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';

export const keyKinds = ['client', 'worker', 'admin'] as const;

/** `client` keys submit jobs, `worker` keys pull them, and `admin` keys also use the console. */
export type KeyKind = (typeof keyKinds)[number];

export interface KeyLimits {
  requestsPerSecond: number | null;
  /** Maximum number of queued jobs at all endpoints, and size of their inputs. */
  maxQueued: number | null;
  maxQueuedBytes: number | null;
  /** Maximum number of concurrent requests. */
  maxHeld: number | null;
}

/** The key that sent a request, as far as rights and limits depend on it. */
export interface KeyHolder {
  id: string;
  name: string;
  kind: KeyKind;
  /** Ids of the endpoints that the key is valid for; null for all. */
  endpoints: string[] | null;
  /** Maximum execution time of its jobs per day (UTC), in ms; null without limit. */
  quotaMs: number | null;
  /** True if the key cannot see jobs of other keys. */
  hasOwnJobsOnly: boolean;
  /** True if the key sees everything that its kind sees, and changes nothing. */
  isReadOnly: boolean;
  limits: KeyLimits;
}

export const noLimits = {
  requestsPerSecond: null,
  maxQueued: null,
  maxQueuedBytes: null,
  maxHeld: null,
} as const satisfies KeyLimits;

/** Terms of a key that was created without limits. */
export const unlimited = {
  endpoints: null,
  quotaMs: null,
  hasOwnJobsOnly: false,
  isReadOnly: false,
  limits: noLimits,
} as const;

/** A stored key. Times are epoch ms. */
export interface KeyRecord extends KeyHolder {
  createdAt: number;
  /** Exact to the minute. */
  lastUsedAt: number | null;
  /** Client address of the latest use. */
  lastUsedFrom: string | null;
  revokedAt: number | null;
  /** Time by the system clock from which the key is no longer accepted. */
  expiresAt: number | null;
  /** Price of one second of execution, in USD. */
  price: number | null;
}

/** True if the key is neither revoked nor expired at `now`, in epoch ms. */
export function isValid({ revokedAt, expiresAt }: KeyRecord, now: number): boolean {
  return revokedAt === null && (expiresAt === null || now < expiresAt);
}

export type KeyRight = 'jobs' | 'work' | 'console';

const rights = {
  client: ['jobs'],
  worker: ['work'],
  admin: ['jobs', 'console'],
} as const satisfies Record<KeyKind, readonly KeyRight[]>;

/** True if the key has this right at the endpoint, or at all endpoints if `endpointId` is undefined. */
export function permits(key: KeyHolder, right: KeyRight, endpointId?: string): boolean {
  const isKind = (rights[key.kind] as readonly KeyRight[]).includes(right);
  const isInScope =
    key.endpoints === null || (endpointId !== undefined && key.endpoints.includes(endpointId));
  return isKind && isInScope;
}

/** Returns the SHA-256 that is stored. One pass is enough for keys of 256 random bits. */
export function digestOf(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}

/** True if an HTTP header can carry the key. Keys from elsewhere can contain anything. */
export function fitsHeader(key: string): boolean {
  return /^[\x21-\x7e]+$/.test(key);
}

/** Returns the key in the header `Authorization`, which may begin with `Bearer`. Undefined if there is none. */
export function presentedKey(authorization: string | undefined): string | undefined {
  const key = authorization?.replace(/^bearer +/i, '').trim();
  return key === '' ? undefined : key;
}

const pattern = /^own\.(?<endpointId>[A-Za-z0-9_-]{1,128})\.(?<proof>[0-9a-f]{64})$/;

/** Keys of the service's own workers, each for one endpoint, so that none takes another's jobs. */
export class OwnWorkerKeys {
  static readonly holderName = 'own-workers';

  readonly #secret: Buffer;

  /** `secret`: random by default and only in memory, so the keys expire with the service. */
  constructor(secret: Buffer = randomBytes(32)) {
    this.#secret = secret;
  }

  keyOf(endpointId: string): string {
    return `own.${endpointId}.${this.#proofOf(endpointId).toString('hex')}`;
  }

  /** Returns the holder of such a key; undefined for all other keys. */
  find(key: string): KeyHolder | undefined {
    const { endpointId, proof } = pattern.exec(key)?.groups ?? {};
    if (endpointId === undefined || proof === undefined) return undefined;
    if (!timingSafeEqual(this.#proofOf(endpointId), Buffer.from(proof, 'hex'))) return undefined;
    const name = OwnWorkerKeys.holderName;
    return { ...unlimited, id: name, name, kind: 'worker', endpoints: [endpointId] };
  }

  #proofOf(endpointId: string): Buffer {
    return createHmac('sha256', this.#secret).update(endpointId).digest();
  }
}
