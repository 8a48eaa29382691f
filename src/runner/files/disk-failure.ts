/** Recognizes failures of the disk in any error, and explains them to the user whose files are affected. */
import { constants } from 'node:os';
import { NotAFile } from '../../lib/files/temporary-files.ts';
import { Sqlite } from '../../lib/sqlite/database.ts';
import { FatalFailure } from '../core/failure.ts';

interface Meaning {
  cause: string;
  remedy: string;
}

const makeWritable = 'give this user write access to it, or choose another output.dir';
const moveAway = 'move that file or folder away, or change output.dir or output.name';

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
  ENFILE: { cause: 'the machine has too many files open', remedy: 'close the programs that hold them open' },
  EIO: { cause: 'the disk reports an error', remedy: 'check the disk' },
  ENAMETOOLONG: {
    cause: 'the name is too long for this file system',
    remedy: 'choose a shorter output.dir or output.name',
  },
  EILSEQ: { cause: 'the file system does not take these characters', remedy: 'change output.name' },
  EFBIG: { cause: 'the file is too large for this file system', remedy: 'choose another output.dir' },
  ESTALE: { cause: 'the network folder is gone', remedy: 'connect it again' },
  ENODEV: { cause: 'the disk is gone', remedy: 'connect it again' },
  ENXIO: { cause: 'the disk is gone', remedy: 'connect it again' },
};

/** Runs `work` on a file. Errors of the operating system become `FatalFailure`; bugs stay errors. */
export async function withDiskFailure<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isSystemError(error)) throw diskFailure(file, error);
    throw asDiskFailure(error, file) ?? error;
  }
}

/** Converts an error of the disk. Undefined for any other error. `file` describes what is affected, for people. */
export function asDiskFailure(error: unknown, file: string): FatalFailure | undefined {
  if (error instanceof NotAFile) return unwritable(`${error.message}; move it away`);
  if (isOfDisk(error) && isSystemError(error)) return diskFailure(file, error);
  if (!isOfDisk(error)) return undefined;
  if (error.code === 'SQLITE_FULL')
    return unwritable(`the disk is full, and ${file} cannot be written; free some space`);
  const limit =
    error.code === 'SQLITE_CANTOPEN' ? ', and whether too many files are open (EMFILE; see ulimit -n)' : '';
  const said = `${file} cannot be read or written (${error.message}, ${error.code})`;
  return unwritable(`${said}; check the disk and the output folder${limit}`);
}

/** Converts an error of the operating system. The message names `file` and not the path in the error. */
export function diskFailure(file: string, error: SystemError): FatalFailure {
  const code = codeOf(error);
  const { cause, remedy } = meanings[code] ?? {
    cause: 'the operating system refuses',
    remedy: 'remove the cause',
  };
  return unwritable(`cannot ${verbOf(error.syscall, code)} ${file}: ${cause} (${code}); ${remedy}`);
}

function unwritable(text: string): FatalFailure {
  return new FatalFailure({ kind: 'output-unwritable', text: `${text}, then give the same command again` });
}

/** Returns the cause of an error code in words. Undefined for an unknown code. */
export function causeOf(code: string): string | undefined {
  return meanings[code]?.cause;
}

type SystemError = NodeJS.ErrnoException & { code: string };

export function isSystemError(error: unknown): error is SystemError {
  return error instanceof Error && 'syscall' in error && 'code' in error && typeof error.code === 'string';
}

/** True for a failed call on files or an error of SQLite, not for connections and processes. */
export function isOfDisk(error: unknown): error is Error & { code: string } {
  if (isSystemError(error)) return fileCalls.test(error.syscall ?? '') && !isOfConnection(error);
  return (
    error instanceof Sqlite.SqliteError &&
    /^SQLITE_(FULL|IOERR|READONLY|CANTOPEN|PERM|PROTOCOL|NOLFS)/.test(error.code)
  );
}

const reading = /^(read|scandir|opendir|[lf]?stat|statfs|readlink|realpath|access)$/;
const fileCalls =
  /^(open|close|read|write|fsync|fdatasync|ftruncate|rename|unlink|mkdir|mkdtemp|rmdir|rm|scandir|opendir|[lf]?stat|statfs|readlink|realpath|access|f?chmod|copyfile|link|symlink|[lf]?utime)$/;

/** True for calls on a connection. On network folders, the same codes have a path or another call. */
function isOfConnection({ syscall = '', path, code }: SystemError): boolean {
  if (code === 'EBADF') return true;
  const isCode = /^E(CONN\w+|PIPE|NOTCONN|TIMEDOUT|HOST\w+|NET\w+)$/.test(code);
  return isCode && path === undefined && /^(read|write|close)$/.test(syscall);
}

function verbOf(syscall: string | undefined, code: string): string {
  if (syscall === undefined) return 'write';
  if (reading.test(syscall)) return 'read';
  // If a file cannot be created, the message is about its name or folder.
  return syscall === 'open' && /^E(IO|STALE|NODEV|NXIO|MFILE|NFILE)$/.test(code) ? 'open' : 'write';
}

/** Returns the name of the error. Node lacks some names, such as those for quotas and network folders. */
function codeOf({ errno, code }: SystemError): string {
  const names = Object.entries(constants.errno);
  return names.find(([, number]) => number === -(errno ?? 0))?.[0] ?? code;
}
