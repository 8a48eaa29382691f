/** Submissions that are refused before any was accepted: then the input is wrong for every scene, not for one. */
import type { Attempt } from '../core/attempt.ts';
import type { Failure } from '../core/failure.ts';
import type { Checkpoint } from './ports.ts';
import type { Stop } from './stop.ts';

/** So many different scenes are no chance. */
const enough = 5;

export class FirstRefusals {
  readonly #checkpoint: Pick<Checkpoint, 'hasAccepted'>;
  readonly #stop: Stop;
  readonly #scenes = new Set<string>();
  /** Undefined until it was read. */
  #hasAccepted: boolean | undefined;

  constructor(checkpoint: Pick<Checkpoint, 'hasAccepted'>, stop: Stop) {
    this.#checkpoint = checkpoint;
    this.#stop = stop;
  }

  /** True if scenes wait because of such a refusal. */
  get hasAny(): boolean {
    return this.#scenes.size > 0;
  }

  countAccepted(): void {
    this.#hasAccepted = true;
    this.#scenes.clear();
  }

  /** True if the scene waits, since the refusal may be one for all scenes; a second refusal of the same scene is its own. */
  async isForAll({ sceneId }: Attempt, { text }: Failure): Promise<boolean> {
    this.#hasAccepted ??= await this.#checkpoint.hasAccepted();
    if (this.#hasAccepted || this.#scenes.has(sceneId)) return false;
    this.#scenes.add(sceneId);
    if (this.#scenes.size === enough)
      this.#stop.halt(
        `the service has refused the first ${enough} scenes and accepted none, so that what \`input\` sends may be wrong for all of them; the latest: ${text}`,
      );
    return true;
  }
}
