/** Reads the boxes of an MP4 or MOV (ISO/IEC 14496-12), and the tables of samples inside them. */
import { ClipProblem, type ClipReader } from './byte-source.ts';

export interface Box {
  type: string;
  at: number;
  /** Offset of the content. */
  from: number;
  end: number;
  /** True if the box states no size, and so ends with the file. */
  isOpen: boolean;
}

/** Boxes of a file. All methods throw `ClipProblem` if a box is cut or damaged. */
export class Boxes {
  readonly #reader: ClipReader;

  /** Size of the file in bytes. */
  readonly length: number;

  constructor(reader: ClipReader) {
    this.#reader = reader;
    this.length = reader.length;
  }

  /** Reads the boxes of the file up to its end, after which only fill may follow. */
  async *all(): AsyncGenerator<Box> {
    for (let at = 0; at < this.length;) {
      if (at > 0 && (await this.#reader.isFill(at))) return;
      const box = await readBox(this.#reader, at, this.length, true);
      yield box;
      at = box.end;
    }
  }

  /** Reads the boxes inside a box. QuickTime ends some lists of boxes with four zero bytes. */
  async *inside(box: Box): AsyncGenerator<Box> {
    for (let at = box.from; at < box.end;) {
      if (box.end - at === 4 && (await this.#reader.bytes(at, 4)).readUInt32BE() === 0) return;
      const child = await readBox(this.#reader, at, box.end);
      if (isDamagedName(child.type, box.type))
        throw new ClipProblem(`it is damaged: no known box begins at byte ${at.toLocaleString('en')}`);
      yield child;
      at = child.end;
    }
  }

  /** Returns the first bytes of a box, after `skipped` bytes of its content. */
  async content({ from, end }: Box, length: number, skipped = 0): Promise<Buffer> {
    if (end - from < skipped + length)
      throw new ClipProblem(`it is damaged: the box at byte ${from - 8} is too short`);
    return this.#reader.bytes(from + skipped, length);
  }

  /** Returns the type of the first codec in `stsd`, and the bytes of its entry: at most 512. */
  async codec({ from, end }: Box): Promise<{ type: string; entry: Buffer }> {
    const { type, at, end: entryEnd } = await readBox(this.#reader, from + 8, end);
    return { type, entry: await this.#reader.bytes(at, Math.min(512, entryEnd - at)) };
  }

  /**
   * Reads the tables of a track, by type, and compares them. Calls `onChunk` with the offsets of each chunk of samples.
   * Returns the number of samples, and their duration in the track's units of time.
   */
  async samples(
    tables: Map<string, Box>,
    onChunk: (from: number, end: number) => void,
  ): Promise<{ samples: number; units: number }> {
    const sizes = tables.get('stsz') ?? tables.get('stz2');
    const [runs, times] = [tables.get('stsc'), tables.get('stts')];
    const places = tables.get('stco') ?? tables.get('co64');
    if (!sizes || !runs || !times || !places)
      throw new ClipProblem('it is damaged: a track lacks a table of its samples');
    // Only the number of samples is read of a packed table (stz2), which hardly any program writes.
    const isPacked = sizes.type === 'stz2';
    const sizeOfAll = isPacked ? 0 : (await this.content(sizes, 12)).readUInt32BE(4);
    const isEach = !isPacked && sizeOfAll === 0;
    const table = await Table.open(this.#reader, sizes, isEach ? 4 : 0, 12);
    const sizeOf = async (samples: number): Promise<number> =>
      isEach ? table.sum(samples) : samples * sizeOfAll;
    const chunks = { runs, places, limit: table.count, sizeOf };
    if ((await readChunks(this.#reader, chunks, onChunk)) !== table.count) throw disagreement();
    return { samples: table.count, units: await unitsOf(this.#reader, times, table.count) };
  }
}

/** Reads the header of the box at this offset. `limit`: end of the box around it, or of the file (`isTop`). */
async function readBox(reader: ClipReader, at: number, limit: number, isTop = false): Promise<Box> {
  reader.countPart();
  if (limit - at < 8) throw torn(at, isTop);
  const head = await reader.bytes(at, 8);
  const [short, type] = [head.readUInt32BE(0), head.toString('latin1', 4)];
  if (!/^[\x20-\x7e\xa9]{4}$/.test(type))
    throw new ClipProblem(`it is damaged: no box begins at byte ${at.toLocaleString('en')}`);
  const headBytes = short === 1 ? 16 : 8;
  if (short === 1 && limit - at < 16) throw torn(at, isTop);
  const isOpen = short === 0 && isTop;
  const long = short === 1 ? Number((await reader.bytes(at + 8, 8)).readBigUInt64BE()) : short;
  const bytes = isOpen ? limit - at : long;
  if (bytes < headBytes) throw new ClipProblem(`it is damaged: the size of its box ${type} is wrong`);
  if (bytes <= limit - at) return { type, at, from: at + headBytes, end: at + bytes, isOpen };
  const there = `${(limit - at).toLocaleString('en')} of its ${bytes.toLocaleString('en')} bytes`;
  throw new ClipProblem(
    isTop
      ? `it is cut: its box ${type} has ${there}`
      : `it is damaged: its box ${type} is longer than the box around it`,
  );
}

function torn(at: number, isTop: boolean): ClipProblem {
  const what = `the box at byte ${at.toLocaleString('en')} is torn`;
  return new ClipProblem(isTop ? `it is cut: ${what}` : `it is damaged: ${what}`);
}

/** Boxes that a clip needs, by the box around them. Without one of several tracks or runs, the rest would pass. */
const needed: Record<string, readonly string[]> = {
  moov: ['mvhd', 'trak', 'mvex'],
  mvex: ['trex'],
  moof: ['traf'],
  traf: ['tfhd', 'trun'],
};

/** True if this name is one bit from that of a needed box, or a needed box is where it does not belong. */
function isDamagedName(name: string, around: string): boolean {
  const wanted = needed[around] ?? [];
  // `trep` is a name of its own, one bit from `trex`.
  if (wanted.includes(name) || name === 'trep') return false;
  const number = Buffer.from(name, 'latin1').readUInt32BE();
  const isNear = wanted.some((other) => {
    const bits = number ^ Buffer.from(other, 'latin1').readUInt32BE();
    return (bits & (bits - 1)) === 0;
  });
  return isNear || Object.values(needed).some((names) => names.includes(name));
}

/** Numbers of a table, each read once, forward. */
class Table {
  readonly #reader: ClipReader;
  #at: number;
  readonly #end: number;
  readonly count: number;

  private constructor(reader: ClipReader, at: number, count: number, width: number) {
    this.#reader = reader.beside();
    this.#at = at;
    this.#end = at + count * width;
    this.count = count;
  }

  /** `header`: bytes before the entries, of which the last four are their number. */
  static async open(reader: ClipReader, box: Box, width: number, header = 8): Promise<Table> {
    if (box.end - box.from < header)
      throw new ClipProblem(`it is damaged: the box at byte ${box.from - 8} is too short`);
    const count = (await reader.bytes(box.from, header)).readUInt32BE(header - 4);
    const table = new Table(reader, box.from + header, count, width);
    if (table.#end > box.end)
      throw new ClipProblem(`it is damaged: its table ${box.type} is shorter than it says`);
    return table;
  }

  async next(width: 4 | 8 = 4): Promise<number> {
    const bytes = await this.#reader.bytes(this.#at, width);
    this.#at += width;
    return width === 4 ? bytes.readUInt32BE() : Number(bytes.readBigUInt64BE());
  }

  /** Returns the sum of the next numbers. */
  async sum(count: number): Promise<number> {
    let [sum, left] = [0, count];
    while (left > 0) {
      const some = Math.min(left, 16_384);
      const bytes = await this.#reader.bytes(this.#at, some * 4);
      for (let at = 0; at < bytes.length; at += 4) sum += bytes.readUInt32BE(at);
      this.#at += some * 4;
      left -= some;
    }
    return sum;
  }
}

function disagreement(): ClipProblem {
  return new ClipProblem('it is damaged: the tables of its samples do not agree');
}

interface Chunks {
  runs: Box;
  places: Box;
  /** Number of samples that have a size. */
  limit: number;
  sizeOf: (samples: number) => Promise<number>;
}

/** Returns the number of samples in all chunks. */
async function readChunks(
  reader: ClipReader,
  { limit, sizeOf, ...chunks }: Chunks,
  onChunk: (from: number, end: number) => void,
): Promise<number> {
  const width = chunks.places.type === 'co64' ? 8 : 4;
  const places = await Table.open(reader, chunks.places, width);
  const runs = await Table.open(reader, chunks.runs, 12);
  let left = runs.count;
  const nextRun = async () => {
    if (left === 0) return undefined;
    left -= 1;
    const [first, samples] = [await runs.next(), await runs.next()];
    await runs.next();
    return { first, samples };
  };
  let run = await nextRun();
  let following = await nextRun();
  if (places.count > 0 && run?.first !== 1) throw disagreement();
  let samples = 0;
  for (let chunk = 1; chunk <= places.count; chunk += 1) {
    if (following?.first === chunk) [run, following] = [following, await nextRun()];
    samples += run?.samples ?? 0;
    if (samples > limit) throw disagreement();
    const from = await places.next(width);
    onChunk(from, from + (await sizeOf(run?.samples ?? 0)));
  }
  return samples;
}

/** Returns the duration of all samples. */
async function unitsOf(reader: ClipReader, times: Box, samples: number): Promise<number> {
  const steps = await Table.open(reader, times, 8);
  let [timed, step, units] = [0, 0, 0];
  for (let i = 0; i < steps.count; i += 1) {
    const count = await steps.next();
    step = await steps.next();
    timed += count;
    units += count * step;
  }
  // Some programs state no duration of the last sample.
  if (timed + 1 === samples) return units + step;
  if (timed !== samples) throw disagreement();
  return units;
}
