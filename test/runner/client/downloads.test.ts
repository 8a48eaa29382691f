/**
 * Promise: pictures are downloaded only from allowed and public hosts, and a refusal never reveals the
 * signature of a URL.
 */
import type { LookupAddress } from 'node:dns';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Internet, isPrivateOrPublic, isPublicAddress } from '../../../src/lib/net/addresses.ts';
import { HttpsDownloads, type DownloadOptions } from '../../../src/runner/client/https-downloads.ts';
import { answer, headOf, inTurn, scriptedServer, type Script } from '../../fakes/scripted-server.ts';
import { selfSigned } from '../../fakes/self-signed.ts';

const picture = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x00, 0xff, 0xfe, 0x0a]);
const never = new AbortController().signal;
const signature = 'X-Signature=CANARY';

/** Starts a server on loopback that acts as a host on the internet. */
async function hostNamed(name: string, script: Script, host = '127.0.0.1', port = 0) {
  const certificate = selfSigned(name);
  const server = await scriptedServer(script, { tls: certificate, host, port });
  return {
    ...server,
    name: `${name}:${server.port}`,
    url: `https://${name}:${server.port}`,
    ca: certificate.cert,
  };
}

/** Creates downloads for which every name resolves to loopback, which counts as public. */
function downloadsFrom(
  options: Partial<DownloadOptions>,
  internet: Partial<Internet> & { ca?: string },
): HttpsDownloads {
  const downloads = new HttpsDownloads(
    { hosts: [], maxBytes: 1_000_000, requestTimeoutMs: 30_000, ...options },
    { lookup: async () => [loopback], isPublic: () => true, ...internet },
  );
  onTestFinished(() => downloads.close());
  return downloads;
}

const loopback: LookupAddress = { address: '127.0.0.1', family: 4 };

/**
 * Downloads from a host that answers with this script. Expects that the reply does not contain the signature.
 */
async function fetched(script: Script, options: Partial<DownloadOptions> = {}, signal = never) {
  const cdn = await hostNamed('cdn.test', script);
  const downloads = downloadsFrom({ hosts: [cdn.name], ...options }, cdn);
  const reply = await downloads.fetch(`${cdn.url}/a/b.png?${signature}`, signal);
  expect(JSON.stringify(reply)).not.toContain('CANARY');
  return reply;
}

function failure(kind: string, text = /./): object {
  return expect.objectContaining({ kind, text: expect.stringMatching(text) as string }) as object;
}

describe('a picture', () => {
  it('comes byte for byte, and only necessary headers are sent', async () => {
    const cdn = await hostNamed('cdn.test', answer(200, picture));
    const reply = await downloadsFrom({ hosts: [cdn.name] }, cdn).fetch(
      `${cdn.url}/a.png?${signature}#x`,
      never,
    );
    expect(reply).toEqual({ bytes: picture });
    expect(cdn.requests).toEqual([
      expect.objectContaining({ method: 'GET', path: `/a.png?${signature}`, body: '' }),
    ]);
    expect(Object.keys(cdn.requests[0]?.headers ?? {}).toSorted()).toEqual([
      'accept',
      'connection',
      'host',
      'user-agent',
    ]);
  });

  it('comes in parts', async () => {
    const parts: Script = (socket) => {
      socket.write(headOf(200, { 'Transfer-Encoding': 'chunked' }));
      for (const byte of picture)
        socket.write(Buffer.from(`1\r\n${String.fromCharCode(byte)}\r\n`, 'latin1'));
      socket.write('0\r\n\r\n');
    };
    expect(await fetched(parts)).toEqual({ bytes: picture });
  });

  it('comes from any name below one that stands for all of them', async () => {
    const cdn = await hostNamed('eu.cdn.test', answer(200, picture));
    const hosts = [`*.cdn.test:${cdn.port}`];
    expect(await downloadsFrom({ hosts }, cdn).fetch(`${cdn.url}/a.png`, never)).toEqual({ bytes: picture });
  });
});

describe('an address is refused, and nothing is looked up', () => {
  const hosts = ['cdn.test', '*.pictures.test', 'odd.test:8443'];
  it.each([
    ['without https', 'http://cdn.test/a.png'],
    ['of another kind', 'ftp://cdn.test/a.png'],
    ['that is no URL', 'https://'],
    ['with a name and a password', 'https://me:CANARY@cdn.test/a.png'],
    ['with a name alone', 'https://CANARY@cdn.test/a.png'],
    ['with a password alone', 'https://:CANARY@cdn.test/a.png'],
    ['at a host that is not listed', 'https://else.test/a.png'],
    ['at a host below one that is listed', 'https://a.cdn.test/a.png'],
    ['at a host whose end looks listed', 'https://notcdn.test/a.png'],
    ['at the host itself if those below it are listed', 'https://pictures.test/a.png'],
    ['at a host that ends like those below it', 'https://badpictures.test/a.png'],
    ['with nothing below', 'https://.pictures.test/a.png'],
    ['at another port', 'https://cdn.test:8443/a.png'],
    ['at the usual port if another is listed', 'https://odd.test/a.png'],
    ['at an IPv4 address', 'https://93.184.216.34/a.png'],
    ['at an IPv4 address as one number', 'https://2130706433/a.png'],
    ['at an IPv6 address', 'https://[2606:4700::1111]/a.png'],
  ])('%s', async (_, url) => {
    const lookup = (): never => expect.fail('a host was looked up');
    for (const list of [hosts, [...hosts, '93.184.216.34', '[2606:4700::1111]', '127.0.0.1']]) {
      const reply = await downloadsFrom({ hosts: list }, { lookup }).fetch(`${url}?${signature}`, never);
      expect(reply).toEqual(failure('url-refused'));
      expect(JSON.stringify(reply)).not.toContain('CANARY');
    }
  });

  it('and is shown without a possible signature, on one line', async () => {
    const shown = async (url: string): Promise<unknown> => downloadsFrom({ hosts }, {}).fetch(url, never);
    expect(await shown(`ftp://cdn.test/a.png?${signature}`)).toEqual(
      failure('url-refused', /^the picture at ftp:\/\/cdn\.test\/a\.png is not offered over https$/),
    );
    expect(await shown(`https://else.test/${'a'.repeat(200)}`)).toEqual(
      failure('url-refused', /^the picture at https:\/\/else\.test\/a{101}… is at else\.test, which/),
    );
  });

  it('while no host is listed, with what to do', async () => {
    const downloads = downloadsFrom({ hosts: [] }, {});
    const reply = await downloads.fetch(`https://cdn.test:8443/a.png?${signature}`, never);
    expect(reply).toEqual(failure('urls-not-allowed', /cdn\.test:8443.*`output\.hosts`.*30 minutes/));
    expect(await downloads.fetch('http://cdn.test/a.png', never)).toEqual(failure('url-refused'));
  });
});

describe('a server in the own network that is listed as an http origin', () => {
  const at = (address: string): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 });

  it('gives its pictures without https, at exactly the listed address', async () => {
    const server = await scriptedServer(answer(200, picture));
    const origin = `http://127.0.0.1:${server.port}`;
    const downloads = downloadsFrom({ hosts: [origin] }, { isPublic: isPublicAddress });
    expect(await downloads.fetch(`${origin}/bucket/a.png?${signature}`, never)).toEqual({ bytes: picture });
    expect(server.requests[0]?.headers).not.toHaveProperty('authorization');
    const asHttps = await downloads.fetch(`https://127.0.0.1:${server.port}/a.png`, never);
    expect(asHttps).toEqual(failure('url-refused', /bare IP address/));
  });

  it.each([
    ['another port', 'http://minio.lan:9001/a.png'],
    ['another host', 'http://minio2.lan:9000/a.png'],
    ['a host below', 'http://a.minio.lan:9000/a.png'],
    ['a user name', 'http://me@minio.lan:9000/a.png'],
  ])('is the only origin without https: %s is refused', async (_, url) => {
    const lookup = (): never => expect.fail('a host was looked up');
    const downloads = downloadsFrom({ hosts: ['http://minio.lan:9000', 'minio.lan:9001'] }, { lookup });
    expect(await downloads.fetch(url, never)).toEqual(failure('url-refused'));
  });

  it('is named in the message if it is not listed like that', async () => {
    const reply = await downloadsFrom({ hosts: ['minio.lan:9000'] }, {}).fetch(
      'http://minio.lan:9000/a.png',
      never,
    );
    expect(reply).toEqual(
      failure('url-refused', /not offered over https; .*"http:\/\/minio\.lan:9000" into `output\.hosts`/),
    );
  });

  it.each(['127.0.0.1', '::1', '169.254.169.254', 'fe80::1', '0.0.0.0', '::ffff:127.0.0.1'])(
    'is refused if its name leads to %s',
    async (address) => {
      const server = await scriptedServer(answer(200, 'secret'));
      const origin = `http://minio.lan:${server.port}`;
      const downloads = downloadsFrom(
        { hosts: [origin] },
        { lookup: async () => [at(address)], isPublic: isPublicAddress },
      );
      expect(await downloads.fetch(`${origin}/a.png`, never)).toEqual(
        failure('url-refused', /has to name itself/),
      );
      expect(server.requests).toEqual([]);
    },
  );

  it('may be at a private address, and at a public one', () => {
    for (const address of ['10.0.0.5', '192.168.1.5', '172.16.0.1', '100.64.0.1', 'fd00::5', '93.184.216.34'])
      expect([address, isPrivateOrPublic(address)]).toEqual([address, true]);
    for (const address of ['127.0.0.1', '169.254.1.1', '::1', 'fe80::1', '0.0.0.0', '224.0.0.1', '::', 'x'])
      expect([address, isPrivateOrPublic(address)]).toEqual([address, false]);
  });

  it('redirects nowhere, and no other host redirects to it', async () => {
    const server = await scriptedServer(
      inTurn(answer(302, '', { Location: '/b.png' }), answer(200, 'secret')),
    );
    const origin = `http://127.0.0.1:${server.port}`;
    const cdn = await hostNamed('cdn.test', answer(302, '', { Location: `${origin}/b.png` }));
    const downloads = downloadsFrom({ hosts: [origin, cdn.name] }, cdn);
    expect(await downloads.fetch(`${origin}/a.png`, never)).toEqual(
      failure('url-refused', /a redirect from or to plain http/),
    );
    expect(await downloads.fetch(`${cdn.url}/a.png`, never)).toEqual(
      failure('url-refused', /a redirect from or to plain http/),
    );
    expect(server.requests).toHaveLength(1);
  });
});

describe('the address behind a host', () => {
  it.each<[string, LookupAddress]>([
    ['this machine', loopback],
    ['this machine by IPv6', { address: '::1', family: 6 }],
    ['this machine as IPv4 in IPv6', { address: '::ffff:127.0.0.1', family: 6 }],
    ['the network around', { address: '192.168.1.1', family: 4 }],
    ["a cloud's data of this machine", { address: '169.254.169.254', family: 4 }],
  ])('is refused if it is %s, and no connection is made', async (_, address) => {
    let connections = 0;
    const server = await scriptedServer(answer(200, picture), { onConnection: () => (connections += 1) });
    const options = { hosts: [`cdn.test:${server.port}`] };
    const downloads = downloadsFrom(options, { lookup: async () => [address], isPublic: isPublicAddress });
    const reply = await downloads.fetch(`https://cdn.test:${server.port}/a.png?${signature}`, never);
    expect(reply).toEqual(
      failure('url-refused', /cdn\.test:\d+\/a\.png is refused: .* has no public address/),
    );
    expect(JSON.stringify(reply)).not.toContain('CANARY');
    expect(connections).toBe(0);
  });

  it('is the one that was checked, whatever the host is said to be afterwards', async () => {
    const open = await hostNamed('cdn.test', answer(200, picture, { Connection: 'close' }), '127.0.0.1');
    const inside = await scriptedServer(answer(200, 'secret'), { host: '127.0.0.2', port: open.port });
    const answers = [[loopback], [{ address: '127.0.0.2', family: 4 }]];
    let lookups = 0;
    const downloads = downloadsFrom(
      { hosts: [open.name] },
      {
        ca: open.ca,
        lookup: async () => answers[Math.min(lookups++, 1)] ?? [],
        isPublic: (address) => address === '127.0.0.1',
      },
    );
    expect(await downloads.fetch(`${open.url}/a.png`, never)).toEqual({ bytes: picture });
    expect(lookups).toBe(1);
    expect(await downloads.fetch(`${open.url}/a.png`, never)).toEqual(failure('url-refused'));
    expect([open.requests.length, inside.requests.length]).toEqual([1, 0]);
  });

  it('is a public one of several', async () => {
    const cdn = await hostNamed('cdn.test', answer(200, picture));
    const lookup = async () => [{ address: '127.0.0.2', family: 4 }, loopback];
    const isPublic = (address: string): boolean => address === '127.0.0.1';
    const downloads = downloadsFrom({ hosts: [cdn.name] }, { ca: cdn.ca, lookup, isPublic });
    expect(await downloads.fetch(`${cdn.url}/a.png`, never)).toEqual({ bytes: picture });
  });

  it('may be unknown', async () => {
    const lookup = async () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }));
    const reply = await downloadsFrom({ hosts: ['cdn.test'] }, { lookup }).fetch(
      'https://cdn.test/a.png',
      never,
    );
    expect(reply).toEqual(failure('download-failed', /cdn\.test.*unknown host name/));
  });

  it('is rejected if its certificate has another name or is not trusted', async () => {
    const cdn = await hostNamed('other.test', answer(200, picture));
    const at = { hosts: [`cdn.test:${cdn.port}`] };
    const url = `https://cdn.test:${cdn.port}/a.png`;
    expect(await downloadsFrom(at, cdn).fetch(url, never)).toEqual(failure('download-failed'));
    expect(await downloadsFrom(at, {}).fetch(url, never)).toEqual(failure('download-failed', /certificate/));
    expect(cdn.requests).toEqual([]);
  });
});

it('says of a 401 that no key was sent, and which setting sends one', async () => {
  expect(await fetched(answer(401))).toEqual(
    failure('download-failed', /answered 401: no key was sent there.*`origins` of a description/),
  );
});

describe('a redirect', () => {
  const leadsTo = (location: string, status = 302): Script => answer(status, '', { Location: location });

  it.each([301, 302, 303, 307, 308])('is followed to a listed host (%i)', async (status) => {
    const store = await hostNamed('store.test', answer(200, picture));
    const cdn = await hostNamed('cdn.test', leadsTo(`${store.url}/b.png?${signature}`, status));
    const downloads = downloadsFrom({ hosts: [cdn.name, store.name] }, { ca: cdn.ca + store.ca });
    expect(await downloads.fetch(`${cdn.url}/a.png`, never)).toEqual({ bytes: picture });
    expect(store.requests[0]).toMatchObject({ method: 'GET', path: `/b.png?${signature}` });
    expect(store.requests[0]?.headers).not.toHaveProperty('referer');
  });

  it('is followed three times, and not a fourth', async () => {
    const hop = leadsTo('/next.png');
    expect(await fetched(inTurn(hop, hop, hop, answer(200, picture)))).toEqual({ bytes: picture });
    const tooMany = inTurn(hop, hop, hop, hop, answer(200, picture));
    expect(await fetched(tooMany)).toEqual(failure('download-failed', /redirected/));
  });

  it.each([
    ['a host that is not listed', `https://else.test/a.png?${signature}`],
    ['plain http', `http://cdn.test/a.png?${signature}`],
    ['a bare address', `https://127.0.0.1/a.png?${signature}`],
    ['what is no address', 'https://'],
    ['a user name and a password', '//me:CANARY@cdn.test/a.png'],
  ])('to %s is refused', async (_, location) => {
    expect(await fetched(leadsTo(location))).toEqual(failure('url-refused'));
  });

  it('to a host inside is refused, although it is listed', async () => {
    const inside = await scriptedServer(answer(200, 'secret'), { host: '127.0.0.2' });
    const cdn = await hostNamed('cdn.test', leadsTo(`https://inside.test:${inside.port}/`));
    const lookup = async (name: string): Promise<LookupAddress[]> =>
      name === 'inside.test' ? [{ address: '127.0.0.2', family: 4 }] : [loopback];
    const isPublic = (address: string): boolean => address === '127.0.0.1';
    const hosts = [cdn.name, `inside.test:${inside.port}`];
    const downloads = downloadsFrom({ hosts }, { ca: cdn.ca, lookup, isPublic });
    expect(await downloads.fetch(`${cdn.url}/a.png`, never)).toEqual(failure('url-refused', /inside\.test/));
    expect(inside.requests).toEqual([]);
  });

  it('that leads nowhere is a failure', async () => {
    expect(await fetched(answer(302))).toEqual(failure('download-failed', /302/));
  });
});

describe('a download fails', () => {
  it.each([400, 401, 403, 404, 410, 429, 500, 503, 524])('with %i', async (status) => {
    const reply = await fetched(answer(status, `<Error>${signature}</Error>`));
    expect(reply).toEqual(
      failure('download-failed', new RegExp(`https://cdn\\.test:\\d+/a/b\\.png .* ${status}`)),
    );
  });

  it.each<[string, number, string, boolean]>([
    ['that does not exist', 404, '', true],
    ['that is deleted', 410, '', true],
    [
      'whose signature at S3 is over',
      403,
      '<Code>AccessDenied</Code><Message>Request has expired</Message>',
      true,
    ],
    ['whose signature at Google is over', 400, '<Code>ExpiredToken</Code>', true],
    ['whose signature at Azure is over', 403, 'Signature not valid in the specified time frame', true],
    ['that may not be read', 403, '<Code>AccessDenied</Code>', false],
    ['of a host that is busy', 503, 'expired', false],
  ])('and counts as gone if its file is one %s: %i %s is %j', async (_, status, body, isGone) => {
    const reply = await fetched(answer(status, body));
    expect(reply).toMatchObject({ kind: 'download-failed' });
    expect('isGone' in reply).toBe(isGone);
  });

  it('and is repeated after the time that the host requests', async () => {
    expect(await fetched(answer(503, '', { 'Retry-After': '9' }))).toMatchObject({ retryAfterMs: 9_000 });
  });

  const cut: [string, Script][] = [
    ['closed at once', (socket) => socket.destroy()],
    [
      'cut',
      (socket) => socket.end(Buffer.concat([Buffer.from(headOf(200, { 'Content-Length': '99' })), picture])),
    ],
    [
      'cut between parts',
      (socket) => socket.end(`${headOf(200, { 'Transfer-Encoding': 'chunked' })}3\r\nabc\r\n`),
    ],
    ['no HTTP', (socket) => socket.end('what?')],
    ['empty', answer(200)],
    ['without content', answer(204)],
  ];
  it.each(cut)('because the answer is %s', async (_, script) => {
    expect(await fetched(script)).toEqual(failure('download-failed'));
  });

  it.each<[string, Script]>([
    ['never begins', () => undefined],
    ['stops', (socket) => socket.write(`${headOf(200, { 'Content-Length': '99' })}abc`)],
    ['drips without end', drip],
  ])('after the time limit, because the answer %s', async (_, script) => {
    expect(await fetched(script, { requestTimeoutMs: 100 })).toEqual(failure('download-failed'));
  });

  it('because the run is ending', async () => {
    const abandon = new AbortController();
    const reply = await fetched(() => abandon.abort(), {}, abandon.signal);
    expect(reply).toEqual(failure('download-failed', /run is ending/));
    expect(await fetched(answer(200, picture), {}, AbortSignal.abort())).toEqual(failure('download-failed'));
  });
});

describe('a picture that is too large', () => {
  const atMost = { maxBytes: 1_000 };

  it('is not read if its size is stated', async () => {
    const script: Script = (socket) => socket.write(headOf(200, { 'Content-Length': '1001' }));
    expect(await fetched(script, atMost)).toEqual(failure('result-too-large', /limits\.body/));
  });

  it('is read up to the limit if its size is not stated', async () => {
    const script: Script = (socket) => {
      socket.write(headOf(200, { 'Transfer-Encoding': 'chunked' }));
      socket.write(`3e9\r\n${'x'.repeat(1_001)}\r\n`);
    };
    expect(await fetched(script, atMost)).toEqual(failure('result-too-large'));
  });

  it('has more bytes than the limit, and a picture of exactly the limit is read', async () => {
    expect(await fetched(answer(200, 'x'.repeat(1_000)), atMost)).toEqual({
      bytes: Buffer.alloc(1_000, 'x'),
    });
  });
});

function drip(socket: Parameters<Script>[0]): void {
  socket.write(headOf(200, { 'Content-Length': '999999' }));
  const timer = setInterval(() => socket.write('x'), 20);
  socket.on('close', () => clearInterval(timer));
}
