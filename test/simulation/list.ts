/** The list of a night, and the edits that people make to it between two starts. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Chance } from '../faults/chance.ts';

interface Row {
  id: string;
  scene: string;
}

export class NightList {
  #rows: Row[];
  #made = 0;
  readonly #chance: Chance;
  /** Rows as they were before an edit. */
  readonly #earlier: Row[] = [];
  /** Number of seeds of each row. 0 for none. */
  readonly seeds: number;
  /** True if a seed is sent only if the seed before it brought no good picture. */
  readonly isUntilGood: boolean;

  constructor(chance: Chance, untilGood: Chance) {
    this.#chance = chance;
    const seeds = chance.hits(0.15) ? chance.between(1, 2) : 0;
    this.isUntilGood = seeds > 0 && untilGood.hits(0.6);
    this.seeds = this.isUntilGood ? 3 : seeds;
    this.#rows = Array.from({ length: chance.between(3, this.seeds > 0 ? 5 : 9) }, () => this.#newRow());
  }

  /** Value of `scene` that each scene of the list sends. */
  get scenes(): string[] {
    return this.#rows.flatMap(({ scene }) => Array.from({ length: Math.max(1, this.seeds) }, () => scene));
  }

  /** File names of its pictures, unless names clash. */
  get names(): string[] {
    return this.#rows.map(({ id }) => `${id.replaceAll('/', '-')}.png`);
  }

  get ids(): string[] {
    return this.#rows.map(({ id }) => id);
  }

  edit(): string {
    const { pick, between } = this.#chance;
    const way = pick(['extend', 'reorder', 'edit', 'editBack', 'remove', 'truncate', 'replace'] as const);
    const at = between(0, this.#rows.length - 1);
    const row = this.#rows[at];
    switch (way) {
      case 'extend':
        this.#rows.splice(at, 0, ...Array.from({ length: between(1, 3) }, () => this.#newRow()));
        break;
      case 'reorder':
        this.#rows = [...this.#rows.slice(at), ...this.#rows.slice(0, at)];
        break;
      case 'edit':
        if (row === undefined) break;
        this.#earlier.push(row);
        this.#rows[at] = { ...row, scene: `${row.scene} at night` };
        break;
      case 'editBack': {
        const back = this.#earlier.pop();
        const place = this.#rows.findIndex(({ id }) => id === back?.id);
        if (back !== undefined && place !== -1) this.#rows[place] = back;
        break;
      }
      case 'remove':
        if (this.#rows.length > 3) this.#rows.splice(at, 1);
        break;
      case 'truncate':
        this.#rows = this.#rows.slice(0, Math.max(1, at));
        break;
      case 'replace':
        this.#rows = Array.from({ length: between(3, 6) }, () => this.#newRow());
        break;
    }
    return way;
  }

  write(root: string): void {
    const rows = this.#rows.map(({ id, scene }) => `${id},${scene}\n`);
    writeFileSync(join(root, 'list.csv'), `id,scene\n${rows.join('')}`);
  }

  /** Returns a new row. Some ids make names that a file system takes for the same. */
  #newRow(): Row {
    this.#made += 1;
    const n = this.#made;
    const { hits } = this.#chance;
    const id = hits(0.2) ? `S${n - 1}` : hits(0.1) ? `s/${n}` : hits(0.1) ? `s-${n - 1}` : `s${n}`;
    return { id, scene: `scene ${n}` };
  }
}
