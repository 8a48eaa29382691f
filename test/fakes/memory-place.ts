/** A place for pictures in memory, for tests of code that works with any place. */
import { hash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { FatalFailure } from '../../src/runner/core/failure.ts';
import type { Place } from '../../src/runner/images/place.ts';

/** Returns a place that keeps its files in `files`. A file can be overwritten, as in a folder. */
export function memoryPlace(files = new Map<string, Buffer>()): Place {
  const writtenAt = new Map<string, number>();
  let clock = 0;
  const set = (file: string, bytes: Buffer): void => {
    files.set(file, bytes);
    writtenAt.set(file, (clock += 1));
  };
  return {
    name: 'memory',
    isRemote: false,
    isNamedByAttempt: false,
    probe: (work) => work(),
    prepare: async () => undefined,
    read: async (file, part) => {
      const bytes = files.get(file);
      return part === undefined ? bytes : bytes?.subarray(part.at, part.at + part.length);
    },
    facts: async (file) => {
      const bytes = files.get(file);
      return (
        bytes && {
          kind: 'file',
          bytes: bytes.length,
          writtenAt: writtenAt.get(file) ?? 0,
          isOf: (sha256) => hash('sha256', bytes) === sha256,
        }
      );
    },
    put: async (file, source, { isFirst = false } = {}) => {
      if (isFirst && files.has(file)) return false;
      if ('read' in source) {
        const bytes = await source.read(0, source.length);
        if (bytes.length < source.length) throw new Error('the content changed');
        set(file, bytes);
      } else set(file, 'path' in source ? readFileSync(source.path) : Buffer.from(source));
      if ('path' in source && source.isMoved === true) rmSync(source.path);
      return true;
    },
    list: async function* (below = '') {
      for (const [name, { length: bytes }] of files) if (name.startsWith(below)) yield { name, bytes };
    },
    move: async (from, to, isReplacing = false) => {
      const bytes = files.get(from);
      if (bytes === undefined || from === to) return files.has(to);
      const text = `cannot rename ${from} to ${to}: another file has that name`;
      if (!isReplacing && files.get(to)?.equals(bytes) === false)
        throw new FatalFailure({ kind: 'output-unwritable', text });
      set(to, bytes);
      files.delete(from);
      return true;
    },
    makeLast: async () => undefined,
    remove: async (file) => void files.delete(file),
    fetch: async (file, to) => {
      const bytes = files.get(file);
      if (bytes !== undefined) writeFileSync(to, bytes, { flag: 'wx' });
      return bytes !== undefined;
    },
  };
}
