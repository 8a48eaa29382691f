/** Adopts pictures that are on disk but not in the checkpoint, so that they are not paid again. */
import { namedFile, nameKey, readAttemptFile, withSuffix } from '../core/naming.ts';
import { isClipFile, type NamedFile, noPicture, type SavedPicture, splitFiles } from '../core/picture.ts';
import { UnknownPictures } from '../core/batch-plan.ts';
import {
  type AdoptedScene,
  type ExaminedPicture,
  type FoundScene,
  isOriginOf,
  type Origin,
  type SceneToName,
} from '../core/provenance.ts';
import type { Checkpoint, ImageStore, Ports } from './ports.ts';
import type { Stop } from './stop.ts';
import type { PipelineConfig } from './pipeline-config.ts';
import { pictureName } from './picture-names.ts';

/** Number of pictures examined concurrently. Fewer are decoded at the same time. */
const examinedAtOnce = 32;

/** Number of problems named in the event. Further problems are only counted. */
const maxExamples = 3;

interface AdoptPorts extends Pick<Ports, 'clock' | 'emit'> {
  checkpoint: Pick<Checkpoint, 'ownerOf' | 'listedScenes' | 'adopt'>;
  images: Pick<ImageStore, 'list' | 'examine'>;
}

type NamedBy = Pick<PipelineConfig, 'output' | 'names'>;

type AdoptedBy = NamedBy & Pick<PipelineConfig, 'endpoint'>;

type Known = ExaminedPicture & { origin: Origin };

/** Adopts pictures by metadata, else by name, all at once, so that a crash leaves all to the next run. */
export async function adopt(ports: AdoptPorts, config: AdoptedBy, stop: Stop): Promise<void> {
  const { checkpoint, clock, emit } = ports;
  const { found, problems } = await examineUnknown(ports, stop.draining);
  const matched =
    config.output.image === noPicture
      ? await scenesWithoutPictures(checkpoint, config, stop.draining)
      : await match(checkpoint, config, found, stop.draining);
  const { adopted, lacking } = await withFiles(ports, matched, config, stop.draining);
  if (stop.draining.aborted) return;
  await checkpoint.adopt(adopted, clock.now());
  const saved = adopted.flatMap((scene) => scene.pictures);
  const named = config.output.image === noPicture ? saved : splitFiles(saved).pictures;
  const pictures = new Set(named.map(({ file }) => file));
  const taken = new Set(saved.map(({ file }) => file));
  for (const { picture } of found)
    if (!taken.has(picture.file))
      problems.push(`${picture.file}: ${lacking.get(picture.file) ?? 'fits no scene that waits'}`);
  const examples = problems.slice(0, maxExamples);
  const byName = found.filter((one) => pictures.has(one.picture.file) && !isKnown(one)).length;
  const unused = problems.length;
  const clips = [...pictures].filter(isClipFile).length;
  const count = { pictures: pictures.size, ...(clips > 0 && { clips }) };
  emit({ type: 'adopted', scenes: adopted.length, ...count, byName, unused, examples });
}

/** Number of next scenes that are checked: forgotten pictures belong to these. */
const maxAskedAbout = 10_000;

/** Throws `UnknownPictures` if scenes would be paid for again although their pictures exist. */
export async function assertNoUnknownPictures(
  checkpoint: Pick<Checkpoint, 'nextScenes' | 'ownerOf'>,
  images: Pick<ImageStore, 'whichExist'>,
  config: NamedBy,
): Promise<void> {
  const next = await checkpoint.nextScenes(maxAskedAbout);
  const first = config.output.image === noPicture ? config.output.files[0] : undefined;
  const fileOf = (picture: string): string => (first === undefined ? picture : namedFile(picture, first));
  const names = next.flatMap((scene) => nameOf(config, scene) ?? []).map(fileOf);
  const unknown: string[] = [];
  for (const file of await images.whichExist(names))
    if ((await checkpoint.ownerOf(file)) === undefined) unknown.push(file);
  const [example] = unknown;
  if (example !== undefined) throw new UnknownPictures(unknown.length, example);
}

async function examineUnknown(
  { checkpoint, images }: AdoptPorts,
  draining: AbortSignal,
): Promise<{ found: ExaminedPicture[]; problems: string[] }> {
  const unknown = new Map<string, string>();
  for (const file of await images.list())
    if ((await checkpoint.ownerOf(file)) === undefined && !unknown.has(nameKey(file)))
      unknown.set(nameKey(file), file);
  const files = [...unknown.values()];
  const found: ExaminedPicture[] = [];
  const problems: string[] = [];
  for (let from = 0; from < files.length && !draining.aborted; from += examinedAtOnce) {
    const slice = files.slice(from, from + examinedAtOnce);
    for (const [i, seen] of (await Promise.all(slice.map((file) => images.examine(file)))).entries())
      if ('problem' in seen) problems.push(`${slice[i]}: ${seen.problem}`);
      else found.push(seen);
  }
  return { found, problems };
}

/** A scene that may be adopted, and the name from which its files' names are derived. */
type Matched = AdoptedScene & { name: string };

/** Returns the waiting scenes, whose files are then looked for by name. */
async function scenesWithoutPictures(
  checkpoint: AdoptPorts['checkpoint'],
  config: AdoptedBy,
  draining: AbortSignal,
): Promise<Matched[]> {
  const scenes: Matched[] = [];
  const { endpoint } = config;
  for await (const scene of await checkpoint.listedScenes()) {
    if (draining.aborted) return [];
    const name = scene.isWaiting ? nameOf(config, scene) : undefined;
    if (name !== undefined)
      scenes.push({ sceneKey: scene.sceneKey, name, endpoint, jobId: null, pictures: [] });
  }
  return scenes;
}

/** Returns scenes whose other files are all undamaged. `lacking`: reasons of the others, by first picture. */
async function withFiles(
  { checkpoint, images }: AdoptPorts,
  matched: Matched[],
  { output: { files } }: NamedBy,
  draining: AbortSignal,
): Promise<{ adopted: AdoptedScene[]; lacking: Map<string, string> }> {
  const adopted: AdoptedScene[] = [];
  const lacking = new Map<string, string>();
  const listed = files.length === 0 ? [] : await images.list(files.map(({ kind }) => kind));
  const there = new Map(listed.map((file) => [placeOf(file), file]));
  for (const { name, ...scene } of matched) {
    if (draining.aborted) break;
    const found: SavedPicture[] = [];
    for (const named of files) {
      const file = there.get(placeOf(name, named));
      const isFree = file !== undefined && (await checkpoint.ownerOf(file)) === undefined;
      const seen = isFree
        ? await images.examine(file, named)
        : { problem: `its file ${named.label} is missing` };
      if ('problem' in seen) lacking.set(name, seen.problem);
      else found.push(seen.picture);
    }
    if (found.length === files.length) adopted.push({ ...scene, pictures: [...scene.pictures, ...found] });
  }
  return { adopted, lacking };
}

/** Returns a key of the file's given name, or of `named` beside it. In a bucket it contains the attempt. */
function placeOf(file: string, named?: NamedFile): string {
  const { name, attempt } = readAttemptFile(file) ?? { name: file, attempt: 0 };
  return `${nameKey(named === undefined ? name : namedFile(name, named))}/${attempt}`;
}

/** Matches pictures to scenes. A name counts only without metadata, and if a single scene would use it. */
async function match(
  checkpoint: AdoptPorts['checkpoint'],
  config: AdoptedBy,
  found: ExaminedPicture[],
  draining: AbortSignal,
): Promise<Matched[]> {
  const byScene = grouped(found.filter(isKnown), ({ origin }) => origin.scene);
  const named = new Map(
    found
      .filter((one) => !isKnown(one))
      .map((one) => [nameKey(nameIn(one)), { one, candidates: [] as FoundScene[] }]),
  );
  const adopted: Matched[] = [];
  const names = new Set<string>();
  for await (const scene of await checkpoint.listedScenes()) {
    if (draining.aborted) return [];
    const job = scene.isWaiting ? wholeJob(byScene.get(scene.id) ?? [], scene) : undefined;
    if (job !== undefined) adopted.push({ sceneKey: scene.sceneKey, ...job });
    const name = named.size === 0 ? undefined : nameOf(config, scene);
    names.add(nameKey(name ?? ''));
    // An adopted scene is no candidate, but it makes the name ambiguous for another scene.
    named
      .get(nameKey(name ?? ''))
      ?.candidates.push(job === undefined ? scene : { ...scene, isWaiting: false });
  }
  const { endpoint } = config;
  for (const { one, candidates } of named.values()) {
    const [candidate, ...others] = candidates;
    if (candidate?.isWaiting !== true || others.length > 0 || isAmbiguous(nameIn(one), names)) continue;
    const pictures = [one.picture];
    for (let next = 2; ; next++) {
      const more = named.get(nameKey(withSuffix(nameIn(one), `-${next}`)));
      if (more === undefined || more.candidates.length > 0) break;
      pictures.push(more.one.picture);
    }
    adopted.push({ sceneKey: candidate.sceneKey, name: one.picture.file, endpoint, jobId: null, pictures });
  }
  return adopted;
}

/** True if a name has two meanings: `a-2.png` may be scene a's second picture or scene a-2's first. */
function isAmbiguous(file: string, names: Set<string>): boolean {
  const first = file.replace(/-\d+(\.[^.]*)$/, '$1');
  return names.has(nameKey(withSuffix(file, '-2'))) || (first !== file && names.has(nameKey(first)));
}

function nameIn({ name, picture }: ExaminedPicture): string {
  return name ?? picture.file;
}

function isKnown(found: ExaminedPicture): found is Known {
  return found.origin !== undefined;
}

/** Returns the first job whose pictures all exist, as far as their numbers show. */
function wholeJob(found: Known[], scene: FoundScene): Omit<Matched, 'sceneKey'> | undefined {
  const fitting = found.filter(({ origin }) => isOriginOf(origin, scene));
  const jobs = grouped(fitting, ({ origin }) => JSON.stringify([origin.jobId, origin.endpoint]));
  for (const pictures of jobs.values()) {
    const byNumber = new Map(pictures.map((one) => [one.origin.number, one] as const).toReversed());
    const inOrder = Array.from(byNumber, (_, i) => byNumber.get(i + 1)).filter((one) => one !== undefined);
    const [first] = inOrder;
    if (first === undefined || inOrder.length < byNumber.size) continue;
    const { endpoint, jobId } = first.origin;
    return { name: first.picture.file, endpoint, jobId, pictures: inOrder.map(({ picture }) => picture) };
  }
  return undefined;
}

function grouped(found: Known[], keyOf: (one: Known) => string): Map<string, Known[]> {
  const groups = new Map<string, Known[]>();
  for (const one of found) {
    const group = groups.get(keyOf(one));
    if (group === undefined) groups.set(keyOf(one), [one]);
    else group.push(one);
  }
  return groups;
}

/** Returns the name of the scene's first picture, or undefined if it depends on the seed. */
function nameOf(config: NamedBy, { id, columns, input }: SceneToName): string | undefined {
  const [name, other] = ['1', '2'].map((seed) => pictureName(config, { id, columns, input, seed, index: 1 }));
  return name === other ? name : undefined;
}
