/**
 * A host of one large file whose bytes are generated while they are sent. Its connections break, and it may answer
 * ranges wrongly.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { headOf, type ReceivedRequest, type ScriptedServer, scriptedServer } from './scripted-server.ts';

export interface RangeHost extends ScriptedServer {
  /** URL of the file. */
  clip: string;
  /** Returns the number of bytes of the file that were sent in all. */
  sent(): number;
}

export interface RangeFile {
  bytes: number;
  /** Distinguishes files of the same size. */
  mark?: string;
  headers?: Record<string, string>;
  /** Returns the number of bytes after which the connection of the nth answer (from 1) breaks. */
  breaksAfter?: (nth: number) => number | undefined;
  /** True if ranges are answered. Defaults to true. */
  takesRanges?: boolean;
  /** Changes the head of the nth answer. */
  change?: (head: { status: number; headers: Record<string, string> }, nth: number) => void;
}

/** Starts the host. `file` is called for each request, so the file may change between requests. */
export async function rangeHost(file: (nth: number) => RangeFile): Promise<RangeHost> {
  let answers = 0;
  let sent = 0;
  const serve = async (socket: Socket, { headers }: ReceivedRequest): Promise<void> => {
    answers += 1;
    const { bytes, mark = '', breaksAfter, takesRanges = true, change, ...rest } = file(answers);
    const nth = answers;
    const own = rest.headers ?? { ETag: `"${mark}"` };
    const from = Number(/^bytes=(\d+)-$/.exec(headers['range'] ?? '')?.[1] ?? -1);
    const isSame = [own['ETag'], own['Last-Modified']].includes(headers['if-range'] ?? '');
    const at = takesRanges && from >= 0 && isSame ? from : 0;
    const head = {
      status: at > 0 ? 206 : 200,
      headers: {
        'Content-Length': String(bytes - at),
        ...own,
        ...(at > 0 && { 'Content-Range': `bytes ${at}-${bytes - 1}/${bytes}` }),
      },
    };
    change?.(head, nth);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(headOf(head.status, head.headers));
    const end = Math.min(bytes, at + (breaksAfter?.(nth) ?? Infinity));
    for (let position = at; position < end && !socket.destroyed;) {
      const part = partAt(mark, position, Math.min(end, position + partBytes));
      position += part.length;
      sent += part.length;
      if (!socket.write(part)) await Promise.race([once(socket, 'drain'), closed]);
    }
    if (end < bytes) socket.end();
  };
  const server = await scriptedServer(
    (socket, request) => void serve(socket, request).catch(() => undefined),
  );
  return { ...server, clip: `${server.url}/a/clip.mp4`, sent: () => sent };
}

const partBytes = 65_536;

/** Returns the bytes from `at` to `end`. They differ by position and by mark. */
function partAt(mark: string, at: number, end: number): Buffer {
  const block = Math.floor(at / partBytes);
  const whole = Buffer.alloc(partBytes, `${mark}:${block}:`);
  return whole.subarray(at - block * partBytes, Math.min(partBytes, end - block * partBytes));
}

export function digestOf({ bytes, mark = '' }: Pick<RangeFile, 'bytes' | 'mark'>): string {
  const hash = createHash('sha256');
  for (let at = 0; at < bytes; at += partBytes)
    hash.update(partAt(mark, at, Math.min(bytes, at + partBytes)));
  return hash.digest('hex');
}
