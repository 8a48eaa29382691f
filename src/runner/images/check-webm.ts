/** Checks the elements of a WebM (RFC 8794, RFC 9559) from end to end. */
import { crc32 } from 'node:zlib';
import type { ClipFacts } from '../core/clip.ts';
import { ClipProblem, type ClipReader } from './byte-source.ts';

const ids = {
  header: 0x1a45dfa3,
  segment: 0x18538067,
  info: 0x1549a966,
  tracks: 0x1654ae6b,
  cluster: 0x1f43b675,
  checksum: 0xbf,
  simpleBlock: 0xa3,
  blockGroup: 0xa0,
  block: 0xa1,
  time: 0xe7,
  void: 0xec,
};

/** Elements of a segment: also SeekHead, Cues, Chapters, Tags and Attachments. */
const segmentIds = new Set([
  ids.info,
  ids.tracks,
  ids.cluster,
  ids.void,
  ids.checksum,
  0x114d9b74,
  0x1c53bb6b,
  0x1043a770,
  0x1254c367,
  0x1941a469,
]);

/** Elements of a cluster: also Position, PrevSize, SilentTracks and EncryptedBlock. */
const clusterIds = new Set([
  ids.time,
  ids.simpleBlock,
  ids.blockGroup,
  ids.void,
  ids.checksum,
  0xa7,
  0xab,
  0x5854,
  0xaf,
]);

interface Element {
  id: number;
  at: number;
  from: number;
  /** Undefined if the size is unknown. */
  end: number | undefined;
}

interface Track {
  isVideo: boolean;
  isSound: boolean;
  codec: string;
  width: number;
  height: number;
  /** Nanoseconds of a frame; 0 if it is not stated. */
  frameNs: number;
}

interface Webm {
  /** Nanoseconds of a unit of time. */
  unitNs: number;
  /** Units of time; 0 if it is not stated. */
  duration: number;
  tracks: Map<number, Track>;
  /** Number of video frames. */
  frames: number;
  blocks: number;
  /** Time of the latest block, in units. */
  latest: number;
}

export async function checkWebm(reader: ClipReader): Promise<{ width: number; height: number } & ClipFacts> {
  const header = await readElement(reader, 0, reader.length);
  if (header.end === undefined) throw new ClipProblem('it is damaged: its EBML header has no size');
  for await (const { id, at, bytes } of children(reader, header))
    if (id === 0x42f7 && (await unsigned(reader, at, bytes)) !== 1)
      throw new ClipProblem('it is damaged: its EBML header asks for an unknown version');
  let segment = await readElement(reader, header.end, reader.length);
  while (segment.id === ids.void && segment.end !== undefined)
    segment = await readElement(reader, segment.end, reader.length);
  if (segment.id !== ids.segment) throw new ClipProblem('it is damaged: it has no segment');
  const webm: Webm = { unitNs: 1e6, duration: 0, tracks: new Map(), frames: 0, blocks: 0, latest: 0 };
  const end = await readSegment(reader, segment, webm);
  if (webm.tracks.size === 0) throw new ClipProblem('it is cut or damaged: it has no track');
  if (webm.blocks === 0) throw new ClipProblem('it is cut: it has no frame');
  for (let at = end; at < reader.length && !(await reader.isFill(at));) {
    const { id, end: next } = await readElement(reader, at, reader.length);
    if (id !== ids.void || next === undefined)
      throw new ClipProblem('it is damaged: something follows its end');
    at = next;
  }
  return { ...factsOf(webm), ...(segment.end === undefined && { isEndOpen: true as const }) };
}

/** Reads the id and size of the element at this offset. `limit`: end of the element around it. */
async function readElement(reader: ClipReader, at: number, limit: number): Promise<Element> {
  reader.countPart();
  const bytes = await reader.bytes(at, Math.min(12, limit - at));
  const idBytes = widthOf(bytes[0] ?? 1);
  const sizeBytes = widthOf(bytes[idBytes] ?? 1);
  if (idBytes > 4 || (bytes.length > idBytes && sizeBytes > 8))
    throw new ClipProblem(`it is damaged: no element begins at byte ${at.toLocaleString('en')}`);
  const from = at + idBytes + sizeBytes;
  if (idBytes + sizeBytes > bytes.length) throw beyond(reader, at, limit);
  const id = bytes.readUIntBE(0, idBytes);
  const [first = 0, ...rest] = bytes.subarray(idBytes, idBytes + sizeBytes);
  const mask = 2 ** (8 - sizeBytes) - 1;
  if ((first & mask) === mask && rest.every((byte) => byte === 255)) return { id, at, from, end: undefined };
  const size = rest.reduce((sum, byte) => sum * 256 + byte, first & mask);
  if (from + size > limit) throw beyond(reader, at, limit);
  return { id, at, from, end: from + size };
}

/** Returns the width of a variable-length number by its first byte; 9 if it is invalid. */
function widthOf(first: number): number {
  return Math.clz32(first) - 23;
}

function beyond(reader: ClipReader, at: number, limit: number): ClipProblem {
  const what = `the element at byte ${at.toLocaleString('en')}`;
  return new ClipProblem(
    limit === reader.length
      ? `it is cut: ${what} is not whole`
      : `it is damaged: ${what} is longer than the element around it`,
  );
}

/** Returns the end of the segment. */
async function readSegment(reader: ClipReader, segment: Element, webm: Webm): Promise<number> {
  const limit = segment.end ?? reader.length;
  let at = segment.from;
  while (at < limit) {
    if (segment.end === undefined && (await reader.isFill(at))) break;
    const element = await readElement(reader, at, limit);
    if (!segmentIds.has(element.id)) throw unknown(element);
    if (element.id === ids.cluster) {
      at = await readCluster(reader, element, limit, webm);
      continue;
    }
    if (element.end === undefined) throw unknown(element);
    await checkSum(reader, element);
    if (element.id === ids.info) await readInfo(reader, element, webm);
    if (element.id === ids.tracks) await readTracks(reader, element, webm);
    at = element.end;
  }
  return at;
}

function unknown({ at }: Element): ClipProblem {
  return new ClipProblem(`it is damaged: no known element begins at byte ${at.toLocaleString('en')}`);
}

/** Checks the CRC-32 of an element whose first child is one. */
async function checkSum(reader: ClipReader, { from, end = from }: Element): Promise<void> {
  if (end - from < 6) return;
  const head = await reader.bytes(from, 6);
  if (head[0] !== ids.checksum || head[1] !== 0x84) return;
  const wanted = head.readUInt32LE(2);
  let sum = 0;
  for (let at = from + 6; at < end;) {
    const piece = await reader.bytes(at, Math.min(65_536, end - at));
    sum = crc32(piece, sum);
    at += piece.length;
  }
  if (sum !== wanted)
    throw new ClipProblem(`it is damaged: the checksum of its element at byte ${from} is wrong`);
}

async function* children(reader: ClipReader, { from, end = from }: Element) {
  for (let at = from; at < end;) {
    const child = await readElement(reader, at, end);
    if (child.end === undefined) throw unknown(child);
    yield { id: child.id, at: child.from, bytes: child.end - child.from, element: child };
    at = child.end;
  }
}

/** Returns the end of the cluster. One of unknown size ends before the next element of the segment. */
async function readCluster(reader: ClipReader, cluster: Element, limit: number, webm: Webm): Promise<number> {
  const end = cluster.end ?? limit;
  await checkSum(reader, cluster);
  let [at, time] = [cluster.from, 0];
  while (at < end) {
    if (cluster.end === undefined && end === reader.length && (await reader.isFill(at))) break;
    const element = await readElement(reader, at, end);
    if (cluster.end === undefined && segmentIds.has(element.id) && !clusterIds.has(element.id)) break;
    if (!clusterIds.has(element.id) || element.end === undefined) throw unknown(element);
    if (element.id === ids.time) time = await unsigned(reader, element.from, element.end - element.from);
    if (element.id === ids.simpleBlock) await readBlock(reader, element, time, webm);
    if (element.id === ids.blockGroup)
      for await (const { id, element: inner } of children(reader, element))
        if (id === ids.block) await readBlock(reader, inner, time, webm);
    at = element.end;
  }
  return at;
}

async function readBlock(
  reader: ClipReader,
  { at, from, end = from }: Element,
  time: number,
  webm: Webm,
): Promise<void> {
  const head = await reader.bytes(from, Math.min(12, end - from));
  const width = widthOf(head[0] ?? 0);
  if (width + 3 >= end - from || width > 8)
    throw new ClipProblem(`it is damaged: the frame at byte ${at.toLocaleString('en')} is empty`);
  const number = head.readUIntBE(0, Math.min(width, 6)) - 2 ** (7 * width);
  const track = webm.tracks.get(number);
  if (!track)
    throw new ClipProblem(`it is mixed up: the frame at byte ${at.toLocaleString('en')} belongs to no track`);
  webm.blocks += 1;
  if (track.isVideo) webm.frames += 1;
  const frameUnits = track.frameNs / webm.unitNs;
  webm.latest = Math.max(webm.latest, time + head.readInt16BE(width) + frameUnits);
}

async function readInfo(reader: ClipReader, info: Element, webm: Webm): Promise<void> {
  for await (const { id, at, bytes } of children(reader, info)) {
    if (id === 0x2ad7b1) webm.unitNs = await unsigned(reader, at, bytes);
    if (id === 0x4489) webm.duration = await float(reader, at, bytes);
  }
  if (webm.unitNs === 0 || !(webm.duration >= 0) || webm.duration === Infinity)
    throw new ClipProblem('it is damaged: its duration is no number');
}

async function readTracks(reader: ClipReader, tracks: Element, webm: Webm): Promise<void> {
  for await (const { id, element } of children(reader, tracks)) {
    if (id !== 0xae) continue;
    const track: Track = { isVideo: false, isSound: false, codec: '', width: 0, height: 0, frameNs: 0 };
    let number = 0;
    for await (const { id: key, at, bytes, element: inner } of children(reader, element)) {
      if (key === 0xd7) number = await unsigned(reader, at, bytes);
      if (key === 0x83) track.isVideo = (await unsigned(reader, at, bytes)) === 1;
      if (key === 0x83) track.isSound = (await unsigned(reader, at, bytes)) === 2;
      if (key === 0x86)
        track.codec = (await reader.bytes(at, Math.min(bytes, 64))).toString('latin1').replace(/\0+$/, '');
      if (key === 0x23e383) track.frameNs = await unsigned(reader, at, bytes);
      if (key !== 0xe0) continue;
      for await (const size of children(reader, inner)) {
        if (size.id === 0xb0) track.width = await unsigned(reader, size.at, size.bytes);
        if (size.id === 0xba) track.height = await unsigned(reader, size.at, size.bytes);
      }
    }
    if (number === 0 || track.codec === '')
      throw new ClipProblem('it is damaged: a track has no number or no codec');
    if (track.isVideo && track.width * track.height === 0)
      throw new ClipProblem(`it is damaged: its size is ${track.width}×${track.height}`);
    webm.tracks.set(number, track);
  }
}

async function unsigned(reader: ClipReader, at: number, bytes: number): Promise<number> {
  if (bytes > 8) throw new ClipProblem(`it is damaged: the number at byte ${at} is too long`);
  return (await reader.bytes(at, bytes)).reduce((sum, byte) => sum * 256 + byte, 0);
}

async function float(reader: ClipReader, at: number, bytes: number): Promise<number> {
  if (bytes !== 4 && bytes !== 8) throw new ClipProblem(`it is damaged: the number at byte ${at} is torn`);
  const value = await reader.bytes(at, bytes);
  return bytes === 4 ? value.readFloatBE() : value.readDoubleBE();
}

const codecs: Record<string, string> = {
  'V_MPEG4/ISO/AVC': 'h264',
  'V_MPEGH/ISO/HEVC': 'hevc',
};

function factsOf({ unitNs, duration, tracks, frames, latest }: Webm) {
  const all = [...tracks.values()];
  const shown = [...all.filter(({ isVideo }) => isVideo), ...all.filter(({ isSound }) => isSound)];
  const { width = 0, height = 0, frameNs = 0 } = shown.find(({ isVideo }) => isVideo) ?? {};
  const ms = Math.round(((duration || latest) * unitNs) / 1e6);
  const rate = frameNs > 0 ? 1e9 / frameNs : (frames * 1000) / ms;
  return {
    width,
    height,
    ...(ms > 0 && { durationMs: ms }),
    ...(frames > 0 && Number.isFinite(rate) && { frameRate: Math.round(rate * 1000) / 1000 }),
    codecs: [
      ...new Set(shown.map(({ codec }) => codecs[codec] ?? codec.replace(/^[AVS]_/, '').toLowerCase())),
    ],
  };
}
