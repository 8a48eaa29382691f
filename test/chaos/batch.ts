/** The batch of the chaos test: its settings, its manifest, and edits of the manifest between runs. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Chance } from '../faults/chance.ts';

export class Batch {
  readonly dir: string;
  readonly #ids: string[];

  /** `dir` must be a separate folder. */
  constructor(dir: string, url: string, sceneCount: number) {
    this.dir = dir;
    this.#ids = Array.from({ length: sceneCount }, (_, i) => `s${i + 1}`);
    writeFileSync(join(dir, 'pipeline.yaml'), pipeline(url));
    this.#write(this.#ids);
  }

  /** Ids of all scenes that were ever in the list. `restore` puts back rows that were left out for a while. */
  get scenes(): readonly string[] {
    return this.#ids;
  }

  /** Edits the list as a user may do between two runs. Returns the kind of the edit. */
  edit(random: Chance): 'reordered' | 'added one' | 'left one out' {
    const edit = random.pick(['reordered', 'added one', 'left one out'] as const);
    const leftOut = random.between(0, this.#ids.length - 1);
    if (edit === 'added one') this.#ids.splice(random.between(0, 3), 0, `s${this.#ids.length + 1}`);
    if (edit === 'reordered') this.#ids.unshift(...this.#ids.splice(random.between(1, this.#ids.length - 1)));
    this.#write(edit === 'left one out' ? this.#ids.toSpliced(leftOut, 1) : this.#ids);
    return edit;
  }

  /** Writes all rows, as they must be for the last run. */
  restore(): void {
    this.#write(this.#ids);
  }

  #write(ids: readonly string[]): void {
    const rows = ids.map((id) => `${id},"${id}: hills and ${id.slice(1)} trees"\n`);
    writeFileSync(join(this.dir, 'scenes.csv'), `id,scene\n${rows.join('')}`);
  }
}

export const concurrency = 8;
export const attemptsAllowed = 20;

/**
 * Returns the settings. Waits are short so that much happens. Limits are high so that bad luck alone never makes a
 * scene fail. The halt rules are the defaults, because the faults of this test must not trigger them.
 */
function pipeline(url: string): string {
  return `manifest: scenes.csv
endpoint:
  baseUrl: ${url}
  id: scene-renderer
  apiKey: \${NIGHTRENDER_API_KEY}
  freshness: 1s
concurrency: ${concurrency}
output:
  dir: out
halt: {refused: 1s}
retry: {attempts: ${attemptsAllowed}, submissions: 200, firstWait: 20ms, longestWait: 400ms}
polling: {shortest: 20ms, longest: 400ms}
timeouts: {request: 400ms, queue: 10s, execution: 10s}
check: {blank: true, minSide: 8}
shutdown: {grace: 1s}
`;
}
