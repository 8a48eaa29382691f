/** Looks whether the pictures on record are still there: beside the work of a run, and before it says how it ended. */
import type { MissingPictures } from './ports.ts';
import type { Run } from './run.ts';

export class PictureWatch {
  readonly #run: Run;
  readonly #over = new AbortController();
  #working: Promise<void> = Promise.resolve();

  constructor(run: Run) {
    this.#run = run;
  }

  /** Warns where some are missing. */
  begin(): void {
    const signal = AbortSignal.any([this.#run.stop.leaving, this.#over.signal]);
    const warn = (found: MissingPictures | undefined): void => {
      if (found === undefined || found.missing === 0) return;
      const text = `${missingText(found)}; the end of this run names the command that has them rendered again`;
      this.#run.ports.emit({ type: 'warning', text });
    };
    this.#working = this.#find(signal).then(warn, (thrown: unknown) => this.#run.stopForThrown(thrown));
  }

  /** What is missing now; undefined where that was not found out, which ends the run, or the grace of a leaving run is over. */
  async end(): Promise<MissingPictures | undefined> {
    this.#over.abort();
    await this.#working;
    try {
      return this.#run.isPlanned ? await this.#find(this.#run.hurried) : undefined;
    } catch (thrown) {
      this.#run.stopForThrown(thrown);
      return undefined;
    }
  }

  async #find(signal: AbortSignal): Promise<MissingPictures | undefined> {
    const { checkpoint, images } = this.#run.ports;
    return images.findMissing(await checkpoint.savedPictures(), signal);
  }
}

/** Without a full stop. */
export function missingText({ missing, checked, example }: MissingPictures): string {
  const verb = missing === 1 ? 'is missing or has' : 'are missing or have';
  return `${missing} of ${checked} saved pictures ${verb} another size${missing === 1 ? ':' : ', such as'} ${example}`;
}
