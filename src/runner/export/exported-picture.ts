/** A saved picture as an export has it: what is told of it, and its bytes, checked as they are read. */
import { hash } from 'node:crypto';
import type { JsonObject } from '../../lib/text/json.ts';
import type { SavedPicture } from '../core/picture.ts';
import type { Verdict } from '../core/verification.ts';

/** If a copy is exported, `file` is the copy, and `bytes` and `sha256` are those of the picture on record. */
export type ExportedPicture = Pick<SavedPicture, 'file' | 'width' | 'height' | 'bytes' | 'sha256'> & {
  /** Unique within the batch: that of its scene; the second picture of a scene gets `.2`, and so on. */
  id: string;
  scene: string;
  /** Where the batch has it, for people: `images/a.png`, `s3://bucket/images/a.png`. */
  path: string;
  prompt: string;
  /** In the service's digits. */
  seed: string | null;
  endpoint: string | null;
  attempts: number;
  /** Its share of what its job costs; null where that is unknown. */
  cost: number | null;
  /** Both have the same names in every picture. */
  columns: JsonObject;
  values: JsonObject;
  caption: string;
};

export interface ExportPorts {
  /** Undefined where it is not there. */
  read: (picture: ExportedPicture) => Promise<Buffer | undefined>;
  /** Makes a file of it at `to`; false where it is not there. */
  fetch: (picture: ExportedPicture, to: string) => Promise<boolean>;
  /** Whether what is read is a copy, of which no sha256 is on record. */
  isCopy: boolean;
  onBad: (picture: ExportedPicture, verdict: Exclude<Verdict, { kind: 'good' }>) => void;
  /** So many more pictures are done: `written` of them now, the others by an earlier export. */
  onDone: (pictures: number, written: number, bytes: number) => void;
}

const ownNames = new Set(['file_name', 'id', 'prompt', 'seed']);

/** What metadata say of it, in order. A column with one of our names is `manifest.` and its name, as in results.csv. */
export function recordOf({ id, prompt, seed, columns, values }: ExportedPicture): JsonObject {
  const named = Object.entries({ ...columns, ...values }).filter(([name]) => name !== 'id');
  const renamed = named.map(([name, value]) => [ownNames.has(name) ? `manifest.${name}` : name, value]);
  return { id, prompt, seed, ...(Object.fromEntries(renamed) as JsonObject) };
}

/** Read at once: as many as keep a disk or a bucket busy, as few as fit into memory. */
export const mostAtOnce = 32;
const mostBytesAtOnce = 16_000_000;

/** In their order; those that are not as they were saved are told of and left out. */
export async function* readChecked(
  pictures: Iterable<ExportedPicture>,
  ports: ExportPorts,
): AsyncGenerator<{ picture: ExportedPicture; content: Buffer }> {
  for (const some of groupsOf(pictures, mostAtOnce, mostBytesAtOnce)) {
    const contents = await Promise.all(some.map((picture) => ports.read(picture)));
    for (const [index, picture] of some.entries()) {
      const content = contents[index];
      const verdict = verdictOn(picture, content, ports.isCopy);
      if (verdict.kind !== 'good') ports.onBad(picture, verdict);
      else if (content !== undefined) yield { picture, content };
    }
  }
}

export function verdictOn(
  { sha256 }: ExportedPicture,
  content: Buffer | undefined,
  isCopy: boolean,
): Verdict {
  if (content === undefined) return { kind: 'missing' };
  if (isCopy ? content.length > 0 : isOf(content, sha256)) return { kind: 'good' };
  const problem = isCopy ? 'it is empty' : 'its bytes are not those that were saved (sha256)';
  return { kind: 'damaged', problem };
}

export function isOf(content: Buffer, sha256: string): boolean {
  return hash('sha256', content) === sha256;
}

/** Each has at most so many, and no more bytes than these unless it is a single one. */
export function* groupsOf(
  pictures: Iterable<ExportedPicture>,
  most: number,
  mostBytes = Infinity,
): Generator<ExportedPicture[]> {
  let group: ExportedPicture[] = [];
  let bytes = 0;
  for (const picture of pictures) {
    if (group.length === most || (group.length > 0 && bytes + picture.bytes > mostBytes)) {
      yield group;
      [group, bytes] = [[], 0];
    }
    group.push(picture);
    bytes += picture.bytes;
  }
  if (group.length > 0) yield group;
}
