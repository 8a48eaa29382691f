/** From what a job's output holds to a whole file of `output.files`, or to the reason why it is none. */
import { createHash } from 'node:crypto';
import type { ExaminedPicture } from '../core/adoption.ts';
import type { Failure } from '../core/failure.ts';
import type { FileKind, NamedFile } from '../core/named-file.ts';
import type { PictureFormat } from '../core/picture-format.ts';
import type { Picture, HeldPicture } from '../core/picture.ts';
import { checkExr } from './check-exr.ts';
import { checkNpz } from './check-npz.ts';
import { wholePng } from './check-picture.ts';
import { decodeBase64, nameOfOtherFormat, recognise, type Unusable } from './decode-base64.ts';
import { bufferOf } from './decoding.ts';
import { otherFormat } from './other-formats.ts';
import { isJsonObject } from '../../lib/text/json.ts';

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

const magic = 'glTF';
const headerBytes = 12;
const chunkHeaderBytes = 8;

/** Checks a GLB (binary glTF 2): its header, its chunks, its JSON, and the buffer that this speaks of. */
function checkGlb(glb: Buffer): { problem: string } | Record<string, never> {
  if (glb.toString('latin1', 0, 4) !== magic || glb.length < headerBytes)
    return { problem: 'it is no GLB: it does not begin with "glTF"' };
  const [version, length] = [glb.readUInt32LE(4), glb.readUInt32LE(8)];
  if (version !== 2) return { problem: `it is of version ${version} of glTF, and only 2 can be checked` };
  if (length !== glb.length)
    return {
      problem: `it is cut: it has ${glb.length.toLocaleString('en')} bytes, and its header says ${length.toLocaleString('en')}`,
    };
  const chunks: { type: string; data: Buffer }[] = [];
  for (let at = headerBytes; at < glb.length;) {
    const end = at + chunkHeaderBytes + (glb.length - at < chunkHeaderBytes ? 0 : glb.readUInt32LE(at));
    if (end > glb.length || end % 4 !== 0)
      return { problem: `it is damaged: its chunk at byte ${at} is torn` };
    chunks.push({
      type: glb.toString('latin1', at + 4, at + chunkHeaderBytes),
      data: glb.subarray(at + chunkHeaderBytes, end),
    });
    at = end;
  }
  const [first, second] = chunks;
  if (first?.type !== 'JSON') return { problem: 'it is damaged: its first chunk is not JSON' };
  return checkScene(first.data, second?.type === 'BIN\0' ? second.data.length : 0);
}

/** `binBytes`: of the chunk that the first buffer without an address is. */
function checkScene(json: Buffer, binBytes: number): { problem: string } | Record<string, never> {
  const scene = parseJson(json);
  if (scene instanceof Error || !isJsonObject(scene) || !isJsonObject(scene['asset']))
    return { problem: 'it is damaged: its JSON is none of glTF' };
  const { buffers } = scene;
  const buffer: unknown = Array.isArray(buffers) ? buffers[0] : undefined;
  if (!isJsonObject(buffer) || buffer['uri'] !== undefined) return {};
  const { byteLength } = buffer;
  if (typeof byteLength !== 'number') return { problem: 'it is damaged: its buffer has no length' };
  if (byteLength <= binBytes) return {};
  return {
    problem: `it is cut: its buffer has ${binBytes.toLocaleString('en')} bytes, and its JSON says ${byteLength.toLocaleString('en')}`,
  };
}

/** UTF-8 without a mark at its beginning, or what is wrong with it. */
function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)) as unknown;
  } catch (error) {
    return error;
  }
}
