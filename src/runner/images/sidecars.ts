/** Sidecar files of pictures, such as copies and provenance: made of a picture, written, moved and removed with it. */
import { isJsonObject } from '../../lib/text/json.ts';
import {
  copyEnding,
  isClipFile,
  isSized,
  mediaEndings,
  type Picture,
  type PictureCopy,
  pictureEndings,
  type SavedPicture,
  sidecarEnding,
  sidecarPath,
} from '../core/picture.ts';
import {
  type ExaminedPicture,
  parametersText,
  type Provenance,
  provenanceJson,
  type ProvenanceWriter,
  readOrigin,
} from '../core/provenance.ts';
import { pictureToDraw } from './check-picture.ts';
import { isPng } from './check-png.ts';
import { bufferOf, type WholePicture, loadSharp } from './decoding.ts';
import { paper } from './other-formats.ts';
import { digestIn, type Place } from './place.ts';
import { isSigned, originChunks, type PngText, readTexts, withChunks, withTexts } from './png-metadata.ts';

type SidecarSource = Pick<Picture, 'content' | 'width' | 'height' | 'sha256'>;

/** Makes one kind of sidecar. */
export interface SidecarMaker {
  /** Replaces the picture's ending in the sidecar's name. Each maker has its own ending. */
  ending: string;
  /** Returns the content of the sidecar; undefined if it cannot be made. */
  make: (picture: SidecarSource, provenance: Provenance | undefined) => Promise<Uint8Array | undefined>;
}

type Sidecars = NonNullable<Picture['beside']>;

/** Returns the makers, except for a copy that would have the picture's own name: it has the same format. Clips have no copies. */
export function sidecarsOf(makers: SidecarMaker[], file: string): SidecarMaker[] {
  const own = makers.filter(({ ending }) => sidecarPath(file, ending) !== file);
  return isClipFile(file) ? own.filter(({ ending }) => ending === sidecarEnding) : own;
}

/** Returns the makers whose file is not itself a picture. Only copies of one size can have a picture's name. */
export async function sidecarsBut(
  isPicture: (file: string) => Promise<boolean>,
  makers: SidecarMaker[],
  file: string,
): Promise<SidecarMaker[]> {
  const own: SidecarMaker[] = [];
  for (const maker of makers)
    if (!isSized(maker.ending) || !(await isPicture(sidecarPath(file, maker.ending)))) own.push(maker);
  return own;
}

export async function makeSidecars(
  makers: SidecarMaker[],
  picture: SidecarSource,
  provenance: Provenance | undefined,
): Promise<Sidecars> {
  const made: Sidecars = [];
  for (const { ending, make } of makers) {
    const bytes = await make(picture, provenance);
    if (bytes !== undefined) made.push({ ending, bytes });
  }
  return made;
}

export async function putSidecars(place: Place, file: string, beside: Sidecars): Promise<void> {
  await Promise.all(beside.map(({ ending, bytes }) => place.put(sidecarPath(file, ending), bytes)));
}

/** Returns makers whose file is missing, or older than its picture and so of an earlier one of that name. */
export async function missingSidecars(
  place: Pick<Place, 'facts'>,
  makers: SidecarMaker[],
  file: string,
): Promise<SidecarMaker[]> {
  const since = (await place.facts(file))?.writtenAt ?? 0;
  const missing: SidecarMaker[] = [];
  for (const maker of sidecarsOf(makers, file)) {
    const facts = await place.facts(sidecarPath(file, maker.ending));
    if (facts?.kind !== 'file' || (facts.writtenAt ?? since) < since) missing.push(maker);
  }
  return missing;
}

/** Makes the missing sidecars from the stored picture, and stores them. */
export async function completeSidecars(
  place: Place,
  missing: SidecarMaker[],
  { file, width, height, sha256 }: SavedPicture,
  provenance: Provenance,
): Promise<void> {
  // The sidecar of a clip is made without its content.
  const read = isClipFile(file) ? Buffer.alloc(0) : place.read(file);
  const content = missing.length === 0 ? undefined : await read;
  if (content === undefined) return;
  await putSidecars(place, file, await makeSidecars(missing, { content, width, height, sha256 }, provenance));
}

/** Endings of sidecars that earlier runs may have left, whatever is configured today. Sized copies are not included. */
const earlierEndings = [
  sidecarEnding,
  ...(['webp', 'jpeg', 'avif'] as const).map((format) => copyEnding({ format })),
];

export function sidecarEndings(makers: Pick<SidecarMaker, 'ending'>[]): string[] {
  return [...new Set([...makers.map((maker) => maker.ending), ...earlierEndings])];
}

/** Renames the sidecars with their picture. Replaces files with the new names, whose own picture is gone. */
export async function moveSidecars(
  place: Place,
  makers: SidecarMaker[],
  from: string,
  to: string,
): Promise<void> {
  for (const ending of sidecarEndings(makers)) {
    const file = sidecarPath(from, ending);
    if ((await place.facts(file))?.kind === 'file') await place.move(file, sidecarPath(to, ending), true);
  }
}

/** Removes the sidecars. Call this before their picture is removed, so that no sidecar stays behind alone. */
export async function removeSidecars(place: Place, makers: SidecarMaker[], file: string): Promise<void> {
  for (const { ending } of sidecarsOf(makers, file)) await place.remove(sidecarPath(file, ending));
}

/** Returns a maker of sRGB copies with metadata. A failed copy never fails its picture: see `onLacking`. */
export function copyMaker(copy: PictureCopy, onLacking: (ending: string, why: string) => void): SidecarMaker {
  const ending = copyEnding(copy);
  return {
    ending,
    make: async ({ content, width, height }) => {
      try {
        return await copyOf(bufferOf(content), width * height, copy);
      } catch (error) {
        onLacking(ending, error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error));
        return undefined;
      }
    },
  };
}

async function copyOf(content: Buffer, limitInputPixels: number, copy: PictureCopy): Promise<Buffer> {
  const image = pictureToDraw(content);
  if ('problem' in image) throw new Error(image.problem);
  const marked = isPng(content) ? withChunks(image.bytes, originChunks(content)) : image.bytes;
  const { format, quality, size, enlarge = false } = copy;
  const sharp = await loadSharp();
  const upright = sharp(marked, { limitInputPixels }).autoOrient().keepExif().keepXmp();
  const sized =
    size === undefined
      ? upright
      : upright.resize(size, size, { fit: 'inside', withoutEnlargement: !enlarge });
  if (format === 'jpeg') return sized.flatten({ background: paper }).jpeg({ quality }).toBuffer();
  return (format === 'webp' ? sized.webp({ quality }) : sized.avif({ quality })).toBuffer();
}

/** Renames picture and sidecars to names that end in `as`. Returns the suffix; undefined if nothing is there. */
export async function setAside(
  place: Place,
  makers: Pick<SidecarMaker, 'ending'>[],
  file: string,
  as: string,
): Promise<string | undefined> {
  const endings = [...sidecarEndings(makers), ...formatEndings(file)];
  const found = await thereAmong(place, [file, ...endings.map((ending) => sidecarPath(file, ending))]);
  if (found.length === 0) return undefined;
  const suffix = await firstSuffix(as, async (each) => {
    const names = found.map((name) => name + each);
    return (await thereAmong(place, names)).length === 0;
  });
  for (const each of found) await place.move(each, each + suffix);
  return suffix;
}

/** Returns the first of the suffixes `.as`, `.as-2`, `.as-3` and so on that can be used. */
export async function firstSuffix(
  as: string,
  isUsable: (suffix: string) => Promise<boolean>,
): Promise<string> {
  for (let count = 1; ; count += 1) {
    const suffix = `.${as}${count === 1 ? '' : `-${count}`}`;
    if (await isUsable(suffix)) return suffix;
  }
}

/** True if another file, perhaps without a record, has the picture's name or that of a sidecar or format. */
export async function wouldOverwrite(
  place: Place,
  file: string,
  { content, received, sha256, beside = [] }: Picture,
): Promise<boolean> {
  const facts = await place.facts(file);
  if (facts === undefined) {
    const endings = [...beside.map(({ ending }) => ending), ...formatEndings(file)];
    return (
      (
        await thereAmong(
          place,
          endings.map((ending) => sidecarPath(file, ending)),
        )
      ).length > 0
    );
  }
  // Writing to the name of a folder fails with the system's own error.
  if (facts.kind === 'folder') return false;
  if (facts.kind !== 'file' || facts.bytes !== (received?.length ?? content.length)) return true;
  if (received !== undefined) return (await digestIn(place, file)) !== sha256;
  return (await place.read(file))?.equals(content) !== true;
}

/** Endings of files that have a picture's name in another format. A clip replaces no file of any format. */
function formatEndings(file: string): string[] {
  return Object.values(isClipFile(file) ? mediaEndings : pictureEndings);
}

async function thereAmong(place: Place, files: string[]): Promise<string[]> {
  const there: string[] = [];
  for (const file of new Set(files)) if ((await place.facts(file)) !== undefined) there.push(file);
  return there;
}

/** Keyword of the PNG text that holds this program's JSON. No other program uses it. */
export const provenanceKeyword = 'nightrender';
/** Keyword that many programs read. If the service has written this text, no second one is added. */
const parametersKeyword = 'parameters';

/** Returns the content with its provenance. Signed pictures and other formats get a sidecar instead. */
export function embedded(whole: WholePicture, provenance: Provenance, writer: ProvenanceWriter): Buffer {
  return isEmbeddable(whole.content) ? withProvenance(whole, provenance, writer) : whole.content;
}

function isEmbeddable(content: Buffer): boolean {
  return isPng(content) && !isSigned(content);
}

function withProvenance(
  { content: png, width, height }: WholePicture,
  provenance: Provenance,
  writer: ProvenanceWriter,
): Buffer {
  const texts: PngText[] = [
    { keyword: provenanceKeyword, text: JSON.stringify(provenanceJson(provenance, writer)) },
  ];
  const isKnown = readTexts(png).some(({ keyword }) => keyword === parametersKeyword);
  if (!isKnown)
    texts.push({
      keyword: parametersKeyword,
      text: parametersText(provenance, { width, height }, writer.program),
    });
  return withTexts(png, texts);
}

/**
 * Returns a PNG without texts about its making: those that `embedded` wrote, and those of services, such as a workflow with its
 * prompts. All other bytes stay unchanged. Signed pictures and other formats are returned as they are.
 */
export function withoutProvenance(content: Buffer): Buffer {
  return isEmbeddable(content) ? withTexts(content, [], (keyword) => !keptTexts.test(keyword)) : content;
}

/** Keywords of texts that say whose a picture is, and that a machine made it. */
const keptTexts = /^(?:XML:com\.adobe\.xmp|Raw profile type iptc|Author|Copyright|Disclaimer|Software)$/;

/** Returns the content of a sidecar. It names its picture, since the two files may be separated. */
function sidecarOf(
  provenance: Provenance,
  { sha256, width, height }: Pick<Picture, 'sha256' | 'width' | 'height'>,
  writer: ProvenanceWriter,
): Buffer {
  const json = { ...provenanceJson(provenance, writer), picture: { sha256, width, height } };
  return Buffer.from(`${JSON.stringify(json, undefined, 2)}\n`);
}

/**
 * Returns a maker of provenance sidecars: of all pictures, or of those that cannot embed their provenance. It makes
 * nothing if provenance is missing, as when a report is written.
 */
export function sidecarMaker(writer: ProvenanceWriter, metadata: 'sidecar' | 'embed'): SidecarMaker {
  const isWanted = ({ content }: SidecarSource): boolean =>
    metadata === 'sidecar' || !isEmbeddable(bufferOf(content));
  return {
    ending: sidecarEnding,
    make: async (picture, provenance) =>
      provenance && isWanted(picture) ? sidecarOf(provenance, picture, writer) : undefined,
  };
}

/** Adds the provenance of a picture to its facts. `own` and `sidecar`: texts in the picture and in the sidecar. */
export function withOrigin(
  facts: Omit<SavedPicture, 'seed'>,
  own: string | undefined,
  sidecar: string | undefined,
): ExaminedPicture {
  const origin = readOrigin(parsed(own) ?? sidecarOfThis(parsed(sidecar), facts.sha256));
  const seed = origin?.seed ?? undefined;
  const output = origin?.output || facts.output ? { ...origin?.output, ...facts.output } : undefined;
  const picture = { ...facts, ...(seed !== undefined && { seed }), ...(output && { output }) };
  return { picture, origin };
}

/** Returns the parsed sidecar; undefined if it is missing or belongs to another picture. */
function sidecarOfThis(json: unknown, sha256: string): unknown {
  if (!isJsonObject(json) || !isJsonObject(json['picture'])) return undefined;
  return json['picture']['sha256'] === sha256 ? json : undefined;
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}
