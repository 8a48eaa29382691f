/** Certificate and key of an encrypted service, read anew when they are renewed. */
import { X509Certificate } from 'node:crypto';
import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import type { Server } from 'node:https';
import { createSecureContext } from 'node:tls';

/** Paths of PEM files; `cert` with the certificates of its issuers behind it. */
export interface TlsFiles {
  cert: string;
  key: string;
  /** False if browsers are not to be told to use HTTPS alone for its name. */
  hsts?: boolean;
}

type TlsFile = 'cert' | 'key';

export interface TlsPair {
  cert: Buffer;
  key: Buffer;
  /** That the certificate holds for, some perhaps with `*` for their first part. */
  names: string[];
  /** In words; undefined while the certificate holds. */
  problem: string | undefined;
}

/** A file that cannot be read, or is not what it should be; the message says what is expected instead. */
export class TlsProblem extends Error {
  readonly field: TlsFile;

  constructor(field: TlsFile, expected: string) {
    super(expected);
    this.field = field;
  }
}

/** `now`: epoch ms. Throws `TlsProblem`. */
export function readTls(files: TlsFiles, now: number): TlsPair {
  const cert = readPem(files, 'cert');
  const key = readPem(files, 'key');
  const certificate = tried('cert', 'a certificate in PEM', () => new X509Certificate(cert));
  tried('key', 'a private key in PEM, without a passphrase', () => createSecureContext({ key }));
  tried('key', 'the private key of the certificate in tls.cert', () => createSecureContext({ cert, key }));
  const isOver = new Date(certificate.validTo).getTime() < now;
  return {
    cert,
    key,
    names: [...(certificate.subjectAltName ?? '').matchAll(/(?<=^|, )DNS:([^,]+)/g)].map(
      ([, name = '']) => name,
    ),
    problem: isOver ? `the certificate in ${files.cert} ended on ${certificate.validTo}` : undefined,
  };
}

/**
 * Renewed files are used for new connections, and are what `inUse` has from then on; those that are of no use are told of,
 * and the old ones kept. Returns the end of it.
 */
export function followTls(
  server: Server,
  files: TlsFiles,
  inUse: TlsPair,
  { everyMs, now, onProblem }: { everyMs: number; now: () => number; onProblem: (text: string) => void },
): () => void {
  const use = (): void => {
    try {
      const pair = readTls(files, now());
      if (pair.problem !== undefined) onProblem(pair.problem);
      server.setSecureContext(pair);
      Object.assign(inUse, pair);
    } catch (error) {
      // The two are seldom replaced at the same moment: the other one will be noticed as well.
      onProblem(
        `the certificate was changed, and is not used yet: expected ${(error as Error).message} in ${files[error instanceof TlsProblem ? error.field : 'cert']}`,
      );
    }
  };
  const paths = [files.cert, files.key];
  for (const path of paths) watchFile(path, { interval: everyMs, persistent: false }, use);
  return () => paths.forEach((path) => unwatchFile(path, use));
}

function readPem(files: TlsFiles, field: TlsFile): Buffer {
  return tried(field, 'a file that can be read', () => readFileSync(files[field]));
}

function tried<T>(field: TlsFile, expected: string, work: () => T): T {
  try {
    return work();
  } catch {
    throw new TlsProblem(field, expected);
  }
}
