/** What failed, by kind and, within a kind, by cause: texts that differ in numbers, ids and addresses alone. */
import { failureRules, isFailureKind } from '../core/failure.ts';
import type { GalleryCause, GalleryFailure } from '../core/gallery-data.ts';
import type { SceneRecord } from '../core/scene-record.ts';

/** Scenes of a cause that are shown: a row of them. */
const maxFirst = 6;

/** Causes of a kind that are told apart, and those of them that are shown: the most frequent. All others are one more. */
const maxCounted = 1000;
const maxCauses = 50;

export class FailureCauses {
  readonly #kinds = new Map<string, Map<string, GalleryCause>>();

  /** `index`: the number of the row. */
  add({ failureKind, failureText }: SceneRecord, index: number): void {
    const kind = failureKind ?? 'unknown';
    const causes = this.#kinds.get(kind) ?? new Map<string, GalleryCause>();
    this.#kinds.set(kind, causes);
    const text = short(failureText ?? '');
    const own = causeOf(text);
    const isRest = causes.size >= maxCounted && !causes.has(`of ${own}`);
    const key = isRest ? 'rest' : `of ${own}`;
    const cause = causes.get(key) ?? { scenes: 0, text, first: [], ...(isRest && { isRest }) };
    if (cause.first.length < maxFirst) cause.first.push(index);
    cause.scenes += 1;
    causes.set(key, cause);
  }

  /** `retry`: what puts scenes back, up to its options. */
  result(retry: string): GalleryFailure[] {
    const kinds = [...this.#kinds].map(([kind, all]) => {
      const causes = mostFrequent([...all.values()]);
      return {
        kind,
        scenes: causes.reduce((sum, { scenes }) => sum + scenes, 0),
        causes,
        means: isFailureKind(kind)
          ? failureRules[kind].means
          : 'a row of the manifest that cannot be rendered',
        command: isFailureKind(kind) ? `${retry} --kind ${kind}` : null,
      };
    });
    return kinds.toSorted((a, b) => b.scenes - a.scenes);
  }
}

function mostFrequent(all: GalleryCause[]): GalleryCause[] {
  const sorted = all.toSorted(
    (a, b) => Number(a.isRest ?? false) - Number(b.isRest ?? false) || b.scenes - a.scenes,
  );
  const rest = sorted.slice(maxCauses);
  const [example] = rest;
  if (example === undefined) return sorted;
  const scenes = rest.reduce((sum, cause) => sum + cause.scenes, 0);
  const first = rest.flatMap((cause) => cause.first).slice(0, maxFirst);
  return [...sorted.slice(0, maxCauses), { ...example, scenes, first, isRest: true }];
}

/** `answered 404` and `answered 500` are two causes, `2.5 GiB of 40` and `3.1 GiB of 40` are one. */
function causeOf(text: string): string {
  return text.replace(/[^\s"'`(){}[\],:;=]+/g, (word, at: number) => {
    const isStatus = /(?:answered|http|status|code)[\s:=]*$/i.test(text.slice(Math.max(0, at - 12), at));
    return /[\d/]/.test(word) && !isStatus ? '#' : word;
  });
}

/** One example of many. */
function short(text: string): string {
  return text.length <= 2000 ? text : `${text.slice(0, 2000)} …`;
}
