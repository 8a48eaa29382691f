/** What the operating system's refusals mean for someone whose files do not get onto the disk. */
import { FatalFailure } from '../core/failure.ts';

interface Meaning {
  cause: string;
  remedy: string;
}

const makeWritable = 'give this user write access to it, or choose another output.dir';
const moveAway = 'move what stands there away, or change output.dir or output.name';

const meanings: Record<string, Meaning> = {
  ENOSPC: { cause: 'the disk is full', remedy: 'free some space' },
  EDQUOT: { cause: 'the disk quota is used up', remedy: 'free some space or have the quota raised' },
  EROFS: { cause: 'the file system is read-only', remedy: 'make it writable, or choose another output.dir' },
  EACCES: { cause: 'permission is denied', remedy: makeWritable },
  EPERM: { cause: 'the operation is not permitted', remedy: makeWritable },
  ENOTDIR: { cause: 'a file stands where a folder is needed', remedy: moveAway },
  EEXIST: { cause: 'a file stands where a folder is needed', remedy: moveAway },
  EISDIR: { cause: 'a folder stands where the file belongs', remedy: moveAway },
  ENOTEMPTY: { cause: 'a folder stands where the file belongs', remedy: moveAway },
  ENOENT: { cause: 'its folder disappeared during the run', remedy: 'see what removes it' },
  EMFILE: {
    cause: 'this program has too many files open',
    remedy: 'raise the limit (ulimit -n) or lower the concurrency',
  },
  ENFILE: { cause: 'the machine has too many files open', remedy: 'close what holds them open' },
  EIO: { cause: 'the disk reports an error', remedy: 'check the disk' },
  ENAMETOOLONG: {
    cause: 'the name is too long for this file system',
    remedy: 'choose a shorter output.dir or output.name',
  },
  EILSEQ: { cause: 'the file system does not take these characters', remedy: 'change output.name' },
  EFBIG: { cause: 'the file is too large for this file system', remedy: 'choose another output.dir' },
  ESTALE: { cause: 'the network folder is gone', remedy: 'connect it again' },
};

/** Does `work` on the file; what the operating system refuses becomes `FatalFailure`, bugs stay errors. */
export async function withDiskFailure<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw diskFailure(file, error.code);
  }
}

export function diskFailure(file: string, code: string): FatalFailure {
  const { cause, remedy } = meanings[code] ?? {
    cause: 'the operating system refuses',
    remedy: 'remove the cause',
  };
  return new FatalFailure({
    kind: 'output-unwritable',
    text: `cannot write ${file}: ${cause} (${code}); ${remedy}, then start the run again`,
  });
}

/** Undefined for a code that is not known here. */
export function causeOf(code: string): string | undefined {
  return meanings[code]?.cause;
}

export function isSystemError(error: unknown): error is NodeJS.ErrnoException & { code: string } {
  return error instanceof Error && 'syscall' in error && 'code' in error && typeof error.code === 'string';
}
