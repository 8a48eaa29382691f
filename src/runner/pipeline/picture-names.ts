/** File names of pictures, each given to one scene only, also among those being written at the moment. */
import type { Attempt } from '../core/attempt.ts';
import { clashingNames } from '../core/picture-copy.ts';
import { nameKey, withSuffix } from '../core/naming.ts';
import { replacedSuffix } from '../core/scene.ts';
import type { Checkpoint } from './ports.ts';
import type { BatchSettings } from './settings.ts';

export class PictureNames {
  readonly #checkpoint: Pick<Checkpoint, 'ownerOf'>;
  readonly #nameOf: BatchSettings['pictureName'];
  readonly #copyEndings: readonly string[];
  /** Name keys that are about to be written, with the attempt that will. */
  readonly #reserved = new Map<string, number>();

  constructor(
    checkpoint: Pick<Checkpoint, 'ownerOf'>,
    { pictureName, copyEndings }: Pick<BatchSettings, 'pictureName' | 'copyEndings'>,
  ) {
    this.#checkpoint = checkpoint;
    this.#nameOf = pictureName;
    this.#copyEndings = copyEndings;
  }

  /** Reserves a name for each picture of an attempt, in order; `release` them when the checkpoint knows them. */
  async reserve(attempt: Attempt, seeds: (string | undefined)[]): Promise<string[]> {
    const names: string[] = [];
    for (const [position, seed] of seeds.entries()) {
      const index = position + 1;
      const plain = this.#nameOf({ id: attempt.sceneId, columns: attempt.columns, seed: seed ?? '', index });
      const named = attempt.isReplaced ? withSuffix(plain, replacedSuffix(attempt.fingerprint)) : plain;
      names.push(await this.#firstFree(attempt, candidates(named, index, attempt)));
    }
    return names;
  }

  release(names: string[]): void {
    for (const name of names) this.#reserved.delete(nameKey(name));
  }

  async #firstFree(attempt: Attempt, names: Iterable<string>): Promise<string> {
    for (const name of names) {
      const key = nameKey(name);
      if (this.#reserved.has(key)) continue;
      this.#reserved.set(key, attempt.key);
      const owner = await this.#checkpoint.ownerOf(name);
      const isFree = owner === undefined || isOwnedBy(attempt, owner);
      if (isFree && !(await this.#clashes(attempt, name))) return name;
      this.#reserved.delete(key);
    }
    throw new Error(`no free file name for scene ${attempt.sceneId}`);
  }

  /** Whether a copy of it would have the name of another picture's. */
  async #clashes(attempt: Attempt, name: string): Promise<boolean> {
    for (const other of clashingNames(name, this.#copyEndings)) {
      if (this.#reserved.has(nameKey(other))) return true;
      const owner = await this.#checkpoint.ownerOf(other);
      if (owner !== undefined && !isOwnedBy(attempt, owner)) return true;
    }
    return false;
  }
}

function isOwnedBy(attempt: Attempt, owner: { sceneId: string; fingerprint: string }): boolean {
  return owner.sceneId === attempt.sceneId && owner.fingerprint === attempt.fingerprint;
}

/** Names to try in turn: as the template says, numbered within the output, then by the scene's fingerprint. */
function* candidates(name: string, index: number, attempt: Attempt): Generator<string> {
  if (index === 1) yield name;
  const numbered = index === 1 ? name : withSuffix(name, `-${index}`);
  if (index > 1) yield numbered;
  for (let length = 6; length <= 32; length += 2) {
    yield withSuffix(numbered, `-${attempt.fingerprint.slice(0, length)}`);
  }
  for (let count = 2; count < 1000; count++) {
    yield withSuffix(numbered, `-${attempt.fingerprint}-${count}`);
  }
}
