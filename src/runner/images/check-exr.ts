/** Checks an OpenEXR file: its header, and that every block its offset table names is there as a whole. */

const magic = 0x01312f76;
/** Deep samples (0x800) are no picture. */
const flags = { tiled: 0x200, long: 0x400, multipart: 0x1000 };
const maxNameBytes = 255;
const startBytes = 8;

/** One of the pictures in the file; most have one. */
interface Part {
  width: number;
  height: number;
  isTiled: boolean;
}

class Problem extends Error {}

export function checkExr(exr: Buffer): { width: number; height: number } | { problem: string } {
  if (exr.length < startBytes || exr.readUInt32LE(0) !== magic)
    return { problem: 'it is no EXR: its first bytes are others' };
  const version = exr.readUInt32LE(4);
  if ((version & ~(flags.tiled | flags.long | flags.multipart)) !== 2)
    return { problem: 'it is an EXR of an unknown version, or deep' };
  try {
    const { parts, end } = readParts(exr, version);
    checkTable(exr, end, parts, (version & flags.multipart) !== 0);
    const { width, height } = parts[0] ?? { width: 0, height: 0 };
    return { width, height };
  } catch (error) {
    // Reading beyond the end.
    if (error instanceof RangeError) return { problem: 'it is cut: its header or offset table is not whole' };
    if (error instanceof Problem) return { problem: error.message };
    throw error;
  }
}

function readParts(exr: Buffer, version: number): { parts: Part[]; end: number } {
  const first = readPart(exr, startBytes, version);
  const parts = [first.part];
  let { end } = first;
  if ((version & flags.multipart) === 0) return { parts, end };
  // A further end mark is the end of all headers.
  while (exr.readUInt8(end) !== 0) {
    const next = readPart(exr, end, version);
    parts.push(next.part);
    end = next.end;
  }
  return { parts, end: end + 1 };
}

function readPart(exr: Buffer, from: number, version: number): { part: Part; end: number } {
  const attributes = new Map<string, Buffer>();
  let at = from;
  const text = (): string => {
    const end = exr.indexOf(0, at);
    if (end === -1 || end - at > maxNameBytes) throw new Problem('it is cut or damaged: its header is torn');
    const read = exr.toString('latin1', at, end);
    at = end + 1;
    return read;
  };
  for (let name = text(); name !== ''; name = text()) {
    text();
    const size = exr.readUInt32LE(at);
    if (size > exr.length - at) throw new Problem(`it is cut: ${name} of its header is not whole`);
    attributes.set(name, exr.subarray(at + 4, at + 4 + size));
    at += 4 + size;
  }
  const box = attributes.get('dataWindow');
  if (box?.length !== 16 || !attributes.has('channels'))
    throw new Problem('it is damaged: its header has no dataWindow or no channels');
  const width = box.readInt32LE(8) - box.readInt32LE(0) + 1;
  const height = box.readInt32LE(12) - box.readInt32LE(4) + 1;
  if (width < 1 || height < 1) throw new Problem(`it is damaged: its size is ${width}×${height}`);
  const isTiled = attributes.get('type')?.includes('tile') ?? (version & flags.tiled) !== 0;
  return { part: { width, height, isTiled }, end: at };
}

/** The table ends where the first of the blocks begins, whichever entry that is; each block has its place and its size first. */
function checkTable(exr: Buffer, start: number, parts: Part[], isMultipart: boolean): void {
  let end = exr.length;
  for (let at = start; at < end; at += 8) {
    const offset = Number(exr.readBigUInt64LE(at));
    if (offset < at + 8) throw new Problem('it was not finished: its offset table has gaps');
    if (offset >= exr.length) throw new Problem('it is cut: a block is not in the file');
    const part = parts[isMultipart ? exr.readInt32LE(offset) : 0];
    if (part === undefined) throw new Problem('it is damaged: a block is of no part');
    const place = offset + (isMultipart ? 4 : 0);
    const size = place + (part.isTiled ? 16 : 4);
    if (size + 4 + exr.readUInt32LE(size) > exr.length) throw new Problem('it is cut: a block is not whole');
    end = Math.min(end, offset);
  }
  if (end === exr.length) throw new Problem('it is cut: it has no block');
}
