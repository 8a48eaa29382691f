/** Promise: an encrypted service is reached over HTTPS only, and continues with a renewed certificate. */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type PeerCertificate } from 'node:tls';
import { Agent, request } from 'undici';
import { expect, it, onTestFinished } from 'vitest';
import { readTls } from '../../../src/lib/http/tls-files.ts';
import { certificatesIn, hasOpenssl, type Certificates } from '../certificates.ts';
import { withKeys } from '../console/visit.ts';
import { endpointId, makeDataDir, openService } from '../service-harness.ts';

const opened = (options: object = {}) => {
  return async (): Promise<
    { dir: string; files: Certificates } & Awaited<ReturnType<typeof openService>>
  > => {
    const dir = await mkdtemp(join(tmpdir(), 'nightrender-tls-'));
    const files = certificatesIn(dir);
    const { cert, key } = files;
    const clientLimits = { checkEveryMs: 20 };
    return { dir, files, ...(await openService({ tls: { cert, key }, clientLimits, ...options })) };
  };
};
const open = opened();

/** Returns the certificate of the service. Rejects if it is not trusted. */
function certificateAt(url: string, authority: string): Promise<PeerCertificate> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: '127.0.0.1',
      port: Number(new URL(url).port),
      ca: readFileSync(authority),
    });
    socket.once('error', reject).once('secureConnect', () => {
      resolve(socket.getPeerCertificate());
      socket.destroy();
    });
  });
}

it.skipIf(!hasOpenssl)(
  'a service with a certificate speaks only HTTPS (skipped if there is no openssl)',
  async () => {
    const { url, files } = await open();
    expect(url).toMatch(/^https:/);
    expect((await certificateAt(url, files.authority)).subjectaltname).toContain('DNS:localhost');
    await expect(fetch(url.replace('https', 'http'))).rejects.toThrow('fetch failed');
  },
);

it.skipIf(!hasOpenssl)(
  'a service uses a renewed certificate without a restart, and keeps the old one while the files do not match (skipped if there is no openssl)',
  async () => {
    const { dir, url, files, troubles } = await open();
    const { authority, cert, key } = files;
    const before = await certificateAt(url, authority);
    const renewed = certificatesIn(await mkdtemp(join(dir, 'renewed-')));
    writeFileSync(cert, readFileSync(renewed.cert));
    await expect
      .poll(() => troubles.join())
      .toContain('expected the private key of the certificate in tls.cert');
    expect((await certificateAt(url, authority)).fingerprint256).toBe(before.fingerprint256);
    writeFileSync(key, readFileSync(renewed.key));
    await expect
      .poll(() => certificateAt(url, renewed.authority).then(() => 'trusted', String))
      .toBe('trusted');
  },
);

it.skipIf(!hasOpenssl)(
  'a service reports problems of its certificate and key files (skipped if there is no openssl)',
  async () => {
    const dir = await mkdtemp(join(tmpdir(), 'nightrender-tls-'));
    const { cert, key, authority } = certificatesIn(dir);
    const now = Date.now();
    expect(() => readTls({ cert: join(dir, 'none.pem'), key }, now)).toThrow('a file that can be read');
    expect(() => readTls({ cert: key, key }, now)).toThrow('a certificate in PEM');
    expect(() => readTls({ cert, key: cert }, now)).toThrow('a private key in PEM');
    expect(() => readTls({ cert: authority, key }, now)).toThrow(
      'the private key of the certificate in tls.cert',
    );
    expect(readTls({ cert, key }, now)).toMatchObject({ names: ['localhost'], problem: undefined });
    expect(readTls({ cert, key }, now + 3 * 86_400_000).problem).toContain('ended on');
  },
);

it.skipIf(!hasOpenssl)(
  'a service tells browsers to stay with HTTPS, unless `hsts: false` (skipped if there is no openssl)',
  async () => {
    const dir = await makeDataDir();
    const { cert, key } = certificatesIn(dir);
    const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
    onTestFinished(() => dispatcher.close());
    const told = async (url: string): Promise<unknown> => {
      const { headers, body } = await request(`${url}/openapi.json`, { dispatcher });
      await body.dump();
      return headers['strict-transport-security'];
    };
    expect(await told((await openService({ tls: { cert, key } })).url)).toBe('max-age=2592000');
    expect(await told((await openService({ tls: { cert, key, hsts: false } })).url)).toBeUndefined();
    expect(await told((await openService()).url)).toBeUndefined();
  },
);

it.skipIf(!hasOpenssl)(
  'a service bounds the requests that a key has in progress over encrypted connections (skipped if there is no openssl)',
  async () => {
    const { url, files, dataDir } = await open();
    const form = { name: 'guest', kind: 'client', endpoints: null, maxHeld: '1' };
    const key = withKeys(dataDir, (keys) => keys.add(form).key);
    const ask = async (...requests: string[]): Promise<string> => {
      const socket = connect({
        host: '127.0.0.1',
        port: Number(new URL(url).port),
        ca: readFileSync(files.authority),
      });
      onTestFinished(() => void socket.destroy());
      const head = ` HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`;
      for (const each of requests) socket.write(each.replace('\n', head));
      const [answer] = (await once(socket, 'data')) as [Buffer];
      return answer.toString();
    };
    const at = `/v2/${endpointId}`;
    const body = '{"input":{"a":1}}';
    const accepted = await ask(`POST ${at}/run\nContent-Length: ${body.length}\r\n\r\n${body}`);
    const path = `${at}/status-sync/${/"id":"([^"]+)"/.exec(accepted)?.[1]}`;
    // Requests are answered in order, so the second one has begun once the first is answered.
    expect(await ask(`GET ${at}/health\n\r\n`, `GET ${path}\n\r\n`)).toMatch(/^HTTP\/1\.1 200 /);
    expect(await ask(`GET ${path}?wait=1\n\r\n`)).toMatch(/^HTTP\/1\.1 429 /);
  },
);
