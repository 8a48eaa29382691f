/** Keys as the console shows them, with what was done for each. */
import type { KeyView } from '../../protocol/console-data.ts';
import type { JobBook } from '../jobs/job-book.ts';
import type { KeyHolder, KeyRecord } from '../keys/key.ts';

type Usage = KeyView['usage'];

export class KeyViews {
  readonly #usage: (keyId: string) => Usage;
  readonly #used: () => string[];

  constructor({ file: { db } }: JobBook) {
    const usage = db.prepare<[string], Usage[number]>(
      'SELECT endpointId, jobs, gpuMs FROM usage WHERE keyId = ? ORDER BY endpointId',
    );
    // Jobs without a key are older than keys are.
    const used = db.prepare<[], { keyId: string }>(
      "SELECT DISTINCT keyId FROM usage WHERE keyId <> 'none' ORDER BY keyId",
    );
    this.#usage = (keyId) => usage.all(keyId);
    this.#used = () => used.all().map(({ keyId }) => keyId);
  }

  /** `given`: those that the service was started with. */
  all(given: readonly KeyHolder[], stored: readonly KeyRecord[]): KeyView[] {
    const known = new Set([...given, ...stored].map(({ id }) => id));
    const gone = this.#used().filter((id) => !known.has(id));
    return [
      ...given.map((holder) => this.#outsider(holder, 'given')),
      ...stored.map((record) => this.of(record)),
      ...gone.map((id) => this.#outsider({ id, name: id, kind: 'admin', endpoints: null }, 'gone')),
    ];
  }

  of(record: KeyRecord): KeyView {
    return { ...record, origin: 'book', usage: this.#usage(record.id) };
  }

  #outsider(holder: KeyHolder, origin: 'given' | 'gone'): KeyView {
    const unknown = { createdAt: null, lastUsedAt: null, revokedAt: null };
    return { ...holder, ...unknown, origin, usage: this.#usage(holder.id) };
  }
}
