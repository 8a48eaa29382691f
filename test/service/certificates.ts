/** Creates certificates with a private certificate authority, using openssl. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

export const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

export interface Certificates {
  /** Paths of the PEM files. */
  authority: string;
  cert: string;
  key: string;
}

/**
 * Creates certificates in this folder for `names` and 127.0.0.1. With `days: 0`, the certificate has already
 * expired.
 */
export function certificatesIn(dir: string, { days = 2, names = ['localhost'] } = {}): Certificates {
  const [authority, cert, key, authorityKey] = ['ca.pem', 'cert.pem', 'key.pem', 'ca.key'].map((name) =>
    join(dir, name),
  ) as [string, string, string, string];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-batch'];
  openssl(
    'req',
    '-x509',
    ...curve,
    '-keyout',
    authorityKey,
    '-out',
    authority,
    '-days',
    '2',
    '-subj',
    '/CN=attic',
  );
  const issued = [
    '-CA',
    authority,
    '-CAkey',
    authorityKey,
    '-addext',
    `subjectAltName=${names.map((name) => `DNS:${name},`).join('')}IP:127.0.0.1`,
  ];
  const more = [
    '-days',
    String(days),
    '-subj',
    '/CN=localhost',
    '-addext',
    'basicConstraints=critical,CA:FALSE',
  ];
  openssl('req', '-x509', ...curve, '-keyout', key, '-out', cert, ...issued, ...more);
  return { authority, cert, key };
}

function openssl(...args: string[]): void {
  const { status, stderr } = spawnSync('openssl', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`openssl ${args.join(' ')}: ${stderr}`);
}
