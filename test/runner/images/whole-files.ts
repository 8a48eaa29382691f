/** Provides a valid file of each kind that `output.files` supports. */
import { noise } from './pictures.ts';

/** Two arrays, written by `numpy.savez` of NumPy 2.4. */
export const npz = Buffer.from(
  'UEsDBC0AAAAAAAAAIQAtbyIm//////////8JABQAZGVwdGgubnB5AQAQALAAAAAAAAAAsAAAAAAAAACTTlVNUFkBAHYAeydkZXNjcic6ICc8ZjQnLCAnZm9ydHJhbl9vcmRlcic6IEZhbHNlLCAnc2hhcGUnOiAoMywgNCksIH0gICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgCgAAAAAAAIA/AAAAQAAAQEAAAIBAAACgQAAAwEAAAOBAAAAAQQAAEEEAACBBAAAwQVBLAwQtAAAAAAAAACEAFeuOtv//////////BwAUAGlkcy5ucHkBABAAkAAAAAAAAACQAAAAAAAAAJNOVU1QWQEAdgB7J2Rlc2NyJzogJzxpOCcsICdmb3J0cmFuX29yZGVyJzogRmFsc2UsICdzaGFwZSc6ICgyLCksIH0gICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAKAQAAAAAAAAAAAAAAAAAAEFBLAQItAy0AAAAAAAAAIQAtbyImsAAAALAAAAAJAAAAAAAAAAAAAACAAQAAAABkZXB0aC5ucHlQSwECLQMtAAAAAAAAACEAFeuOtpAAAACQAAAABwAAAAAAAAAAAAAAgAHrAAAAaWRzLm5weVBLBQYAAAAAAgACAGwAAAC0AQAAAAA=',
  'base64',
);

/** One array, written by `numpy.savez_compressed`. */
export const packedNpz = Buffer.from(
  'UEsDBC0AAAAIAAAAIQCw9RYq//////////8JABQAZGVwdGgubnB5AQAQAIBAAAAAAAAAcwAAAAAAAADtyCEOwkAAAMFiecW5g6SyqSBoHKQGgSINvQZBKLkSDOEVfJjyBQxmxu2+d/ttc5gVj+IZuzSeclyFuO6rWIbYD/me2+txyF36/k17GdP0x3N7S1Mv6qoMdbUswyv8aF4AAAAAAAAAAAAAAAAAAAAAf/cBUEsBAi0DLQAAAAgAAAAhALD1FipzAAAAgEAAAAkAAAAAAAAAAAAAAIABAAAAAGRlcHRoLm5weVBLBQYAAAAAAQABADcAAACuAAAAAAA=',
  'base64',
);

const text = (...words: string[]): Buffer => Buffer.from(words.map((word) => `${word}\0`).join(''), 'latin1');
const int32 = (...numbers: number[]): Buffer => Buffer.from(Int32Array.from(numbers).buffer);
const attribute = (name: string, type: string, value: Uint8Array): Buffer =>
  Buffer.concat([text(name, type), int32(value.length), value]);

interface ExrOptions {
  /** True for ZIP compression in blocks of 16 lines. Otherwise each line is stored uncompressed. */
  isPacked?: boolean;
  /**
   * Square tiles with sides of `side` pixels. `hasLevels` adds mipmap levels, each half the size of the one
   * before.
   */
  tiles?: { side: number; hasLevels: boolean };
  /** Number of pictures in the file. */
  parts?: number;
}

/**
 * Returns an EXR with a depth channel. Its data need not decompress, because the check does not decompress
 * it.
 */
export function exr(width = 40, height = 20, { isPacked = true, tiles, parts = 1 }: ExrOptions = {}): Buffer {
  const blocks = tiles === undefined ? linesOf(height, isPacked ? 16 : 1) : tilesOf(width, height, tiles);
  const isMultipart = parts > 1;
  const box = int32(0, 0, width - 1, height - 1);
  const header = Buffer.concat([
    attribute('channels', 'chlist', Buffer.concat([text('Z'), int32(2, 0, 1, 1), Buffer.alloc(1)])),
    attribute('compression', 'compression', Buffer.of(isPacked ? 3 : 0)),
    attribute('dataWindow', 'box2i', box),
    attribute('displayWindow', 'box2i', box),
    ...(isMultipart ? [attribute('chunkCount', 'int', int32(blocks.length))] : []),
    ...(isMultipart ? [attribute('type', 'string', Buffer.from('scanlineimage'))] : []),
    ...(tiles
      ? [
          attribute(
            'tiles',
            'tiledesc',
            Buffer.from([...int32(tiles.side, tiles.side), Number(tiles.hasLevels)]),
          ),
        ]
      : []),
    Buffer.alloc(1),
  ]);
  const version = 2 + (tiles ? 0x200 : 0) + (isMultipart ? 0x1000 : 0);
  const headers = [int32(0x01312f76, version), ...Array<Buffer>(parts).fill(header)];
  const head = Buffer.concat([...headers, ...(isMultipart ? [Buffer.alloc(1)] : [])]);
  const data = Array.from({ length: parts }, (_, part) =>
    blocks.map((place) =>
      Buffer.concat([...(isMultipart ? [int32(part)] : []), int32(...place, 24), Buffer.alloc(24, 7)]),
    ),
  ).flat();
  const table = Buffer.alloc(8 * data.length);
  let at = head.length + table.length;
  for (const [i, block] of data.entries()) {
    table.writeBigUInt64LE(BigInt(at), 8 * i);
    at += block.length;
  }
  return Buffer.concat([head, table, ...data]);
}

function linesOf(height: number, lines: number): number[][] {
  return Array.from({ length: Math.ceil(height / lines) }, (_, i) => [i * lines]);
}

/** Returns `[x, y, level, level]` of every tile. The last mipmap level is a single pixel. */
function tilesOf(
  width: number,
  height: number,
  { side, hasLevels }: { side: number; hasLevels: boolean },
): number[][] {
  const places: number[][] = [];
  for (
    let level = 0, [w, h] = [width, height];
    ;
    level++, [w, h] = [Math.max(1, w >> 1), Math.max(1, h >> 1)]
  ) {
    for (let y = 0; y * side < h; y++) for (let x = 0; x * side < w; x++) places.push([x, y, level, level]);
    if (!hasLevels || Math.max(w, h) === 1) return places;
  }
}

/** Returns a GLB with one triangle. */
export function glb(): Buffer {
  const positions = Buffer.from(Float32Array.of(0, 0, 0, 1, 0, 0, 0, 1, 0).buffer);
  const json = {
    asset: { version: '2.0' },
    buffers: [{ byteLength: positions.length }],
    bufferViews: [{ buffer: 0, byteLength: positions.length }],
    accessors: [
      { bufferView: 0, componentType: 5126, count: 3, type: 'VEC3', max: [1, 1, 0], min: [0, 0, 0] },
    ],
    meshes: [{ primitives: [{ attributes: { POSITION: 0 } }] }],
  };
  return glbOf(JSON.stringify(json), positions);
}

export function glbOf(json: string, bin: Uint8Array): Buffer {
  const padded = Buffer.from(json.padEnd(Math.ceil(json.length / 4) * 4));
  const body = [chunkOf('JSON', padded), chunkOf('BIN\0', bin)];
  const head = Buffer.alloc(12);
  head.write('glTF', 'latin1');
  head.writeUInt32LE(2, 4);
  head.writeUInt32LE(12 + Buffer.concat(body).length, 8);
  return Buffer.concat([head, ...body]);
}

function chunkOf(type: string, data: Uint8Array): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32LE(data.length);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, data]);
}

/** Returns a PNG with 16 bits per pixel, which is usual for masks. */
export async function mask(width = 24, height = 16): Promise<Buffer> {
  return noise(width, height).greyscale().toColourspace('grey16').png().toBuffer();
}

export const camera = Buffer.from('{"matrix": [[1.0, 0.0], [0.0, 1.0]], "id": 12345678901234567890}');
