/** Reads the certificate and key of an encrypted service, and reads them again when they are renewed. */
import { X509Certificate } from 'node:crypto';
import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import type { Server } from 'node:https';
import { createSecureContext } from 'node:tls';

/** Paths of PEM files. `cert` also contains the certificates of its issuers. */
export interface TlsFiles {
  cert: string;
  key: string;
  /** False if browsers should not be told to use only HTTPS. */
  hsts?: boolean;
}

type TlsFile = 'cert' | 'key';

export interface TlsPair {
  cert: Buffer;
  key: Buffer;
  /** Host names of the certificate, in which `*` may stand for the first label. */
  names: string[];
  /** Problem with the certificate in words; undefined while it is valid. */
  problem: string | undefined;
}

/** Thrown if a file is unreadable or invalid. The message says what is expected instead. */
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

/** Uses renewed files for new connections; keeps the old if they are invalid. Returns a function that stops this. */
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
      // The two files are rarely replaced at the same moment. The second change will be noticed too.
      onProblem(
        `the certificate was changed, but is not used yet: expected ${(error as Error).message} in ${files[error instanceof TlsProblem ? error.field : 'cert']}`,
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
