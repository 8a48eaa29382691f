/** Small valid sound files of every format, made without an encoder. `clip` in `clips.ts` calls them. */
import type { Wanted } from './clips.ts';

const le32 = (...numbers: number[]): Buffer => Buffer.from(Uint32Array.from(numbers).buffer);
const le16 = (...numbers: number[]): Buffer => Buffer.from(Uint16Array.from(numbers).buffer);

export const chunk = (id: string, content: Buffer): Buffer =>
  Buffer.concat([Buffer.from(id), le32(content.length), content, Buffer.alloc(content.length % 2)]);

/** Returns a tone of 16 bits, 8 kHz, mono. */
export function wav({ seconds, mark, form }: Wanted, filling: number): Buffer {
  const rate = 8000;
  const tone = Int16Array.from({ length: Math.round(seconds * rate) }, (_, i) =>
    Math.round(8000 * Math.sin((i * 2 * Math.PI * 440) / rate)),
  );
  const chunks = Buffer.concat([
    Buffer.from('WAVE'),
    chunk('fmt ', Buffer.concat([le16(1, 1), le32(rate, rate * 2), le16(2, 16)])),
    chunk('LIST', Buffer.concat([Buffer.from('INFO'), chunk('INAM', Buffer.from(mark))])),
    ...(filling === 0 ? [] : [chunk('JUNK', Buffer.alloc(filling, mark))]),
    chunk('data', Buffer.from(tone.buffer)),
  ]);
  const isOpen = form === 'open';
  if (isOpen) chunks.writeUInt32LE(0xffffffff, chunks.length - tone.byteLength - 4);
  return Buffer.concat([Buffer.from('RIFF'), le32(isOpen ? 0xffffffff : chunks.length), chunks]);
}

/**
 * Returns silence in frames of 104 bytes: 44.1 kHz, mono, 32 kbit/s. A first frame (Info) states the number of frames.
 */
export function mp3({ seconds, mark, form }: Wanted, filling: number): Buffer {
  const frame = Buffer.alloc(104);
  frame.writeUInt32BE(0xfffb10c4);
  const count = Math.max(1, Math.round((seconds * 44_100) / 1152));
  const info = Buffer.from(frame);
  info.write('Info', 4 + 17);
  info.writeUInt32BE(3, 4 + 21);
  info.writeUInt32BE(count, 4 + 25);
  info.writeUInt32BE((count + 1) * frame.length, 4 + 29);
  const title = Buffer.concat([Buffer.of(3), Buffer.from(mark)]);
  const tag = Buffer.concat([
    Buffer.from('TIT2'),
    be32(title.length),
    Buffer.alloc(2),
    title,
    Buffer.alloc(filling),
  ]);
  const size = [21, 14, 7, 0].map((shift) => Math.floor(tag.length / 2 ** shift) % 128);
  return Buffer.concat([
    Buffer.from('ID3'),
    Buffer.of(3, 0, 0, ...size),
    tag,
    ...(form === 'open' ? [] : [info]),
    ...Array<Buffer>(count).fill(frame),
  ]);
}

function be32(n: number): Buffer {
  return le32(n).swap32();
}

/** Returns silence of 16 bits, 8 kHz, mono, in frames of 4096 samples. */
export function flac({ seconds, mark, form }: Wanted, filling: number): Buffer {
  const [rate, block] = [8000, 4096];
  const samples = Math.max(block, Math.round(seconds * rate));
  const info = Buffer.alloc(34);
  info.writeUInt16BE(block, 0);
  info.writeUInt16BE(block, 2);
  // 20 bits of sample rate, 3 of channels - 1, 5 of bits - 1, and 36 of samples.
  info.writeBigUInt64BE((BigInt(rate) << 44n) | (15n << 36n) | BigInt(form === 'open' ? 0 : samples), 10);
  const text = (words: string): Buffer => Buffer.concat([le32(Buffer.byteLength(words)), Buffer.from(words)]);
  const comment = Buffer.concat([text('test'), le32(1), text(`TITLE=${mark}`)]);
  const paddings: Buffer[] = [];
  for (let left = filling; left > 0; left -= 0xffffff)
    paddings.push(metadata(1, Buffer.alloc(Math.min(left, 0xffffff))));
  const blocks = [metadata(0, info), metadata(4, comment), ...paddings];
  const last = blocks.at(-1);
  if (last !== undefined) last[0] = (last[0] ?? 0) | 0x80;
  const frames = Array.from({ length: Math.ceil(samples / block) }, (_, i) => {
    const size = Math.min(block, samples - i * block);
    const head = Buffer.concat([
      Buffer.of(0xff, 0xf8, size === block ? 0xc0 : 0x70, 0x08),
      Buffer.from(String.fromCodePoint(i)),
      size === block ? Buffer.alloc(0) : le16(size - 1).swap16(),
    ]);
    const frame = Buffer.concat([head, Buffer.of(checksum(head, 8, 0x07)), Buffer.alloc(3)]);
    return Buffer.concat([frame, le16(checksum(frame, 16, 0x8005)).swap16()]);
  });
  return Buffer.concat([Buffer.from('fLaC'), ...blocks, ...frames]);
}

function metadata(type: number, content: Buffer): Buffer {
  return Buffer.concat([be32(content.length + type * 2 ** 24), content]);
}

/** Returns silence in Opus, mono, in packets of 20 ms. */
export function ogg({ seconds, mark, form }: Wanted, filling: number): Buffer {
  const head = Buffer.concat([
    Buffer.from('OpusHead'),
    Buffer.of(1, 1),
    le16(312),
    le32(48_000),
    Buffer.alloc(3),
  ]);
  const title = Buffer.concat([Buffer.from(`TITLE=${mark}`), Buffer.alloc(filling, '.')]);
  const tags = Buffer.concat([
    Buffer.from('OpusTags'),
    le32(4),
    Buffer.from('test'),
    le32(1, title.length),
    title,
  ]);
  const packets = Math.max(1, Math.round(seconds * 50));
  const pages = [page([head], 0, 0, 2), ...longPacket(tags, 1)];
  for (let done = 0; done < packets; done += 50) {
    const count = Math.min(50, packets - done);
    const isLast = done + count === packets && form !== 'open';
    const granule = 312 + (done + count) * 960;
    pages.push(
      page(Array<Buffer>(count).fill(Buffer.from('f8fffe', 'hex')), granule, pages.length, isLast ? 4 : 0),
    );
  }
  return Buffer.concat(pages);
}

/** Returns pages of at most 255 × 255 bytes that hold one packet. */
function longPacket(packet: Buffer, first: number): Buffer[] {
  const most = 255 * 255;
  const pages: Buffer[] = [];
  for (let at = 0; at <= packet.length; at += most) {
    const part = packet.subarray(at, at + most);
    const isContinued = at > 0 ? 1 : 0;
    // A packet that continues on the next page has no end on this page, so this page has no granule.
    const isEnded = part.length < most;
    pages.push(page([part], isEnded ? 0 : -1, first + pages.length, isContinued));
  }
  return pages;
}

/** Returns a page of Ogg with whole packets. `flags`: 2 for the first page of the stream, 4 for the last. */
export function page(packets: Buffer[], granule: number | bigint, number: number, flags: number): Buffer {
  const lacing = packets.flatMap(({ length }) => [
    ...Array<number>(Math.floor(length / 255)).fill(255),
    ...(length === 255 * 255 ? [] : [length % 255]),
  ]);
  const head = Buffer.alloc(27);
  head.write('OggS');
  head[5] = flags;
  head.writeBigInt64LE(BigInt(granule), 6);
  head.writeUInt32LE(7, 14);
  head.writeUInt32LE(number, 18);
  head[26] = lacing.length;
  const whole = Buffer.concat([head, Buffer.from(lacing), ...packets]);
  whole.writeUInt32LE(checksum(whole, 32, 0x04c11db7), 22);
  return whole;
}

/** Returns a CRC that processes the highest bit first, without inversions. */
function checksum(bytes: Buffer, width: 8 | 16 | 32, polynomial: number): number {
  let sum = 0;
  for (const each of bytes) {
    sum = (sum ^ (each << (width - 8))) >>> 0;
    for (let bit = 0; bit < 8; bit += 1) {
      const isHigh = Math.floor(sum / 2 ** (width - 1)) % 2 === 1;
      sum = ((((sum << 1) >>> 0) % 2 ** width) ^ (isHigh ? polynomial : 0)) >>> 0;
    }
  }
  return sum;
}
