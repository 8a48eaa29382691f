/** The body of one answer as it comes: in one buffer where its length is known, else in parts; room is made before. */
import { smallBytes } from './memory-budget.ts';

/** What has to be taken for a body at once. */
const minStep = 256 * 1024;

export class Body {
  #parts: Buffer[] = [];
  #buffer: Buffer | undefined;
  #bytes = 0;
  #taken = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** How much has to be taken for so many bytes in all, of which only the first are small enough to need nothing. */
  lackFor(bytes: number): number {
    return bytes <= Math.max(smallBytes, this.#taken) ? 0 : bytes - this.#taken;
  }

  /** As above, where nobody knows how many will come: twice what came, so that it is not asked for each part. */
  lackForMore(maxBytes: number): number {
    const lack = this.lackFor(this.#bytes);
    return lack === 0 ? 0 : Math.max(lack, Math.min(Math.max(minStep, this.#bytes), maxBytes - this.#taken));
  }

  /** So much was taken; `buffer` is for all of the body. */
  addRoom(bytes: number, buffer?: Buffer): void {
    this.#taken += bytes;
    this.#buffer = buffer;
  }

  add(part: Buffer): void {
    if (this.#buffer === undefined) this.#parts.push(part);
    else part.copy(this.#buffer, this.#bytes);
    this.#bytes += part.length;
  }

  /** In one piece or in parts; they are forgotten here. */
  take(): { parts: Buffer[]; bytes: number; taken: number } {
    const parts = this.#buffer === undefined ? this.#parts : [this.#buffer.subarray(0, this.#bytes)];
    this.#parts = [];
    this.#buffer = undefined;
    return { parts, bytes: this.#bytes, taken: this.#taken };
  }
}
