/** Provenance as texts of a PNG and as a sidecar file. */
import { sidecarEnding } from '../core/picture-copy.ts';
import { formatOfFile } from '../core/picture-format.ts';
import type { Picture } from '../core/picture.ts';
import {
  parametersText,
  provenanceJson,
  type Provenance,
  type ProvenanceWriter,
  readOrigin,
} from '../core/provenance.ts';
import { isJsonObject } from '../../lib/text/json.ts';
import type { ExaminedPicture } from '../core/adoption.ts';
import { isPng } from './check-png.ts';
import type { SidecarMaker, SidecarSource } from './sidecars.ts';
import { readTexts, withTexts, type PngText } from './png-texts.ts';
import { checkPicture } from './check-picture.ts';
import { isSigned } from './content-credentials.ts';
import { bufferOf, type Demands, type WholePicture } from './decoding.ts';

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
