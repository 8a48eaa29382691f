/** The keys of the service: whom each identifies, what it permits, and its text. */
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';

export const keyKinds = ['client', 'worker', 'admin'] as const;

/** `client` for the job interface, `worker` for the pull operations, `admin` for the console. */
export type KeyKind = (typeof keyKinds)[number];

/** Null without limit. */
export interface KeyLimits {
  requestsPerSecond: number | null;
  /** Jobs in the queue, and bytes of their inputs, at all endpoints. */
  maxQueued: number | null;
  maxQueuedBytes: number | null;
  /** Requests in progress at once. */
  maxHeld: number | null;
}

/** The sender of a request. */
export interface KeyHolder {
  id: string;
  name: string;
  kind: KeyKind;
  /** Ids of the endpoints it is valid for; null for all. */
  endpoints: string[] | null;
  /** Execution time a day (UTC); null without limit. */
  quotaMs: number | null;
  /** Whether the jobs of other keys do not exist for it. */
  hasOwnJobsOnly: boolean;
  /** True if it sees what keys of its kind see, and changes nothing. */
  isReadOnly: boolean;
  limits: KeyLimits;
}

export const noLimits = {
  requestsPerSecond: null,
  maxQueued: null,
  maxQueuedBytes: null,
  maxHeld: null,
} as const satisfies KeyLimits;

/** Of a key that was not made with limits. */
export const unlimited = {
  endpoints: null,
  quotaMs: null,
  hasOwnJobsOnly: false,
  isReadOnly: false,
  limits: noLimits,
} as const;

/** Instants are epoch ms. */
export interface KeyRecord extends KeyHolder {
  createdAt: number;
  /** Exact to the minute. */
  lastUsedAt: number | null;
  /** Address of the client at that time. */
  lastUsedFrom: string | null;
  revokedAt: number | null;
  /** From then on the key is not accepted, by the system clock. */
  expiresAt: number | null;
  /** Of a second of execution, in USD. */
  price: number | null;
}

/** True if the key is accepted at this instant. */
export function isValid({ revokedAt, expiresAt }: KeyRecord, now: number): boolean {
  return revokedAt === null && (expiresAt === null || now < expiresAt);
}

/** The job interface, the workers' pull operations, or the console. */
export type KeyRight = 'jobs' | 'work' | 'console';

const rights = {
  client: ['jobs'],
  worker: ['work'],
  admin: ['jobs', 'console'],
} as const satisfies Record<KeyKind, readonly KeyRight[]>;

/** `endpointId`: the endpoint it is about; undefined where it is about none, such as a page of the console. */
export function permits(key: KeyHolder, right: KeyRight, endpointId?: string): boolean {
  const isKind = (rights[key.kind] as readonly KeyRight[]).includes(right);
  const isInScope =
    key.endpoints === null || (endpointId !== undefined && key.endpoints.includes(endpointId));
  return isKind && isInScope;
}

/** Recognised by those who look for keys that got into public texts. */
const prefix = 'nr_';

/** As many as the digest has; in base64url they are 43 characters. */
const keyBytes = 32;

/** A new key: 256 random bits. */
export function makeKeyText(): string {
  return prefix + randomBytes(keyBytes).toString('base64url');
}

/**
 * What is kept in place of a key. One pass of SHA-256 is enough: keys of the store are made here out of 256 random bits
 * and never chosen by people, so that there is nothing to guess that a slow hash would have to make dear.
 */
export function digestOf(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}

/** Whether a request can bring it: a key that is chosen elsewhere may be anything. */
export function fitsHeader(key: string): boolean {
  return /^[\x21-\x7e]+$/.test(key);
}

/** The key in the value of an `Authorization` header, with or without the scheme `Bearer`; undefined where there is none. */
export function presentedKey(authorization: string | undefined): string | undefined {
  const key = authorization?.replace(/^bearer +/i, '').trim();
  return key === '' ? undefined : key;
}

const pattern = /^own\.(?<endpointId>[A-Za-z0-9_-]{1,128})\.(?<proof>[0-9a-f]{64})$/;

/** What runs in such a worker is its endpoint's business only: its key takes no job of another endpoint. */
export class OwnWorkerKeys {
  static readonly holderName = 'own-workers';

  readonly #secret: Buffer;

  /** Held in memory alone by default, so that the keys of a service end with it. */
  constructor(secret: Buffer = randomBytes(32)) {
    this.#secret = secret;
  }

  keyOf(endpointId: string): string {
    return `own.${endpointId}.${this.#proofOf(endpointId).toString('hex')}`;
  }

  /** Undefined for all other keys. */
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
