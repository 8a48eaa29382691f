/** Assigns file names of pictures. Each name belongs to one scene, even among pictures that are being written. */
import type { JsonObject } from '../../lib/text/json.ts';
import type { Attempt } from '../core/attempt.ts';
import { attemptFile, defaultName, namedFile, nameKey, readAttemptFile, withSuffix } from '../core/naming.ts';
import {
  copyEnding,
  type Picture,
  pictureEndings,
  sidecarEnding,
  formatOfFile,
  kindOfFile,
  type SavedPicture,
  sidecarPath,
  withFormat,
  withoutFormat,
} from '../core/picture.ts';
import { replacedSuffix } from '../core/scene.ts';
import type { Checkpoint } from './ports.ts';
import type { PipelineConfig } from './pipeline-config.ts';

type Named = Pick<PipelineConfig, 'output' | 'names'>;

/** The part of an attempt that decides on the names of its files. */
type ToName = Pick<Attempt, 'key' | 'sceneId' | 'fingerprint' | 'columns' | 'input' | 'isReplaced'>;

/** Assigns file names of pictures: each belongs to one scene, even among pictures that are being written. */
export class PictureNames {
  readonly #checkpoint: Pick<Checkpoint, 'ownerOf'>;
  readonly #config: Named;
  readonly #copyEndings: readonly string[];
  readonly #hasJson: boolean;
  /** Keys of names that are about to be written, with the attempt. */
  readonly #reserved = new Map<string, number>();

  constructor(checkpoint: Pick<Checkpoint, 'ownerOf'>, config: Named) {
    this.#checkpoint = checkpoint;
    this.#config = config;
    this.#copyEndings = endingsBeside(config.output);
    this.#hasJson = config.output.files.some(({ kind }) => kind === 'json');
  }

  /** Reserves names of an attempt's pictures and other files, until the caller has recorded them (`release`). */
  async reserve(attempt: ToName, pictures: Pick<Picture, 'seed' | 'named'>[]): Promise<string[]> {
    const names: string[] = [];
    let first: string | undefined;
    for (const { seed, named } of pictures) {
      const index = named === undefined ? names.length + 1 : 1;
      const picture = (named && first) ?? this.#plain(attempt, seed, index);
      const wanted = named === undefined ? picture : namedFile(picture, named);
      const name = await this.#firstFree(attempt, namesToTry(wanted, index, attempt));
      if (named === undefined) first ??= name;
      names.push(name);
    }
    return names;
  }

  /** Returns the first file whose name `reserve` would not give, in whatever order the batch was saved. */
  misfit(
    attempt: ToName,
    files: readonly Pick<SavedPicture, 'file' | 'seed' | 'label' | 'sha256'>[],
  ): { file: string; wanted: string } | undefined {
    let first: string | undefined;
    for (const [i, { file, seed, label, sha256 }] of files.entries()) {
      // In a bucket, and if it was moved from there, a file has the attempt in its name.
      const { name: plain, attempt: by = 0 } = readAttemptFile(file) ?? {};
      const isByAttempt = plain !== undefined && attemptFile(plain, by, sha256) === file;
      const spelled = (name: string): string => (isByAttempt ? attemptFile(name, by, sha256) : name);
      const index = label === undefined ? i + 1 : 1;
      const picture = (label === undefined ? undefined : first) ?? this.#plain(attempt, seed, index);
      const wanted = label === undefined ? picture : namedFile(picture, { label, kind: kindOfFile(file) });
      const stem = withoutFormat(file);
      const isThis = (candidate: string): boolean => withoutFormat(spelled(candidate)) === stem;
      // No suffix changes the beginning of a short name. Trying all takes twenty times as long.
      const isOther =
        label === undefined && wanted.length <= shortName && !stem.startsWith(withoutFormat(wanted));
      const name = isOther ? undefined : firstOf(namesToTry(wanted, index, attempt), isThis);
      if (name === undefined) {
        const format = formatOfFile(file);
        return { file, wanted: format === undefined ? wanted : withFormat(wanted, format) };
      }
      if (label === undefined) first ??= name;
    }
    return undefined;
  }

  #plain(attempt: ToName, seed: string | undefined, index: number): string {
    const { sceneId: id, columns, input, isReplaced, fingerprint } = attempt;
    const plain = pictureName(this.#config, { id, columns, input, seed: seed ?? '', index });
    return isReplaced ? withSuffix(plain, replacedSuffix(fingerprint)) : plain;
  }

  release(names: string[]): void {
    for (const name of names) this.#reserved.delete(nameKey(name));
  }

  async #firstFree(attempt: ToName, names: Iterable<string>): Promise<string> {
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

  /** True if a file next to this one would have the same name as a file of another scene. */
  async #clashes(attempt: ToName, name: string): Promise<boolean> {
    const twin = this.#hasJson ? sidecarTwin(name) : [];
    for (const other of [...clashingNames(name, this.#copyEndings), ...twin]) {
      if (this.#reserved.has(nameKey(other))) return true;
      const owner = await this.#checkpoint.ownerOf(other);
      if (owner !== undefined && !isOwnedBy(attempt, owner)) return true;
    }
    return false;
  }
}

/** Returns pictures whose copies would be named like one of `file`: `a-512.png` for `a.png` and `-512.webp`. */
export function clashingNames(file: string, endings: readonly string[]): string[] {
  const middles = endings.flatMap((long) =>
    endings.flatMap((short) => (long !== short && long.endsWith(short) ? long.slice(0, -short.length) : [])),
  );
  return middles.flatMap((middle) => {
    const longer = sidecarPath(file, `${middle}.png`);
    const end = `${middle}.png`;
    return file.endsWith(end) ? [longer, `${file.slice(0, -end.length)}.png`] : [longer];
  });
}

/** Returns the endings of copies and, if originals are kept, of pictures: `a-512.webp` may be either. */
function endingsBeside({ formats, keep }: PipelineConfig['output']): string[] {
  const copies = formats.map(copyEnding);
  return keep === 'original' ? [...copies, ...Object.values(pictureEndings)] : copies;
}

/** Values that `output.name` may use. */
interface PictureData {
  id: string;
  columns: JsonObject;
  input: JsonObject;
  /** Empty if the output names none. */
  seed: string;
  /** 1 for the first picture of an output. */
  index: number;
}

/** Returns the portable file name of a picture, before it is made unique. */
export function pictureName(
  { output, names }: Named,
  { columns, seed, input, ...picture }: PictureData,
): string {
  if (output.name === undefined) return defaultName({ id: picture.id, columns, input }, names);
  // A service that reports no seed has used the seed of its input.
  const usedSeed = seed === '' ? (columns['seed'] ?? '') : seed;
  const name = output.name.renderText({ ...columns, seed: usedSeed, ...picture });
  return output.media === undefined ? name : name.replace(clipEnding, '');
}

/** Extension of a clip in a template such as `{{ id }}.mp4`. The clip gets the extension of its own format. */
const clipEnding = /\.(?:mp4|webm|mov|gif|wav|mp3|flac|ogg)(?=\.png$)/i;

function isOwnedBy(attempt: ToName, owner: { sceneId: string; fingerprint: string }): boolean {
  return owner.sceneId === attempt.sceneId && owner.fingerprint === attempt.fingerprint;
}

/** Yields names to try: from the template, numbered within the output, with the scene's fingerprint. */
function* namesToTry(name: string, index: number, attempt: ToName): Generator<string> {
  if (index === 1) yield name;
  const numbered = index === 1 ? name : withSuffix(name, `-${index}`);
  if (index > 1) yield numbered;
  for (let length = 6; length <= 30; length += 2) {
    yield withSuffix(numbered, `-${attempt.fingerprint.slice(0, length)}`);
  }
  for (let count = 2; count < 1000; count++) {
    yield withSuffix(numbered, `-${attempt.fingerprint.slice(0, 24)}-${count}`);
  }
}

/** Length in UTF-16 units, at most three bytes each, of names that no suffixes can cut. */
const shortName = 40;

/** Number of names to try before the numbered ones, which have never been needed. */
const usualTries = 14;

/** Returns the first of the usual names that passes the test. */
function firstOf(names: Iterable<string>, test: (name: string) => boolean): string | undefined {
  let tries = 0;
  for (const name of names) {
    if (test(name)) return name;
    tries += 1;
    if (tries === usualTries) break;
  }
  return undefined;
}

/** Returns names that conflict through sidecars, such as a file `a.json` and the sidecar of `a.png`. */
function sidecarTwin(file: string): string[] {
  if (file.endsWith(sidecarEnding)) return [`${file.slice(0, -sidecarEnding.length)}.png`];
  return formatOfFile(file) === undefined ? [] : [sidecarPath(file, sidecarEnding)];
}
