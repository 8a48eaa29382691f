/** Finds out what a picture is that no record knows: whether it is whole and as asked for, and where it comes from. */
import { readFile } from 'node:fs/promises';
import { sidecarPath, sidecarEnding } from '../core/sidecar-path.ts';
import { isJsonObject } from '../../lib/text/json.ts';
import { readOrigin } from '../core/provenance.ts';
import type { ExaminedPicture } from '../pipeline/ports.ts';
import { checkPicture, type Demands } from './check-picture.ts';
import { readTexts } from './png-texts.ts';
import { provenanceKeyword } from './provenance-texts.ts';

/** `path` is where `file`, a name within the images folder, is. */
export async function examinePicture(path: string, file: string, demands: Demands): Promise<ExaminedPicture> {
  const bytes = await readFile(path);
  const checked = await checkPicture({ bytes }, { ...demands, isThumbnailWanted: false });
  if ('kind' in checked) return { problem: checked.text };
  const { width, height, sha256 } = checked;
  if (!bytes.equals(checked.png)) return { problem: 'it is no PNG' };
  const own = readTexts(bytes).find(({ keyword }) => keyword === provenanceKeyword)?.text;
  const origin = readOrigin(parsed(own) ?? (await readSidecar(sidecarPath(path, sidecarEnding), sha256)));
  const seed = origin?.seed ?? undefined;
  const picture = { file, width, height, bytes: bytes.length, sha256, ...(seed !== undefined && { seed }) };
  return { picture, origin };
}

/** Undefined where there is none, or it is another picture's. */
async function readSidecar(path: string, sha256: string): Promise<unknown> {
  const json = parsed(await readFile(path, 'utf8').catch(() => undefined));
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
