/** Checks that recorded pictures still exist, during a run and at its end. */
import type { Checkpoint, ImageStore, MissingPictures, Ports } from './ports.ts';
import type { Stop } from './stop.ts';

interface WatchPorts extends Pick<Ports, 'emit'> {
  checkpoint: Pick<Checkpoint, 'savedPictures'>;
  images: Pick<ImageStore, 'findMissing'>;
}

export class PictureWatch {
  readonly #ports: WatchPorts;
  readonly #stop: Stop;
  readonly #over = new AbortController();
  #working: Promise<void> = Promise.resolve();

  constructor(ports: WatchPorts, stop: Stop) {
    this.#ports = ports;
    this.#stop = stop;
  }

  /** Starts a check in the background, which warns if pictures are missing. */
  begin(): void {
    const signal = AbortSignal.any([this.#stop.leaving, this.#over.signal]);
    const warn = (found: MissingPictures | undefined): void => {
      if (found === undefined || found.missing === 0) return;
      const text = `${missingText(found)}; the end of this run names the command that renders them again`;
      this.#ports.emit({ type: 'warning', text });
    };
    this.#working = this.#find(signal).then(warn, (thrown: unknown) => this.#stop.forThrown(thrown));
  }

  /**
   * Returns the missing pictures. Undefined if the check failed, which ends the run, or if the grace period
   * is over.
   */
  async end(hurried: AbortSignal): Promise<MissingPictures | undefined> {
    this.#over.abort();
    await this.#working;
    try {
      return await this.#find(hurried);
    } catch (thrown) {
      this.#stop.forThrown(thrown);
      return undefined;
    }
  }

  async #find(signal: AbortSignal): Promise<MissingPictures | undefined> {
    const { checkpoint, images } = this.#ports;
    return images.findMissing(await checkpoint.savedPictures(), signal);
  }
}

/** Returns a sentence without its full stop. */
export function missingText({ missing, checked, example }: MissingPictures): string {
  const verb = missing === 1 ? 'is missing or has' : 'are missing or have';
  return `${missing.toLocaleString('en')} of ${checked.toLocaleString('en')} saved pictures ${verb} another size${missing === 1 ? ':' : ', such as'} ${example}`;
}
