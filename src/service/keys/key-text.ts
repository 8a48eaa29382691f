/** The text of a key: how it is made, what is kept of it, and how a request brings it. */
import { createHash, randomBytes } from 'node:crypto';

/** Recognised by those who look for keys that got into public texts. */
const prefix = 'nr_';

/** As many as the digest has; in base64url they are 43 characters. */
const keyBytes = 32;

/** A new key: 256 random bits. */
export function makeKeyText(): string {
  return prefix + randomBytes(keyBytes).toString('base64url');
}

/**
 * What is kept in place of a key. One pass of SHA-256 is enough: keys of the book are made here out of 256 random bits
 * and never chosen by people, so that there is nothing to guess that a slow hash would have to make dear.
 */
export function digestOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

/** Whether a request can bring it: a key that is chosen elsewhere may be anything. */
export function fitsHeader(key: string): boolean {
  return /^[\x21-\x7e]+$/.test(key);
}

export interface PresentedKey {
  key: string;
  /** Without a scheme, as workers send it. */
  isBare: boolean;
}

/** The key in the value of an `Authorization` header; undefined where there is none. */
export function presentedKey(authorization: string | undefined): PresentedKey | undefined {
  if (authorization === undefined) return undefined;
  const [, bearer] = /^bearer +([^]*)$/i.exec(authorization) ?? [];
  const key = (bearer ?? authorization).trim();
  return key === '' ? undefined : { key, isBare: bearer === undefined };
}
