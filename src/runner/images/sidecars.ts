/** Sidecar files of pictures: made of a picture, written, moved and removed with it. */
import sharp from 'sharp';
import { isJsonObject } from '../../lib/text/json.ts';
import {
  copyEnding,
  formatOfFile,
  isSized,
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
import { checkPicture, pictureToDraw } from './check-picture.ts';
import { isPng } from './check-png.ts';
import { bufferOf, type Demands, type WholePicture } from './decoding.ts';
import { paper } from './other-formats.ts';
import type { Place } from './place.ts';
import { isSigned, originChunks, type PngText, readTexts, withChunks, withTexts } from './png-metadata.ts';

/** What a sidecar is made of. */
type SidecarSource = Pick<Picture, 'content' | 'width' | 'height' | 'sha256'>;

/** Makes one of the files. */
export interface SidecarMaker {
  /** What takes the place of the picture's ending; each maker has its own. */
  ending: string;
  /** Undefined where it cannot be made. */
  make: (picture: SidecarSource, provenance: Provenance | undefined) => Promise<Uint8Array | undefined>;
}

type Sidecars = NonNullable<Picture['beside']>;

/** Without a copy that would have the picture's own name: it is there in that format already. */
export function sidecarsOf(makers: SidecarMaker[], file: string): SidecarMaker[] {
  return makers.filter(({ ending }) => sidecarPath(file, ending) !== file);
}

/** Without those whose name is that of a picture: copies of a size alone have a name that another may have. */
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

/**
 * Returns the makers whose file is not there, or is older than its picture: while the configuration did not name that kind,
 * the file stayed behind when the picture that it was made of gave its name to another.
 */
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

/** Makes and puts them, from the picture as it is in the place. */
export async function completeSidecars(
  place: Place,
  missing: SidecarMaker[],
  { file, width, height, sha256 }: SavedPicture,
  provenance: Provenance,
): Promise<void> {
  const content = missing.length === 0 ? undefined : await place.read(file);
  if (content === undefined) return;
  await putSidecars(place, file, await makeSidecars(missing, { content, width, height, sha256 }, provenance));
}

/** Sidecars that earlier runs may have left, whatever is made today; of the smaller copies only those that are. */
const earlierEndings = [
  sidecarEnding,
  ...(['webp', 'jpeg', 'avif'] as const).map((format) => copyEnding({ format })),
];

/** Of all possible sidecars of a picture. */
export function sidecarEndings(makers: Pick<SidecarMaker, 'ending'>[]): string[] {
  return [...new Set([...makers.map((maker) => maker.ending), ...earlierEndings])];
}

/** Moves the sidecars with their picture. What has their new names made way with its picture, or has none. */
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

/** Removes them before their picture, so that none stays behind alone. */
export async function removeSidecars(place: Place, makers: SidecarMaker[], file: string): Promise<void> {
  for (const { ending } of sidecarsOf(makers, file)) await place.remove(sidecarPath(file, ending));
}

/**
 * In sRGB, with what the picture says of its origin (EXIF, XMP). One that cannot be made (a format has its own largest size) fails no picture: `onLacking` is
 * given the reason.
 */
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
  const { format, quality, size } = copy;
  const upright = sharp(marked, { limitInputPixels }).autoOrient().keepExif().keepXmp();
  const sized =
    size === undefined ? upright : upright.resize(size, size, { fit: 'inside', withoutEnlargement: true });
  if (format === 'jpeg') return sized.flatten({ background: paper }).jpeg({ quality }).toBuffer();
  return (format === 'webp' ? sized.webp({ quality }) : sized.avif({ quality })).toBuffer();
}

/**
 * Renames the picture and its sidecars to names that end in `as`. What was set aside before keeps its name. Returns what
 * the names got, or undefined if nothing is there.
 */
export async function setAside(
  place: Place,
  makers: SidecarMaker[],
  file: string,
  as: string,
): Promise<string | undefined> {
  const endings = [...sidecarEndings(makers), ...Object.values(pictureEndings)];
  const found = await thereAmong(place, [file, ...endings.map((ending) => sidecarPath(file, ending))]);
  if (found.length === 0) return undefined;
  for (let count = 1; ; count++) {
    const suffix = `.${as}${count === 1 ? '' : `-${count}`}`;
    const taken = await thereAmong(
      place,
      found.map((each) => each + suffix),
    );
    if (taken.length > 0) continue;
    for (const each of found) await place.move(each, each + suffix);
    return suffix;
  }
}

/** True if writing the picture would overwrite something other than itself, which a power cut may have left unrecorded. */
export async function wouldOverwrite(
  place: Place,
  file: string,
  { content, beside = [] }: Picture,
): Promise<boolean> {
  const facts = await place.facts(file);
  if (facts === undefined) {
    const endings = [...beside.map(({ ending }) => ending), ...Object.values(pictureEndings)];
    return (
      (
        await thereAmong(
          place,
          endings.map((ending) => sidecarPath(file, ending)),
        )
      ).length > 0
    );
  }
  // The write then fails with the system's own error.
  if (facts.kind === 'folder') return false;
  if (facts.kind !== 'file' || facts.bytes !== content.length) return true;
  return (await place.read(file))?.equals(content) !== true;
}

async function thereAmong(place: Place, files: string[]): Promise<string[]> {
  const there: string[] = [];
  for (const file of new Set(files)) if ((await place.facts(file)) !== undefined) there.push(file);
  return there;
}

/** The keyword of the JSON, which is ours alone. */
export const provenanceKeyword = 'nightrender';
/** Read by many programs; where the service has written one, it stays the only one. */
const parametersKeyword = 'parameters';

/** A picture of another format, or one that is signed, stays as it is: a sidecar says it then (`sidecarUnlessEmbedded`). */
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

/** Names its picture, since the two files may be separated. */
function sidecarOf(
  provenance: Provenance,
  { sha256, width, height }: Pick<Picture, 'sha256' | 'width' | 'height'>,
  writer: ProvenanceWriter,
): Buffer {
  const json = { ...provenanceJson(provenance, writer), picture: { sha256, width, height } };
  return Buffer.from(`${JSON.stringify(json, undefined, 2)}\n`);
}

/** Durable like its picture; without provenance, as when a report is written, it cannot be made. */
export function sidecarMaker(writer: ProvenanceWriter): SidecarMaker {
  return {
    ending: sidecarEnding,
    make: async (picture, provenance) => provenance && sidecarOf(provenance, picture, writer),
  };
}

/** Of pictures that cannot say themselves where they come from. */
export function sidecarUnlessEmbedded(writer: ProvenanceWriter): SidecarMaker {
  const { ending, make } = sidecarMaker(writer);
  const isEmbedded = ({ content }: SidecarSource): boolean => isEmbeddable(bufferOf(content));
  return {
    ending,
    make: async (picture, provenance) => (isEmbedded(picture) ? undefined : make(picture, provenance)),
  };
}

/** `file`: its name within the images folder; `sidecar` reads the text beside it. */
export async function examinePicture(
  bytes: Buffer,
  file: string,
  demands: Demands,
  sidecar: () => Promise<string | undefined>,
): Promise<ExaminedPicture | { problem: string }> {
  const wanted = { ...demands, isThumbnailWanted: false, isOriginalKept: true };
  const checked = await checkPicture({ bytes }, wanted);
  if ('kind' in checked) return { problem: checked.text };
  const { width, height, sha256, format } = checked;
  if (formatOfFile(file) !== format) return { problem: `it is a ${format}, but its name says otherwise` };
  const own = readTexts(bytes).find(({ keyword }) => keyword === provenanceKeyword)?.text;
  const origin = readOrigin(parsed(own) ?? sidecarOfThis(parsed(await sidecar()), sha256));
  const seed = origin?.seed ?? undefined;
  const { output } = origin ?? {};
  const told = { ...(seed !== undefined && { seed }), ...(output && { output }) };
  const picture = { file, width, height, bytes: bytes.length, sha256, ...told };
  return { picture, origin };
}

/** Undefined where there is none, or it is another picture's. */
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
