/** Reads the provenance of a picture, from any program. */
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import sharp from 'sharp';
import { type SavedPicture, sidecarEnding } from '../core/picture.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { readTexts } from './png-metadata.ts';
import { provenanceKeyword } from './sidecars.ts';

/** What a picture's file says of itself, and its sidecar. */
export interface Inspection extends Pick<SavedPicture, 'width' | 'height' | 'bytes' | 'sha256'> {
  /** As sharp and the standards spell it: png, jpeg, webp, heif … */
  format: string;
  /** Where it comes from; null where that is unknown. */
  provenance: JsonObject | null;
  from: 'embedded' | 'sidecar' | null;
  /** Whether the sidecar was written for this very picture; null where that is unknown. */
  isOfThisPicture: boolean | null;
  /** Other texts within a PNG. */
  texts: { keyword: string; text: string }[];
}

/** Larger files are no pictures of this program's. */
const maxImageBytes = 1_000_000_000;
const maxSidecarBytes = 10_000_000;

/** `problem`: why the picture cannot be inspected. */
export async function inspectPicture(path: string): Promise<Inspection | { problem: string }> {
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

async function bytesOf(path: string, maxBytes: number): Promise<{ file: Buffer } | { problem: string }> {
  try {
    const stats = await stat(path);
    if (!stats.isFile()) return { problem: 'it is no file' };
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
  // A library would unpack whatever texts the file holds.
  if (isPng) return { format: 'png', width: file.readUInt32BE(16), height: file.readUInt32BE(20) };
  try {
    const { format, width, height } = await sharp(file, { limitInputPixels: false }).metadata();
    return { format, width, height };
  } catch {
    return undefined;
  }
}

/** Copies in other formats share the sidecar of the picture. */
async function sidecarOf(path: string): Promise<JsonObject | undefined> {
  const bytes = await bytesOf(path.replace(/\.[^./\\]+$/, '') + sidecarEnding, maxSidecarBytes);
  return 'problem' in bytes ? undefined : ownJson(bytes.file.toString('utf8'));
}

/** Undefined where the text is not ours. */
function ownJson(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as JsonValue;
    const isOurs = isJsonObject(value) && typeof value['program'] === 'string' && 'jobId' in value;
    // Nothing of ours is nested so deeply that it could be read and not be written again.
    return isOurs && JSON.stringify(value) !== '' ? value : undefined;
  } catch {
    return undefined;
  }
}
