/** Checks the tracks and fragments of an MP4 or MOV from end to end: every sample lies inside the data of the file. */
import type { ClipFacts } from '../core/clip.ts';
import { ClipProblem, type ClipReader } from './byte-source.ts';
import { type Box, Boxes } from './mp4-boxes.ts';

/** Maximum size of the index, which belongs to a clip of days. */
const maxIndexBytes = 32 * 1024 ** 2;

/** Bytes of the file, and those of them that are inside an `mdat`. */
interface Data {
  length: number;
  boxes: { from: number; end: number; isUsed: boolean }[];
}

interface Track {
  id: number;
  /** `vide` or `soun`; other tracks are subtitles and metadata. */
  handler: string;
  /** Type of the media header: `vmhd`, `smhd` or another. */
  media: string;
  /** Units of time a second. */
  timescale: number;
  width: number;
  height: number;
  isTurned: boolean;
  codec: string;
  /** Tables of the samples, by the type of their box. */
  tables: Map<string, Box>;
  samples: number;
  /** Duration of the samples, in the track's units. */
  units: number;
  /** Duration and size of each sample of a fragment that states none. */
  defaults: { units: number; bytes: number };
}

/** True for a track of video or sound. The others (timecode, text, data) cannot make a clip unusable. */
function isPlayed({ handler }: Track): boolean {
  return /^(?:vide|auxv|pict|soun)$/.test(handler);
}

interface Movie {
  tracks: Track[];
  /** 0 if it is not stated. */
  durationMs: number;
}

export async function checkMp4(reader: ClipReader): Promise<{ width: number; height: number } & ClipFacts> {
  const boxes = new Boxes(reader);
  const { index, data, fragments, isEndOpen } = await readParts(boxes);
  const movie = await readMovie(boxes, index);
  for (const track of movie.tracks) await checkTrack(boxes, track, data);
  for (const fragment of fragments) await checkFragment(boxes, fragment, movie.tracks, data);
  if (fragments.length > 0 && data.boxes.some(({ from, end, isUsed }) => end > from && !isUsed))
    throw new ClipProblem('it is mixed up: a part of its data (mdat) belongs to no fragment');
  return { ...factsOf(movie, fragments.length > 0), ...(isEndOpen && { isEndOpen }) };
}

async function readParts(boxes: Boxes) {
  let index: Box | undefined;
  const data: Data = { length: boxes.length, boxes: [] };
  const fragments: Box[] = [];
  let [isOpen, hasFragmentIndex] = [false, false];
  for await (const box of boxes.all()) {
    if (box.type === 'moov' && index) throw new ClipProblem('it is mixed up: it has two indexes (moov)');
    if (box.type === 'moov') index = box;
    if (box.type === 'mdat') data.boxes.push({ ...box, isUsed: false });
    if (box.type === 'moof') fragments.push(box);
    if (box.type === 'mfra') hasFragmentIndex = true;
    isOpen ||= box.isOpen;
  }
  if (!index) throw new ClipProblem('it is cut: it has no index (moov)');
  if (index.end - index.at > maxIndexBytes)
    throw new ClipProblem('its index (moov) has more than 32 MiB, and cannot be checked');
  if (data.boxes.length === 0) throw new ClipProblem('it is cut: it has no data (mdat)');
  const isEndOpen = isOpen || (fragments.length > 0 && !hasFragmentIndex);
  return { index, data, fragments, isEndOpen };
}

/** Boxes between a track and its tables. Each may only be inside the one before, so no file nests them deeply. */
const inside: Record<string, readonly string[]> = {
  trak: ['mdia', 'edts'],
  mdia: ['minf'],
  minf: ['stbl', 'dinf'],
};

async function readMovie(boxes: Boxes, index: Box): Promise<Movie> {
  const movie: Movie = { tracks: [], durationMs: 0 };
  const defaults = new Map<number, Track['defaults']>();
  let hasHeader = false;
  for await (const box of boxes.inside(index)) {
    if (box.type === 'mvhd') {
      const { timescale, units } = await readHeader(boxes, box);
      movie.durationMs = (units / timescale) * 1000;
      hasHeader = true;
    }
    if (box.type === 'trak') movie.tracks.push(await readTrack(boxes, box));
    if (box.type !== 'mvex') continue;
    for await (const inner of boxes.inside(box)) {
      if (inner.type !== 'trex') continue;
      const bytes = await boxes.content(inner, 24);
      defaults.set(bytes.readUInt32BE(4), { units: bytes.readUInt32BE(12), bytes: bytes.readUInt32BE(16) });
    }
  }
  if (!hasHeader || movie.tracks.length === 0)
    throw new ClipProblem('it is damaged: its index (moov) has no header or no track');
  for (const track of movie.tracks) track.defaults = defaults.get(track.id) ?? track.defaults;
  return movie;
}

/** Reads `mvhd` or `mdhd`. An unknown duration is 0. */
async function readHeader(boxes: Boxes, box: Box): Promise<{ timescale: number; units: number }> {
  const isLong = (await boxes.content(box, 20)).readUInt8(0) === 1;
  const bytes = await boxes.content(box, isLong ? 32 : 20);
  const timescale = bytes.readUInt32BE(isLong ? 20 : 12);
  const units = isLong ? bytes.readBigUInt64BE(24) : BigInt(bytes.readUInt32BE(16));
  if (timescale === 0) throw new ClipProblem(`it is damaged: its ${box.type} has no unit of time`);
  return { timescale, units: units === (isLong ? 2n ** 64n - 1n : 2n ** 32n - 1n) ? 0 : Number(units) };
}

async function readTrack(boxes: Boxes, trak: Box): Promise<Track> {
  const track: Track = {
    id: 0,
    handler: '',
    media: '',
    timescale: 0,
    width: 0,
    height: 0,
    isTurned: false,
    codec: '',
    tables: new Map(),
    samples: 0,
    units: 0,
    defaults: { units: 0, bytes: 0 },
  };
  const visit = async (parent: Box): Promise<void> => {
    for await (const box of boxes.inside(parent)) {
      if (inside[parent.type]?.includes(box.type) === true) await visit(box);
      else await readPart(boxes, track, box, parent.type);
    }
  };
  await visit(trak);
  const description = track.tables.get('stsd');
  if (description && isPlayed(track)) await readCodec(boxes, track, description);
  const lacksCodec = isPlayed(track) && track.codec === '';
  if (track.id === 0 || track.handler === '' || track.timescale === 0 || lacksCodec)
    throw new ClipProblem('it is damaged: a track lacks a header or its codec');
  const isOther =
    (track.media === 'vmhd' && !/^(?:vide|auxv|pict)$/.test(track.handler)) ||
    (track.media === 'smhd' && track.handler !== 'soun');
  if (isOther) throw new ClipProblem('it is mixed up: the headers of a track do not agree');
  if (track.handler === 'vide' && track.width * track.height === 0)
    throw new ClipProblem(`it is damaged: its size is ${track.width}×${track.height}`);
  return track;
}

async function readPart(boxes: Boxes, track: Track, box: Box, parent: string): Promise<void> {
  const { type } = box;
  if (type === 'tkhd') {
    const isLong = (await boxes.content(box, 84)).readUInt8(0) === 1;
    const bytes = await boxes.content(box, isLong ? 96 : 84);
    track.id = bytes.readUInt32BE(isLong ? 20 : 12);
    const matrix = isLong ? 52 : 40;
    track.isTurned = bytes.readInt32BE(matrix) === 0 && bytes.readInt32BE(matrix + 4) !== 0;
  }
  if (type === 'mdhd') track.timescale = (await readHeader(boxes, box)).timescale;
  // QuickTime has a second `hdlr` inside `minf`, about where the data is.
  if (type === 'hdlr' && parent === 'mdia')
    track.handler = (await boxes.content(box, 12)).toString('latin1', 8);
  if (type === 'vmhd' || type === 'smhd') track.media = type;
  if (parent === 'stbl') track.tables.set(type, box);
}

async function readCodec(boxes: Boxes, track: Track, description: Box): Promise<void> {
  const { type, entry } = await boxes.codec(description);
  track.codec = nameOfCodec(type, entry);
  if (track.handler !== 'vide') return;
  if (entry.length < 36) throw new ClipProblem('it is damaged: its codec (stsd) is too short');
  track.width = entry.readUInt16BE(32);
  track.height = entry.readUInt16BE(34);
}

const codecs: readonly [RegExp, string][] = [
  [/^avc[1-4]$/, 'h264'],
  [/^(?:hvc1|hev1|dvh1|dvhe)$/, 'hevc'],
  [/^vp08$/, 'vp8'],
  [/^vp09$/, 'vp9'],
  [/^av01$/, 'av1'],
  [/^s263$/, 'h263'],
  [/^(?:ap4[hx]|apc[hnso])$/, 'prores'],
  [/^(?:jpeg|mjp[ab])$/, 'mjpeg'],
  [/^mjp2$/, 'jpeg2000'],
  [/^AVd[hn]$/, 'dnxhd'],
  [/^dv/, 'dvvideo'],
  [/^Hap/, 'hap'],
  [/^rle $/, 'qtrle'],
  [/^(?:2vuy|yuvs)$/, 'rawvideo'],
  [/^(?:lpcm|sowt|twos|in24|in32|fl32|fl64|ipcm|fpcm|raw )$/, 'pcm'],
  [/^ulaw$/, 'pcm_mulaw'],
  [/^alaw$/, 'pcm_alaw'],
  [/^ima4$/, 'adpcm_ima_qt'],
  [/^ac-3$/, 'ac3'],
  [/^ec-3$/, 'eac3'],
  [/^\.mp3$/, 'mp3'],
];

/** Codecs by the `objectTypeIndication` of their descriptor (`esds`). */
const objectTypes: Record<string, string> = {
  '60': 'mpeg2video',
  '61': 'mpeg2video',
  '65': 'mpeg2video',
  '69': 'mp3',
  '6a': 'mpeg1video',
  '6b': 'mp3',
  '6c': 'mjpeg',
  '6d': 'png',
  a5: 'ac3',
  a6: 'eac3',
  a9: 'dts',
};

function nameOfCodec(type: string, entry: Buffer): string {
  if (type === 'mp4a' || type === 'mp4v') {
    const esds = entry.indexOf('esds');
    // Version, tag 3 with its size in one byte or four, id and flags, tag 4 with its size, then the type.
    const descriptor = esds === -1 ? '' : entry.toString('hex', esds + 8, esds + 32);
    const [, code = ''] = /^03(?:[89a-f].){0,3}.{8}04(?:[89a-f].){0,3}..(..)/.exec(descriptor) ?? [];
    return objectTypes[code] ?? (type === 'mp4a' ? 'aac' : 'mpeg4');
  }
  return codecs.find(([pattern]) => pattern.test(type))?.[1] ?? type.trim().toLowerCase();
}

/** Checks that the tables of a track agree, and that each of its chunks lies inside the data. */
async function checkTrack(boxes: Boxes, track: Track, data: Data): Promise<void> {
  try {
    const onChunk = (from: number, end: number): void => checkRange(track, [from, end], data);
    Object.assign(track, await boxes.samples(track.tables, onChunk));
  } catch (error) {
    if (isPlayed(track) || !(error instanceof ClipProblem)) throw error;
  }
}

function checkRange(track: Track, [from, end]: [number, number], { length, boxes }: Data): void {
  if (from === end) return;
  if (end > length && isPlayed(track))
    throw new ClipProblem(
      `it is cut: its index ends at byte ${end.toLocaleString('en')}, and the file has ${length.toLocaleString('en')}`,
    );
  let [low, high] = [0, boxes.length];
  // Finds the last box that begins at or before `from`.
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((boxes[middle]?.from ?? 0) <= from) low = middle;
    else high = middle;
  }
  const box = boxes[low];
  if (box && from >= box.from && end <= box.end) box.isUsed = true;
  else if (isPlayed(track))
    throw new ClipProblem(
      `it is mixed up: its index names bytes from ${from.toLocaleString('en')}, which are not in its data (mdat)`,
    );
}

/** Checks that the samples of a fragment lie inside the data, and adds them to their tracks. */
async function checkFragment(boxes: Boxes, moof: Box, tracks: Track[], data: Data): Promise<void> {
  let end = moof.at;
  for await (const traf of boxes.inside(moof)) {
    if (traf.type === 'mfhd' && traf.end - traf.from !== 8)
      throw new ClipProblem('it is damaged: the size of its box mfhd is wrong');
    if (traf.type !== 'traf') continue;
    let [base, place] = [end, end];
    let track: Track | undefined;
    let defaults = { units: 0, bytes: 0 };
    for await (const box of boxes.inside(traf)) {
      if (box.type === 'tfhd') {
        const head = await boxes.content(box, 8);
        track = tracks.find(({ id }) => id === head.readUInt32BE(4));
        if (!track) throw new ClipProblem('it is mixed up: a fragment belongs to no track');
        const flags = head.readUInt32BE(0);
        const { base: stated, ...rest } = await fragmentDefaults(boxes, box, flags, track.defaults);
        defaults = rest;
        base = stated ?? ((flags & 0x20000) === 0 ? end : moof.at);
        place = base;
      }
      if (box.type !== 'trun') continue;
      if (!track) throw new ClipProblem('it is damaged: a fragment has no header (tfhd)');
      const run = await readRun(boxes, box, defaults);
      const from = run.offset === undefined ? place : base + run.offset;
      checkRange(track, [from, from + run.bytes], data);
      place = from + run.bytes;
      track.samples += run.samples;
      track.units += run.units;
    }
    end = place;
  }
}

async function fragmentDefaults(
  boxes: Boxes,
  box: Box,
  flags: number,
  { units, bytes }: Track['defaults'],
): Promise<Track['defaults'] & { base: number | undefined }> {
  let at = 8;
  const next = async (flag: number, width: 4 | 8): Promise<number | undefined> => {
    if ((flags & flag) === 0) return undefined;
    const value = await boxes.content(box, width, at);
    at += width;
    return width === 4 ? value.readUInt32BE() : Number(value.readBigUInt64BE());
  };
  const base = await next(1, 8);
  await next(2, 4);
  return { base, units: (await next(8, 4)) ?? units, bytes: (await next(0x10, 4)) ?? bytes };
}

/** Reads `trun`: the samples of a fragment. `offset` is undefined if they follow those before. */
async function readRun(boxes: Boxes, box: Box, defaults: Track['defaults']) {
  const head = await boxes.content(box, 8);
  const [flags, samples] = [head.readUInt32BE(0), head.readUInt32BE(4)];
  const offset = (flags & 1) === 0 ? undefined : (await boxes.content(box, 4, 8)).readInt32BE();
  const at = 8 + (flags & 1 ? 4 : 0) + (flags & 4 ? 4 : 0);
  const fields = [0x100, 0x200, 0x400, 0x800].filter((flag) => (flags & flag) !== 0);
  if (at + samples * fields.length * 4 > box.end - box.from)
    throw new ClipProblem('it is damaged: a fragment has fewer samples than it says');
  const [time, size] = [fields.indexOf(0x100), fields.indexOf(0x200)];
  let units = time === -1 ? samples * defaults.units : 0;
  let bytes = size === -1 ? samples * defaults.bytes : 0;
  if (time !== -1 || size !== -1)
    for (let i = 0; i < samples; i += 1) {
      const entry = await boxes.content(box, fields.length * 4, at + i * fields.length * 4);
      if (time !== -1) units += entry.readUInt32BE(time * 4);
      if (size !== -1) bytes += entry.readUInt32BE(size * 4);
    }
  return { offset, samples, units, bytes };
}

function factsOf(
  { tracks, durationMs }: Movie,
  isFragmented: boolean,
): { width: number; height: number } & ClipFacts {
  const video = tracks.filter(({ handler }) => handler === 'vide');
  const sound = tracks.filter(({ handler }) => handler === 'soun');
  const shown = [...video, ...sound];
  if (!shown.some(({ samples }) => samples > 0)) throw new ClipProblem('it is cut: it has no frame');
  const [first] = video;
  const longest = Math.max(...shown.map(({ units, timescale }) => (units / timescale) * 1000));
  const ms = Math.round(isFragmented || durationMs === 0 ? longest : durationMs);
  const { width = 0, height = 0, isTurned = false, samples = 0, units = 0, timescale = 0 } = first ?? {};
  return {
    width: isTurned ? height : width,
    height: isTurned ? width : height,
    ...(ms > 0 && { durationMs: ms }),
    ...(units > 0 && { frameRate: Math.round((samples * timescale * 1000) / units) / 1000 }),
    codecs: [...new Set(shown.map(({ codec }) => codec))],
  };
}
