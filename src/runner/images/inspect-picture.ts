/** Reads the provenance of a picture, from any program. */
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, extname } from 'node:path';
import { isClipFile, type SavedPicture, sidecarEnding } from '../core/picture.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { loadSharp } from './decoding.ts';
import { readTexts } from './png-metadata.ts';
import { provenanceKeyword } from './sidecars.ts';
import { examineClip } from './check-clip.ts';
import { folderPlace } from './folder-place.ts';
import { UnreadableFile } from './place.ts';

/** Facts about a picture, from its file and its sidecar. */
export interface Inspection extends Pick<SavedPicture, 'width' | 'height' | 'bytes' | 'sha256'> {
  /** Name of the format as sharp and the standards spell it: png, jpeg, webp, heif … */
  format: string;
  /** Provenance of the picture; null if it is unknown. */
  provenance: JsonObject | null;
  from: 'embedded' | 'sidecar' | null;
  /** True if the sidecar was written for this very picture; null if that is unknown. */
  isOfThisPicture: boolean | null;
  /** Other texts in a PNG. */
  texts: { keyword: string; text: string }[];
}

/** Maximum size of a picture in bytes. This program writes no larger ones. */
const maxImageBytes = 1_000_000_000;
const maxSidecarBytes = 10_000_000;

/** Reads facts and provenance of a picture. `problem`: why it cannot be inspected. */
export async function inspectPicture(path: string): Promise<Inspection | { problem: string }> {
  if (isClipFile(path)) return inspectClip(path);
  const bytes = await bytesOf(path, maxImageBytes);
  if ('problem' in bytes) return bytes;
  const size = await sizeOf(bytes.file);
  if (size === undefined) return { problem: 'it is not a picture, or it is damaged' };
  const sha256 = createHash('sha256').update(bytes.file).digest('hex');
  const all = size.format === 'png' ? readTexts(bytes.file) : [];
  const embedded = all.map(({ keyword, text }) =>
    keyword === provenanceKeyword ? ownJson(text) : undefined,
  );
  const found = embedded.find((each) => each !== undefined);
  const sidecar = found === undefined ? await sidecarOf(path) : undefined;
  const about = sidecar?.['picture'] ?? null;
  const of = isJsonObject(about) ? about['sha256'] : undefined;
  return {
    ...size,
    bytes: bytes.file.length,
    sha256,
    provenance: found ?? sidecar ?? null,
    from: found !== undefined ? 'embedded' : sidecar !== undefined ? 'sidecar' : null,
    isOfThisPicture: of === undefined ? null : of === sha256,
    texts: all.filter((_, i) => embedded[i] === undefined),
  };
}

/** Inspects a clip, which is read in parts. */
async function inspectClip(path: string): Promise<Inspection | { problem: string }> {
  const file = basename(path);
  try {
    const examined = await examineClip(folderPlace(dirname(path)), file, undefined, async () => undefined);
    if ('problem' in examined) return examined;
    const { width, height, bytes, sha256 } = examined.picture;
    const provenance = (await sidecarOf(path)) ?? null;
    const about = provenance?.['picture'];
    const of = isJsonObject(about) ? about['sha256'] : undefined;
    return {
      format: extname(file).slice(1),
      width,
      height,
      bytes,
      sha256,
      provenance,
      from: provenance === null ? null : 'sidecar',
      isOfThisPicture: of === undefined ? null : of === sha256,
      texts: [],
    };
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    return { problem: `it cannot be read (${error.code ?? 'it is not a file'})` };
  }
}

async function bytesOf(path: string, maxBytes: number): Promise<{ file: Buffer } | { problem: string }> {
  try {
    const stats = await stat(path);
    if (!stats.isFile()) return { problem: 'it is not a file' };
    if (stats.size > maxBytes)
      return { problem: `it has ${stats.size.toLocaleString('en')} bytes, more than the limit` };
    return { file: await readFile(path) };
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === '') throw error;
    return {
      problem:
        code === 'ENOENT' || code === 'ENOTDIR' ? 'there is no such file' : `it cannot be read (${code})`,
    };
  }
}

async function sizeOf(file: Buffer): Promise<Pick<Inspection, 'format' | 'width' | 'height'> | undefined> {
  const isPng = file.length >= 33 && file.toString('latin1', 1, 4) === 'PNG';
  // sharp would unpack all texts in the file, of any size.
  if (isPng) return { format: 'png', width: file.readUInt32BE(16), height: file.readUInt32BE(20) };
  const sharp = await loadSharp();
  try {
    const { format, width, height } = await sharp(file, { limitInputPixels: false }).metadata();
    return { format, width, height };
  } catch {
    return undefined;
  }
}

/** Reads the sidecar of a picture. Copies in other formats share the sidecar of the picture. */
async function sidecarOf(path: string): Promise<JsonObject | undefined> {
  const bytes = await bytesOf(path.replace(/\.[^./\\]+$/, '') + sidecarEnding, maxSidecarBytes);
  return 'problem' in bytes ? undefined : ownJson(bytes.file.toString('utf8'));
}

/** Parses provenance that this program wrote. Returns undefined for any other text. */
function ownJson(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as JsonValue;
    const isOurs = isJsonObject(value) && typeof value['program'] === 'string' && 'jobId' in value;
    // This throws for JSON that is nested too deeply to be printed. This program never writes such JSON.
    return isOurs && JSON.stringify(value) !== '' ? value : undefined;
  } catch {
    return undefined;
  }
}
