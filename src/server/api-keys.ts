/** Who may speak to the service: bearer keys, compared without telling by the time it takes how close a guess was. */
import { createHash, timingSafeEqual } from 'node:crypto';

const scheme = 'bearer ';

export class ApiKeys {
  readonly #digests: readonly Buffer[];

  constructor(keys: readonly string[]) {
    this.#digests = keys.map(digest);
  }

  /** Whether the value of an `Authorization` header holds one of the keys. */
  accepts(authorization: string | undefined): boolean {
    if (authorization === undefined) return false;
    if (authorization.slice(0, scheme.length).toLowerCase() !== scheme) return false;
    const presented = digest(authorization.slice(scheme.length).trim());
    let isAccepted = false;
    // All are compared, also after a match.
    for (const known of this.#digests) isAccepted = timingSafeEqual(known, presented) || isAccepted;
    return isAccepted;
  }
}

function digest(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}
