/** What a large answer to a status request means, read without making text of its pictures. */
import type { FoundPicture } from '../core/picture.ts';
import type { StatusReply } from '../pipeline/ports.ts';
import { textOf, type BytesAnswer } from './exchange.ts';
import { liftPictures } from './lift-pictures.ts';
import { smallBytes } from './memory.ts';
import { readStatusAnswer } from './read-status-answer.ts';

/**
 * As `readStatusAnswer` reads it, save that pictures come as bytes, which stand in the memory of the answer. Undefined
 * where it is small or anything but pictures in plain base64; it is then as it came.
 */
export function readLargeStatusAnswer(
  { status, headers, bytes }: BytesAnswer,
  jobId: string,
  imagePath: string | undefined,
): StatusReply | undefined {
  if (status < 200 || status > 299 || bytes.length <= smallBytes) return undefined;
  const lifted = liftPictures(bytes);
  if (lifted === undefined) return undefined;
  const { json, pictures, restore } = lifted;
  const reply = readStatusAnswer({ status, headers, body: textOf(json) }, jobId, imagePath);
  if (reply.kind === 'completed') return { ...reply, pictures: reply.pictures.map(inBytes(pictures)) };
  // What it says instead may quote or measure the long texts.
  restore();
  return undefined;
}

function inBytes(pictures: ReadonlyMap<string, Uint8Array>): (found: FoundPicture) => FoundPicture {
  return (found) => {
    const bytes = 'base64' in found ? pictures.get(found.base64) : undefined;
    if (bytes === undefined) return found;
    return { bytes, ...(found.seed !== undefined && { seed: found.seed }) };
  };
}
