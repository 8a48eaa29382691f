/** Checks an NPZ, a ZIP of NumPy arrays: every entry is there, unpacks to its checksum and begins as an array does. */
import { crc32, createInflateRaw } from 'node:zlib';
import { oneLine } from '../../lib/text/format.ts';

const endBytes = 22;
const maxCommentBytes = 65_535;
const entryBytes = 46;
const localBytes = 30;
/** What some bytes unpack to a thousandfold takes seconds to look through. */
const maxUnpacked = 4e9;

interface Entry {
  name: string;
  method: number;
  checksum: number;
  packed: number;
  unpacked: number;
  offset: number;
}

export async function checkNpz(npz: Buffer): Promise<{ problem: string } | Record<string, never>> {
  if (npz.toString('latin1', 0, 2) !== 'PK')
    return { problem: 'it is no NPZ: it does not begin as a ZIP does' };
  const end = endOf(npz);
  if (end === undefined) return { problem: 'it is cut: the end of its ZIP directory is missing' };
  const start = npz.readUInt32LE(end + 16);
  if (start + npz.readUInt32LE(end + 12) !== end)
    return { problem: 'it is damaged: its ZIP directory is not where its end says' };
  const entries = readEntries(npz.subarray(start, end));
  if (entries?.length !== npz.readUInt16LE(end + 10))
    return { problem: 'it is damaged: its ZIP directory is torn' };
  if (entries.length === 0) return { problem: 'it holds no array' };
  if (entries.reduce((sum, { unpacked }) => sum + unpacked, 0) > maxUnpacked)
    return { problem: 'its arrays have more than 4 GB unpacked' };
  for (const entry of entries) {
    const problem = await checkEntry(npz.subarray(0, start), entry);
    if (problem !== undefined) return { problem: `its array ${oneLine(entry.name, 60) ?? ''} ${problem}` };
  }
  return {};
}

/** Where the end mark of the directory is, which nothing but its own comment follows. */
function endOf(zip: Buffer): number | undefined {
  const last = zip.length - endBytes;
  for (let at = last; at >= Math.max(0, last - maxCommentBytes); at--)
    if (zip.readUInt32LE(at) === 0x06054b50 && zip.readUInt16LE(at + 20) === last - at) return at;
  return undefined;
}

/** Undefined where it is torn. */
function readEntries(directory: Buffer): Entry[] | undefined {
  const entries: Entry[] = [];
  for (let at = 0; at < directory.length;) {
    if (at + entryBytes > directory.length || directory.readUInt32LE(at) !== 0x02014b50) return undefined;
    const lengthAt = (offset: number): number => directory.readUInt16LE(at + offset);
    const name = lengthAt(28);
    entries.push({
      name: directory.toString('utf8', at + entryBytes, at + entryBytes + name),
      method: directory.readUInt16LE(at + 10),
      checksum: directory.readUInt32LE(at + 16),
      packed: directory.readUInt32LE(at + 20),
      unpacked: directory.readUInt32LE(at + 24),
      offset: directory.readUInt32LE(at + 42),
    });
    at += entryBytes + name + lengthAt(30) + lengthAt(32);
  }
  return entries;
}

/** What is wrong with it; `before` is what comes before the directory. */
async function checkEntry(before: Buffer, entry: Entry): Promise<string | undefined> {
  const { name, method, offset, packed } = entry;
  if (!name.endsWith('.npy')) return 'is no .npy';
  if (offset + localBytes > before.length || before.readUInt32LE(offset) !== 0x04034b50)
    return 'is not where the ZIP directory says';
  const start = offset + localBytes + before.readUInt16LE(offset + 26) + before.readUInt16LE(offset + 28);
  if (start + packed > before.length) return 'is cut';
  if (method !== 0 && method !== 8) return `is packed in a way (${method}) that NumPy does not use`;
  const data = before.subarray(start, start + packed);
  return method === 0 ? checkArray([data], entry) : checkUnpacked(data, entry);
}

async function checkUnpacked(data: Buffer, entry: Entry): Promise<string | undefined> {
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
  { checksum, unpacked }: Entry,
): Promise<string | undefined> {
  let [bytes, sum, isArray] = [0, 0, false];
  for await (const part of parts) {
    // The first part is never as short as that, save for the whole.
    if (bytes === 0) isArray = part.toString('latin1', 0, 6) === '\x93NUMPY';
    bytes += part.length;
    sum = crc32(part, sum);
    if (bytes > unpacked) return 'is damaged: it is longer than the ZIP directory says';
  }
  if (bytes !== unpacked || sum !== checksum) return 'is damaged: its checksum is wrong';
  return isArray ? undefined : 'does not begin as an array of NumPy does';
}
