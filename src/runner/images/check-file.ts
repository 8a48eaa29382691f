/** From what a job's output holds to a whole file of `output.files`, or to the reason why it is none. */
import { createHash } from 'node:crypto';
import type { ExaminedPicture } from '../core/adoption.ts';
import type { Failure } from '../core/failure.ts';
import type { FileKind, NamedFile } from '../core/named-file.ts';
import type { PictureFormat } from '../core/picture-format.ts';
import type { Picture, HeldPicture } from '../core/picture.ts';
import { checkExr } from './check-exr.ts';
import { checkGlb, parseJson } from './check-glb.ts';
import { checkNpz } from './check-npz.ts';
import { wholePng } from './check-picture.ts';
import { decodeBase64, nameOfOtherFormat, recognise, type Unusable } from './decode-base64.ts';
import { bufferOf } from './decoding.ts';
import { otherFormat } from './other-formats.ts';

/** Pixels of those that have any. */
export type WholeFile = { width?: number; height?: number } | Unusable;

/** The bytes are kept as they came. */
export async function checkFile(
  held: HeldPicture,
  { label, kind }: NamedFile,
  maxPixels: number,
): Promise<Picture | Failure> {
  const decoded = 'bytes' in held ? { bytes: bufferOf(held.bytes) } : decodeBase64(held.base64);
  const whole = 'problem' in decoded ? decoded : await wholeAsAsked(decoded.bytes, kind, maxPixels);
  const content = 'bytes' in decoded ? decoded.bytes : Buffer.from('base64' in held ? held.base64 : '');
  const sha256 = createHash('sha256').update(content).digest('hex');
  if ('problem' in whole) {
    const text = `the file ${label} cannot be used: ${whole.problem}`;
    return { kind: whole.kind ?? 'bad-file', text, digest: sha256 };
  }
  const { width = 0, height = 0 } = whole;
  return { content, width, height, sha256 };
}

async function wholeAsAsked(bytes: Buffer, kind: FileKind, maxPixels: number): Promise<WholeFile> {
  const whole = await wholeFile(bytes, kind, maxPixels);
  const other = 'problem' in whole ? nameOfOtherFormat(bytes, kind) : undefined;
  if (other === undefined) return whole;
  const problem = `it is ${other}, and \`output.files\` asks for ${kind.toUpperCase()}: have the worker send that, or correct \`kind\` or \`at\``;
  return { problem, kind: 'other-file-kind' };
}

/** Of a file that is there without a record. */
export async function examineFile(
  bytes: Buffer,
  file: string,
  named: NamedFile,
  maxPixels: number,
): Promise<ExaminedPicture | { problem: string }> {
  const checked = await checkFile({ bytes }, named, maxPixels);
  if ('kind' in checked) return { problem: checked.text };
  const { content: _, ...facts } = checked;
  return { picture: { file, ...facts, bytes: bytes.length, label: named.label }, origin: undefined };
}

/** What is wrong with a file of that kind, or its size in pixels. */
export async function wholeFile(bytes: Buffer, kind: FileKind, maxPixels: number): Promise<WholeFile> {
  switch (kind) {
    case 'png':
      // A mask in another format has lost what it says.
      return wholePicture(bytes, 'PNG', maxPixels);
    case 'exr':
      return checkExr(bytes);
    case 'json': {
      const parsed = parseJson(bytes);
      if (!(parsed instanceof Error)) return {};
      return { problem: `it is not JSON (${parsed.message.split('\n', 1)[0] ?? ''})` };
    }
    case 'glb':
      return checkGlb(bytes);
    case 'npz':
      return checkNpz(bytes);
  }
}

/** What is wrong with a picture of that format, or its size. */
export async function wholePicture(
  bytes: Buffer,
  format: PictureFormat,
  maxPixels: number,
): Promise<WholeFile> {
  const what = recognise(bytes);
  if ('problem' in what) return what;
  if (what.format !== format) return { problem: `it is a ${what.format}, not a ${format}` };
  const demands = {
    maxPixels,
    minSide: 1,
    isBlankRefused: false,
    isThumbnailWanted: false,
    isOriginalKept: true,
  };
  return format === 'PNG' ? wholePng(bytes, demands) : otherFormat(bytes, demands, format);
}
