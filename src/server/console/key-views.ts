/** Keys as the console shows them, with what was done for each. */
import type { KeyView } from '../../pages/console-data.ts';
import type { JobBook } from '../job-book.ts';
import type { KeyRecord } from '../keys/key.ts';

type Usage = KeyView['usage'];

export class KeyViews {
  readonly #usage: (keyId: string) => Usage;

  constructor({ file: { db } }: JobBook) {
    const statement = db.prepare<[string], Usage[number]>(
      'SELECT endpointId, jobs, gpuMs FROM usage WHERE keyId = ? ORDER BY endpointId',
    );
    this.#usage = (keyId) => statement.all(keyId);
  }

  of(record: KeyRecord): KeyView {
    return { ...record, usage: this.#usage(record.id) };
  }
}
