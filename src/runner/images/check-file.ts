/** From what a job's output holds to a whole file of `output.files` that is no clip, or to the reason why it is none. */
import { createHash } from 'node:crypto';
import type { Failure } from '../core/failure.ts';
import {
  formatOfFile,
  type UncheckedPicture,
  type Picture,
  type PictureFormat,
  type PlainFile,
  type PlainKind,
  plainKinds,
} from '../core/picture.ts';
import { isClipFormat } from '../core/clip.ts';
import { wholePng } from './check-picture.ts';
import { decodeContent, isText, nameOfOtherFormat, recognise, type Unusable } from './decoding.ts';
import { otherFormat } from './other-formats.ts';
import { isJsonObject } from '../../lib/text/json.ts';
import { crc32, createInflateRaw } from 'node:zlib';
import { oneLine } from '../../lib/text/format.ts';

/** Size in pixels for files that have one, or the reason why the file cannot be used. */
type WholeFile = { width?: number; height?: number } | Unusable;

/** Checks a file of `output.files` that is not a clip. Its bytes are kept unchanged. */
export async function checkFile(
  unchecked: UncheckedPicture,
  { label, kind }: PlainFile,
  maxPixels: number,
): Promise<Picture | Failure> {
  const decoded = await decodeContent(unchecked);
  const whole = 'problem' in decoded ? decoded : await wholeAsAsked(decoded.bytes, kind, maxPixels);
  const content =
    'bytes' in decoded ? decoded.bytes : Buffer.from('base64' in unchecked ? unchecked.base64 : '');
  const sha256 = createHash('sha256').update(content).digest('hex');
  if ('problem' in whole) {
    const text = `the file ${label} cannot be used: ${whole.problem}`;
    // The page of a proxy begins like this. Any other text may be what the worker wrote as JSON.
    const isPage = isText(content) && (kind !== 'json' || /^\s*</.test(content.toString('latin1', 0, 99)));
    return { kind: whole.kind ?? 'bad-file', text, digest: sha256, ...(isPage && { isText: true }) };
  }
  const { width = 0, height = 0 } = whole;
  return { content, width, height, sha256 };
}

async function wholeAsAsked(bytes: Buffer, kind: PlainKind, maxPixels: number): Promise<WholeFile> {
  const whole = await wholeFile(bytes, kind, maxPixels);
  const other = 'problem' in whole ? nameOfOtherFormat(bytes, kind) : undefined;
  if (other === undefined) return whole;
  const problem = `it is ${other}, and \`output.files\` asks for ${kind.toUpperCase()}: let the worker send that, or correct \`kind\` or \`at\``;
  return { problem, kind: 'other-file-kind' };
}

/** Returns the size of a stored picture or file in pixels (if it has any), or what is wrong with it. Its name shows the kind. */
export function wholeStored(bytes: Buffer, file: string, maxPixels: number): Promise<WholeFile> {
  const format = formatOfFile(file);
  if (format !== undefined && !isClipFormat(format)) return wholePicture(bytes, format, maxPixels);
  const kind = plainKinds.find((each) => file.endsWith(`.${each}`)) ?? 'png';
  return wholeFile(bytes, kind, maxPixels);
}

async function wholeFile(bytes: Buffer, kind: PlainKind, maxPixels: number): Promise<WholeFile> {
  switch (kind) {
    case 'png':
      // Only PNG is accepted, because a lossy format changes the exact values of a mask.
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

async function wholePicture(bytes: Buffer, format: PictureFormat, maxPixels: number): Promise<WholeFile> {
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

const exrMagic = 0x01312f76;
/** Accepted flags of the version field. Deep samples (0x800) are refused, because they are not a picture. */
const exrFlags = { tiled: 0x200, long: 0x400, multipart: 0x1000 };
const maxAttributeNameBytes = 255;
const exrStartBytes = 8;

/** Part of an EXR: one of its pictures. Most files have a single part. */
interface ExrPart {
  width: number;
  height: number;
  isTiled: boolean;
}

class ExrProblem extends Error {}

/** Checks the header of an OpenEXR file, and that every block in its offset table is complete. */
function checkExr(exr: Buffer): { width: number; height: number } | { problem: string } {
  if (exr.length < exrStartBytes || exr.readUInt32LE(0) !== exrMagic)
    return { problem: 'it is not an EXR: its first bytes differ' };
  const version = exr.readUInt32LE(4);
  if ((version & ~(exrFlags.tiled | exrFlags.long | exrFlags.multipart)) !== 2)
    return { problem: 'it is an EXR of an unknown version, or deep' };
  try {
    const { parts, end } = readExrParts(exr, version);
    checkOffsetTable(exr, end, parts, (version & exrFlags.multipart) !== 0);
    const { width, height } = parts[0] ?? { width: 0, height: 0 };
    return { width, height };
  } catch (error) {
    // A read beyond the end of the file throws RangeError.
    if (error instanceof RangeError) return { problem: 'it is cut: its header or offset table is not whole' };
    if (error instanceof ExrProblem) return { problem: error.message };
    throw error;
  }
}

function readExrParts(exr: Buffer, version: number): { parts: ExrPart[]; end: number } {
  const first = readExrPart(exr, exrStartBytes, version);
  const parts = [first.part];
  let { end } = first;
  if ((version & exrFlags.multipart) === 0) return { parts, end };
  // A second zero byte marks the end of all headers.
  while (exr.readUInt8(end) !== 0) {
    const next = readExrPart(exr, end, version);
    parts.push(next.part);
    end = next.end;
  }
  return { parts, end: end + 1 };
}

function readExrPart(exr: Buffer, from: number, version: number): { part: ExrPart; end: number } {
  const attributes = new Map<string, Buffer>();
  let at = from;
  const text = (): string => {
    const end = exr.indexOf(0, at);
    if (end === -1 || end - at > maxAttributeNameBytes)
      throw new ExrProblem('it is cut or damaged: its header is torn');
    const read = exr.toString('latin1', at, end);
    at = end + 1;
    return read;
  };
  for (let name = text(); name !== ''; name = text()) {
    text();
    const size = exr.readUInt32LE(at);
    if (size > exr.length - at) throw new ExrProblem(`it is cut: ${name} of its header is not whole`);
    attributes.set(name, exr.subarray(at + 4, at + 4 + size));
    at += 4 + size;
  }
  const box = attributes.get('dataWindow');
  if (box?.length !== 16 || !attributes.has('channels'))
    throw new ExrProblem('it is damaged: its header has no dataWindow or no channels');
  const width = box.readInt32LE(8) - box.readInt32LE(0) + 1;
  const height = box.readInt32LE(12) - box.readInt32LE(4) + 1;
  if (width < 1 || height < 1) throw new ExrProblem(`it is damaged: its size is ${width}×${height}`);
  const isTiled = attributes.get('type')?.includes('tile') ?? (version & exrFlags.tiled) !== 0;
  return { part: { width, height, isTiled }, end: at };
}

/** Checks that every block is complete. The table ends where the first block begins, which any entry may name. */
function checkOffsetTable(exr: Buffer, start: number, parts: ExrPart[], isMultipart: boolean): void {
  let end = exr.length;
  for (let at = start; at < end; at += 8) {
    const offset = Number(exr.readBigUInt64LE(at));
    if (offset < at + 8) throw new ExrProblem('it was not finished: its offset table has gaps');
    if (offset >= exr.length) throw new ExrProblem('it is cut: a block is missing in the file');
    const part = parts[isMultipart ? exr.readInt32LE(offset) : 0];
    if (part === undefined) throw new ExrProblem('it is damaged: a block belongs to no part');
    const place = offset + (isMultipart ? 4 : 0);
    const size = place + (part.isTiled ? 16 : 4);
    if (size + 4 + exr.readUInt32LE(size) > exr.length)
      throw new ExrProblem('it is cut: a block is not whole');
    end = Math.min(end, offset);
  }
  if (end === exr.length) throw new ExrProblem('it is cut: it has no block');
}

const glbMagic = 'glTF';
const glbHeaderBytes = 12;
const chunkHeaderBytes = 8;

/** Checks a GLB (binary glTF 2): its header, its chunks, its JSON, and the length of its buffer. */
function checkGlb(glb: Buffer): { problem: string } | Record<string, never> {
  if (glb.toString('latin1', 0, 4) !== glbMagic || glb.length < glbHeaderBytes)
    return { problem: 'it is not a GLB: it does not begin with "glTF"' };
  const [version, length] = [glb.readUInt32LE(4), glb.readUInt32LE(8)];
  if (version !== 2) return { problem: `it is of version ${version} of glTF, and only 2 can be checked` };
  if (length !== glb.length)
    return {
      problem: `it is cut: it has ${glb.length.toLocaleString('en')} bytes, and its header says ${length.toLocaleString('en')}`,
    };
  const chunks: { type: string; data: Buffer }[] = [];
  for (let at = glbHeaderBytes; at < glb.length;) {
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

/** Checks the JSON of a GLB. `binBytes`: length of the binary chunk, which is the first buffer if that has no URI. */
function checkScene(json: Buffer, binBytes: number): { problem: string } | Record<string, never> {
  const scene = parseJson(json);
  if (scene instanceof Error || !isJsonObject(scene) || !isJsonObject(scene['asset']))
    return { problem: 'it is damaged: its JSON is not glTF' };
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

/** Returns the parsed JSON, or the error. Accepts only UTF-8 without a byte order mark. */
function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)) as unknown;
  } catch (error) {
    return error;
  }
}

const zipEndBytes = 22;
const maxZipCommentBytes = 65_535;
const zipEntryBytes = 46;
const zipLocalBytes = 30;
/** Maximum size of all unpacked arrays. A ZIP can unpack to a thousand times its size, which takes seconds to check. */
const maxUnpackedBytes = 4e9;

interface ZipEntry {
  name: string;
  method: number;
  checksum: number;
  packed: number;
  unpacked: number;
  offset: number;
}

/** Checks an NPZ, a ZIP of NumPy arrays: every entry is complete, has the right checksum, and begins like an array. */
async function checkNpz(npz: Buffer): Promise<{ problem: string } | Record<string, never>> {
  if (npz.toString('latin1', 0, 2) !== 'PK')
    return { problem: 'it is not an NPZ: it does not begin like a ZIP' };
  const end = zipEndOf(npz);
  if (end === undefined) return { problem: 'it is cut: the end of its ZIP directory is missing' };
  const start = npz.readUInt32LE(end + 16);
  if (start + npz.readUInt32LE(end + 12) !== end)
    return { problem: 'it is damaged: its ZIP directory is not where its end says' };
  const entries = readZipEntries(npz.subarray(start, end));
  if (entries?.length !== npz.readUInt16LE(end + 10))
    return { problem: 'it is damaged: its ZIP directory is torn' };
  if (entries.length === 0) return { problem: 'it holds no array' };
  if (entries.reduce((sum, { unpacked }) => sum + unpacked, 0) > maxUnpackedBytes)
    return { problem: 'its arrays have more than 4 GB unpacked' };
  for (const entry of entries) {
    const problem = await checkZipEntry(npz.subarray(0, start), entry);
    if (problem !== undefined) return { problem: `its array ${oneLine(entry.name, 60) ?? ''} ${problem}` };
  }
  return {};
}

/** Returns the offset of the end record of the ZIP directory. Only the comment of the ZIP may follow the record. */
function zipEndOf(zip: Buffer): number | undefined {
  const last = zip.length - zipEndBytes;
  for (let at = last; at >= Math.max(0, last - maxZipCommentBytes); at--)
    if (zip.readUInt32LE(at) === 0x06054b50 && zip.readUInt16LE(at + 20) === last - at) return at;
  return undefined;
}

/** Returns the entries of the ZIP directory; undefined if the directory is damaged. */
function readZipEntries(directory: Buffer): ZipEntry[] | undefined {
  const entries: ZipEntry[] = [];
  for (let at = 0; at < directory.length;) {
    if (at + zipEntryBytes > directory.length || directory.readUInt32LE(at) !== 0x02014b50) return undefined;
    const lengthAt = (offset: number): number => directory.readUInt16LE(at + offset);
    const name = lengthAt(28);
    entries.push({
      name: directory.toString('utf8', at + zipEntryBytes, at + zipEntryBytes + name),
      method: directory.readUInt16LE(at + 10),
      checksum: directory.readUInt32LE(at + 16),
      packed: directory.readUInt32LE(at + 20),
      unpacked: directory.readUInt32LE(at + 24),
      offset: directory.readUInt32LE(at + 42),
    });
    at += zipEntryBytes + name + lengthAt(30) + lengthAt(32);
  }
  return entries;
}

/** Returns what is wrong with a ZIP entry; undefined if it is sound. `before`: the bytes before the ZIP directory. */
async function checkZipEntry(before: Buffer, entry: ZipEntry): Promise<string | undefined> {
  const { name, method, offset, packed } = entry;
  if (!name.endsWith('.npy')) return 'is not an .npy file';
  if (offset + zipLocalBytes > before.length || before.readUInt32LE(offset) !== 0x04034b50)
    return 'is not where the ZIP directory says';
  const start = offset + zipLocalBytes + before.readUInt16LE(offset + 26) + before.readUInt16LE(offset + 28);
  if (start + packed > before.length) return 'is cut';
  if (method !== 0 && method !== 8) return `is packed with a method (${method}) that NumPy does not use`;
  const data = before.subarray(start, start + packed);
  return method === 0 ? checkArray([data], entry) : checkUnpacked(data, entry);
}

async function checkUnpacked(data: Buffer, entry: ZipEntry): Promise<string | undefined> {
  const inflate = createInflateRaw();
  inflate.end(data);
  try {
    return await checkArray(inflate as AsyncIterable<Buffer>, entry);
  } catch {
    return 'is damaged: it cannot be unpacked';
  }
}

async function checkArray(
  parts: Iterable<Buffer> | AsyncIterable<Buffer>,
  { checksum, unpacked }: ZipEntry,
): Promise<string | undefined> {
  let [bytes, sum, isArray] = [0, 0, false];
  for await (const part of parts) {
    // The first part is shorter than six bytes only if the whole entry is.
    if (bytes === 0) isArray = part.toString('latin1', 0, 6) === '\x93NUMPY';
    bytes += part.length;
    sum = crc32(part, sum);
    if (bytes > unpacked) return 'is damaged: it is longer than the ZIP directory says';
  }
  if (bytes !== unpacked || sum !== checksum) return 'is damaged: its checksum is wrong';
  return isArray ? undefined : 'does not begin like an array of NumPy';
}
