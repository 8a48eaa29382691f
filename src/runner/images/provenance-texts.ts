/** Provenance as texts of a PNG and as a file beside it. */
import { sidecarEnding } from '../core/sidecar-path.ts';
import type { CheckedPicture } from '../core/picture.ts';
import { parametersText, provenanceJson, type Provenance } from '../core/provenance.ts';
import type { SidecarMaker } from './sidecars.ts';
import { readTexts, withTexts, type PngText } from './png-texts.ts';

/** The keyword of the JSON, which is ours alone. */
export const provenanceKeyword = 'nightrender';
/** Read by many programs; where the service has written one, it stays the only one. */
const parametersKeyword = 'parameters';

export function withProvenance(
  png: Buffer,
  size: { width: number; height: number },
  provenance: Provenance,
  program: string,
): Buffer {
  const texts: PngText[] = [
    { keyword: provenanceKeyword, text: JSON.stringify(provenanceJson(provenance, program)) },
  ];
  const isTold = readTexts(png).some(({ keyword }) => keyword === parametersKeyword);
  if (!isTold) texts.push({ keyword: parametersKeyword, text: parametersText(provenance, size, program) });
  return withTexts(png, texts);
}

/** Tells of which picture it is, since files beside one another get parted. */
function sidecarOf(
  provenance: Provenance,
  { sha256, width, height }: Pick<CheckedPicture, 'sha256' | 'width' | 'height'>,
  program: string,
): Buffer {
  const json = { ...provenanceJson(provenance, program), picture: { sha256, width, height } };
  return Buffer.from(`${JSON.stringify(json, undefined, 2)}\n`);
}

/** Durable like its picture; without provenance, as when a report is written, it cannot be made. */
export function sidecarMaker(program: string): SidecarMaker {
  return {
    ending: sidecarEnding,
    make: async (picture, provenance) => provenance && sidecarOf(provenance, picture, program),
  };
}
