/**
 * Promise: the server of the page changes nothing but marks, and only with a password. It serves nothing but
 * the batch and its pictures.
 */
import {
  existsSync,
  readFileSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startBroadcast } from '../../../src/runner/watch/broadcast.ts';
import { type ClipFormat, clipFormats } from '../../../src/runner/core/clip.ts';
import { clip } from '../../fakes/clips.ts';
import { firstTier, rest } from '../../fakes/tier.ts';
import type { LiveNews } from '../../../src/runner/core/gallery-data.ts';
import { arrived, ask, passwords, png, startWatch, unzipped, webp, type Watch } from './watch-harness.ts';

const fox = '/images/day%20one/fox%20%26%20100%20%25.png';

firstTier.describe('who may send requests', () => {
  it.each(['127.0.0.1', 'localhost', 'LOCALHOST:4748', '127.0.0.1:9', '[::1]:4748'])(
    '%s may',
    async (host) => {
      const watch = await startWatch();
      expect((await ask(watch, '/', { headers: { host } })).status).toBe(200);
    },
  );

  it.each([
    'evil.example',
    'evil.example:4748',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '127.0.0.1@evil.example',
    'evil.example#127.0.0.1',
    '0.0.0.0:4748',
    '10.0.0.1',
  ])('a page of another site may not, whatever its name leads to: %j', async (host) => {
    const watch = await startWatch();
    for (const path of ['/', '/data.json', '/rows/a/1.json', fox]) {
      const answer = await ask(watch, path, { headers: { host } });
      expect(answer.status).toBe(421);
      expect(answer.body.toString()).not.toContain('"dir"');
    }
    expect(watch.readings).toBe(0);
  });

  it.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])(
    'nobody may %s: nothing can be changed',
    async (method) => {
      const watch = await startWatch();
      for (const path of ['/', '/data.json', '/rows/a/1.json', fox]) {
        const answer = await ask(watch, path, { method });
        expect(answer.status).toBe(405);
        expect(answer.headers.allow).toBe('GET, HEAD');
      }
    },
  );

  it('other sites may not read the page, frame it or run code in it, as every answer says', async () => {
    const watch = await startWatch();
    for (const path of ['/', '/data.json', fox, '/nowhere']) {
      const { headers } = await ask(watch, path, { headers: { origin: 'http://evil.example' } });
      expect(headers['access-control-allow-origin']).toBeUndefined();
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['cross-origin-resource-policy']).toBe('same-origin');
      const policy = headers['content-security-policy'];
      expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-/);
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain('unsafe');
    }
  });
});

firstTier.describe('a picture', () => {
  it('is sent complete, with its type, and not again while it is unchanged', async () => {
    const watch = await startWatch();
    const whole = await ask(watch, `${fox}?v=ab`);
    expect(whole.body.equals(png)).toBe(true);
    expect(whole.headers).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(png.length),
      'cache-control': 'private, max-age=86400, immutable',
    });
    const etag = String(whole.headers.etag);
    expect((await ask(watch, fox)).headers['cache-control']).toBe('private, no-cache');
    const again = await ask(watch, fox, { headers: { 'if-none-match': etag } });
    expect([again.status, again.body.length]).toEqual([304, 0]);
    utimesSync(join(watch.imagesDir, 'day one/fox & 100 %.png'), 1, 1);
    expect((await ask(watch, fox, { headers: { 'if-none-match': etag } })).status).toBe(200);
    const head = await ask(watch, fox, { method: 'HEAD' });
    expect([head.status, head.headers['content-length'], head.body.length]).toEqual([
      200,
      String(png.length),
      0,
    ]);
  });

  it('is sent in place of a missing thumbnail, and not cached as the thumbnail', async () => {
    const watch = await startWatch();
    // The existing thumbnail is the WebP of an earlier version.
    const small = await ask(watch, '/thumbnails/ab/cd.jpg?of=day%20one/fox%20%26%20100%20%25.png');
    expect([small.headers['content-type'], small.body.equals(webp)]).toEqual(['image/webp', true]);
    const large = await ask(watch, '/thumbnails/ab/no.jpg?of=day%20one/fox%20%26%20100%20%25.png');
    expect([large.headers['content-type'], large.body.length]).toEqual(['image/png', png.length]);
    expect(large.headers['cache-control']).toBe('private, no-cache');
    expect((await ask(watch, '/thumbnails/ab/no.jpg')).status).toBe(404);
    expect((await ask(watch, '/thumbnails/ab/no.jpg?of=../checkpoint.sqlite')).status).toBe(404);
  });

  it('comes from the bucket of the batch, whole or small, and nothing else does', async () => {
    const watch = await startWatch({
      'images/s0.png': png,
      'report/thumbnails/ab/s0.jpg': webp,
      'images/page.png': Buffer.from('<script>alert(1)</script>'),
    });
    const whole = await ask(watch, '/images/s0.png?v=ab');
    expect([whole.headers['content-type'], whole.body.length]).toEqual(['image/png', png.length]);
    const small = await ask(watch, '/thumbnails/ab/s0.jpg?of=s0.png');
    expect([small.headers['content-type'], small.body.equals(webp)]).toEqual(['image/webp', true]);
    // The picture is served in place of a missing thumbnail.
    expect((await ask(watch, '/thumbnails/ab/no.jpg?of=s0.png')).body.length).toBe(png.length);
    // The folder still has the fox picture from before the batch was moved to the bucket.
    for (const path of ['/images/page.png', '/images/none.png', '/report/thumbnails/ab/s0.jpg', fox])
      expect((await ask(watch, path)).status).toBe(404);
  });

  it('that is gone is not found', async () => {
    const watch = await startWatch();
    unlinkSync(join(watch.imagesDir, 'day one/fox & 100 %.png'));
    expect((await ask(watch, fox)).status).toBe(404);
    rmSync(watch.imagesDir, { recursive: true });
    expect((await ask(watch, fox)).status).toBe(404);
    expect(watch.troubles).toEqual([]);
  });
});

firstTier.describe('a clip', () => {
  const long = clip('MP4', { bytes: 3_000_000 });
  const ask206 = async (watch: Watch, range: string, headers: Record<string, string> = {}) => {
    const answer = await ask(watch, '/images/a.mp4', { headers: { range, ...headers } });
    return [answer.status, answer.headers['content-range'], answer.body] as const;
  };

  it.each(clipFormats)('is sent with its type: %s', async (format) => {
    const watch = await startWatch();
    writeFileSync(join(watch.imagesDir, 'a.mp4'), clip(format));
    const { headers, body } = await ask(watch, '/images/a.mp4');
    expect(body.equals(clip(format))).toBe(true);
    expect([format, headers['content-type'], headers['accept-ranges']]).toEqual([
      format,
      mediaTypes[format],
      'bytes',
    ]);
  });

  it.each(['folder', 'bucket'])('is sent in the ranges that a player requests: from a %s', async (where) => {
    const watch = await startWatch(where === 'bucket' ? { 'images/a.mp4': long } : undefined);
    if (where === 'folder') writeFileSync(join(watch.imagesDir, 'a.mp4'), long);
    const end = long.length - 1;
    const ranges: [range: string, from: number, to: number][] = [
      ['bytes=0-', 0, end],
      ['bytes=0-1', 0, 1],
      ['bytes=1500000-2600000', 1_500_000, 2_600_000],
      ['bytes=2999000-999999999', 2_999_000, end],
      ['bytes=-500', end - 499, end],
    ];
    for (const [range, from, to] of ranges) {
      const [status, said, body] = await ask206(watch, range);
      expect([range, status, said]).toEqual([range, 206, `bytes ${from}-${to}/${long.length}`]);
      expect(body.equals(long.subarray(from, to + 1)), range).toBe(true);
    }
    for (const range of ['bytes=5-4', 'bytes=0-1,4-5', 'bytes=-', 'lines=1-2', 'bytes=x-'])
      expect((await ask206(watch, range))[0], range).toBe(200);
    for (const range of [`bytes=${long.length}-`, 'bytes=-0'])
      expect((await ask206(watch, range)).slice(0, 2)).toEqual([416, `bytes */${long.length}`]);
    const head = await ask(watch, '/images/a.mp4', { method: 'HEAD', headers: { range: 'bytes=0-1' } });
    expect([head.status, head.headers['content-length']]).toEqual([200, String(long.length)]);
    const etag = String(head.headers.etag);
    expect((await ask206(watch, 'bytes=0-1', { 'if-range': etag }))[0]).toBe(206);
    expect((await ask206(watch, 'bytes=0-1', { 'if-range': '"other"' }))[0]).toBe(200);
    expect(watch.troubles).toEqual([]);
  });

  it('is no stand-in for a poster that is gone', async () => {
    const watch = await startWatch();
    writeFileSync(join(watch.imagesDir, 'a.mp4'), long);
    expect((await ask(watch, '/thumbnails/ab/no.jpg?of=a.mp4')).status).toBe(404);
  });
});

const mediaTypes: Record<ClipFormat, string> = {
  MP4: 'video/mp4',
  WebM: 'video/webm',
  MOV: 'video/quicktime',
  GIF: 'image/gif',
  WAV: 'audio/wav',
  MP3: 'audio/mpeg',
  FLAC: 'audio/flac',
  Ogg: 'audio/ogg',
};

firstTier.describe('nothing else is sent:', () => {
  it.each([
    '/images/../checkpoint.sqlite',
    '/images/..%2fcheckpoint.sqlite',
    '/images/%2e%2e/checkpoint.sqlite',
    '/images/%2e%2e%2fcheckpoint.sqlite',
    '/images/day%20one/../../checkpoint.sqlite',
    '/images/..%5ccheckpoint.sqlite',
    '/images/..%252fcheckpoint.sqlite',
    '/images//etc/passwd',
    '/images/%2fetc%2fpasswd',
    '/images/day%20one',
    '/images/day%20one/',
    '/images/',
    '/images/x%00.png',
    '/images/%ff%fe',
    '/images/%',
    '/thumbnails/../../checkpoint.sqlite',
    '/checkpoint.sqlite',
    '/report/summary.json',
    '//evil.example/images',
    '/favicon.ico',
    '/events',
    '/rows/a/1.json',
    '/rows/a/0.json',
    '/rows/a/1.js',
    '/rows/../checkpoint.sqlite',
  ])('%s', async (path) => {
    const watch = await startWatch();
    const { status, body } = await ask(watch, path);
    expect(status).toBe(404);
    expect(body.toString()).toBe('Not found.\n');
    expect(watch.troubles).toEqual([]);
  });

  it('a file that a link leads to outside of the folder, and no file that is not a picture, whatever its name', async () => {
    const watch = await startWatch();
    symlinkSync('../checkpoint.sqlite', join(watch.imagesDir, 'link.png'));
    symlinkSync('..', join(watch.imagesDir, 'up'));
    symlinkSync('loop.png', join(watch.imagesDir, 'loop.png'));
    writeFileSync(join(watch.imagesDir, 'page.png'), '<script>alert(1)</script>');
    writeFileSync(join(watch.imagesDir, 'empty.png'), '');
    for (const name of ['link.png', 'up/checkpoint.sqlite', 'loop.png', 'page.png', 'empty.png'])
      expect((await ask(watch, `/images/${name}`)).status, name).toBe(404);
    symlinkSync('day one/fox & 100 %.png', join(watch.imagesDir, 'within.png'));
    expect((await ask(watch, '/images/within.png')).status).toBe(200);
  });

  it('for a name that is longer than any file has', async () => {
    const watch = await startWatch();
    expect((await ask(watch, `/images/${'x'.repeat(5_000)}.png`)).status).toBe(404);
    expect(watch.troubles).toEqual([]);
  });

  it('if the folder of pictures is a link itself, what is in it', async () => {
    const watch = await startWatch();
    const elsewhere = await startWatch();
    rmSync(watch.imagesDir, { recursive: true });
    symlinkSync(elsewhere.imagesDir, watch.imagesDir);
    expect((await ask(watch, fox)).status).toBe(200);
  });
});

describe('the data', () => {
  firstTier.it('is complete, or newer than the data of the page, and is never cached', async () => {
    const watch = await startWatch(undefined, 20);
    const rows = [1, 1, 1];
    watch.reading.list = { rows, changed: [], arrived: [arrived(1), arrived(0)] };
    const answer = await ask(watch, '/data.json');
    expect(answer.headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' });
    const all = newsIn(answer.body);
    expect(all).toMatchObject({
      name: 'night/out',
      run: { kind: 'none' },
      now: expect.any(Number),
      chunks: { folder: expect.stringMatching(/^rows\/\w+$/), rows },
      changed: [],
      arrived: [{ index: 1 }, { index: 0 }],
    });
    const piece = await ask(watch, `/${all.chunks?.folder}/3.json`);
    expect(piece.headers['cache-control']).toBe('no-store');
    expect(JSON.parse(piece.body.toString())).toEqual([arrived(2).row]);

    const later = since(watch, all);
    watch.reading = { ...watch.reading, list: { rows, changed: [2], arrived: [arrived(2)] } };
    const news = await later;
    expect(news).toMatchObject({ changed: [2], arrived: [{ index: 2 }] });
    expect(news.arrived).toHaveLength(1);
    expect(news.chunks).toBeUndefined();

    const moved = since(watch, news);
    watch.reading = { ...watch.reading, list: { rows: [1, 1], changed: [], arrived: [] } };
    expect((await moved).chunks).toMatchObject({ rows: [1, 1] });
    expect((await moved).chunks?.folder).not.toBe(all.chunks?.folder);
    for (const odd of ["1'--", '-1', '9'.repeat(15), ''])
      expect(newsIn((await ask(watch, `/data.json?since=${odd}`)).body).chunks).toMatchObject({
        rows: [1, 1],
      });
  });

  firstTier.it('is read once for all simultaneous requests', async () => {
    const { reading } = await startWatch();
    let readings = 0;
    const broadcast = startBroadcast({ read: async () => ((readings += 1), reading) });
    await Promise.all(Array.from({ length: 50 }, () => broadcast.newsSince(0, () => undefined)));
    expect(readings).toBe(1);
    await broadcast.newsSince(0, () => undefined);
    expect(readings).toBe(1);
  });

  rest.it('notifies all tabs of a change with one reading', async () => {
    const watch = await startWatch();
    const first = newsIn((await ask(watch, '/data.json')).body);
    const tabs = [since(watch, first), since(watch, first), since(watch, first)];
    const { readings } = watch;
    watch.reading = { ...watch.reading, state: { ...watch.reading.state, run: { kind: 'starting' } } };
    for (const tab of tabs) expect(await tab).toMatchObject({ run: { kind: 'starting' } });
    expect(watch.readings - readings).toBeLessThanOrEqual(2);
  });

  firstTier.it('is not read for a client that has disconnected', async () => {
    const { reading } = await startWatch();
    let readings = 0;
    const broadcast = startBroadcast({ read: async () => ((readings += 1), reading) });
    const { revision } = await broadcast.newsSince(0, () => undefined);
    await broadcast.newsSince(revision, (gone) => gone());
    const later = broadcast.newsSince(revision, () => undefined);
    broadcast.close();
    await later;
    expect(readings).toBe(1);
  });

  firstTier.it('reaches others while one does not read, or sends half a request', async () => {
    const watch = await startWatch(undefined, 20);
    const { port } = new URL(watch.url);
    const lazy = Array.from({ length: 30 }, (_, i) => {
      const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
      socket.write(i % 2 === 0 ? `GET ${fox} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(20) : 'GET / HT');
      return socket.pause();
    });
    const first = newsIn((await ask(watch, '/data.json')).body);
    expect(first).toMatchObject({ name: 'night/out' });
    const later = since(watch, first);
    watch.reading = { ...watch.reading, state: { ...watch.reading.state, name: 'other/out' } };
    expect(await later).toMatchObject({ name: 'other/out' });
    expect((await ask(watch, fox)).body.length).toBe(png.length);
    for (const socket of lazy) socket.destroy();
  });
});

firstTier.describe('a request that browsers do not send', () => {
  it.each([
    ['two Host headers', 'GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n', 400],
    ['a head of 17 KB', `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`, 431],
    ['no HTTP', 'HELO localhost\r\n\r\n', 400],
  ])('is refused, and its connection closed: %s', async (_, sent, status) => {
    const watch = await startWatch();
    const { port } = new URL(watch.url);
    const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
    socket.write(sent);
    let received = '';
    socket.on('data', (part) => (received += part.toString('latin1')));
    await once(socket, 'close');
    expect(received).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(watch.readings).toBe(0);
  });
});

firstTier.it('disconnects a client that sends requests without reading the answers', async () => {
  const watch = await startWatch();
  const { port } = new URL(watch.url);
  const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
  socket.write(`GET ${fox} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(50));
  let bytes = 0;
  socket.on('data', (part) => (bytes += part.length));
  await once(socket, 'close');
  expect(bytes).toBeLessThan(2 * png.length);
});

async function since(watch: Watch, { revision }: LiveNews): Promise<LiveNews> {
  return newsIn((await ask(watch, `/data.json?since=${revision}`)).body);
}

function newsIn(body: Buffer): LiveNews {
  return JSON.parse(body.toString()) as LiveNews;
}

firstTier.describe('the starred pictures', () => {
  const zip = async (watch: Watch, who: Record<string, string>): Promise<string> =>
    (await post(watch, '/download', {}, who)).said.path;

  it('are sent as a ZIP to clients with a password, owner or viewer', async () => {
    const watch = await startWatch(undefined, undefined, { isPrivate: true });
    const owner = await signedIn(watch, passwords.owner);
    const viewer = await signedIn(watch, passwords.viewer);
    const stars = ['s1', 's2', 's3'].map((id) => ({ id, mark: 'star' }));
    expect((await post(watch, '/marks', [...stars, { id: 's4', mark: 'reject' }], owner)).status).toBe(204);
    watch.pictures = {
      s1: ['day one/fox & 100 %.png', 'day one/gone.png'],
      s3: ['../checkpoint.sqlite'],
      s4: ['day one/fox & 100 %.png'],
    };
    for (const who of [owner, viewer]) {
      const { cookie = '' } = who;
      const answer = await ask(watch, `/${await zip(watch, who)}`, { headers: { cookie } });
      expect(answer.headers).toMatchObject({
        'content-type': 'application/zip',
        'content-disposition':
          'attachment; filename="night-Bilder_f_r__mter-starred.zip"; filename*=UTF-8\'\'night-Bilder%20f%C3%BCr%20%C3%84mter-starred.zip',
        'cross-origin-resource-policy': 'same-origin',
      });
      const files = await unzipped(answer.body);
      expect([...files.keys()]).toEqual(['day one/fox & 100 %.png', 'missing-pictures.txt']);
      expect(files.get('day one/fox & 100 %.png')?.equals(png)).toBe(true);
      expect(files.get('missing-pictures.txt')?.toString().split('\r\n').slice(2)).toEqual([
        's1: day one/gone.png: the file is gone',
        's2: the scene has no saved file now',
        's3: ../checkpoint.sqlite: the file is gone',
        '',
      ]);
    }
  });

  it('come from the bucket, and a bucket that fails breaks the download instead of leaving them out', async () => {
    const bucket: Record<string, Buffer> = { 'images/s1-1-ab.png': png };
    const watch = await startWatch(bucket);
    const owner = await signedIn(watch, passwords.owner);
    await post(watch, '/marks', [{ id: 's1', mark: 'star' }], owner);
    watch.pictures = { s1: ['s1-1-ab.png', 's1-2-ab.png'] };
    const files = await unzipped((await ask(watch, `/${await zip(watch, owner)}`, { headers: owner })).body);
    expect([...files.keys()]).toEqual(['s1-1-ab.png', 'missing-pictures.txt']);
    Object.defineProperty(bucket, 'images/s1-2-ab.png', {
      get: () => {
        throw new Error('the bucket does not answer');
      },
    });
    await expect(ask(watch, `/${await zip(watch, owner)}`, { headers: owner })).rejects.toThrow('aborted');
    expect(watch.troubles).toEqual([expect.stringContaining('the bucket does not answer')]);
  });

  it('are sent to no other client: no password, no ticket, the cookie or the ticket of another', async () => {
    const watch = await startWatch();
    const owner = await signedIn(watch, passwords.owner);
    const viewer = await signedIn(watch, passwords.viewer);
    expect((await post(watch, '/download', {})).status).toBe(401);
    expect((await post(watch, '/download', {}, { cookie: owner['cookie'] ?? '' })).status).toBe(401);
    expect((await post(watch, '/download', {}, { ...owner, 'sec-fetch-site': 'same-site' })).status).toBe(
      403,
    );
    const path = `/${await zip(watch, owner)}`;
    const ticketOf = (who: Record<string, string>, address = path) =>
      ask(watch, address, { headers: { cookie: who['cookie'] ?? '' } });
    expect((await ask(watch, path)).status).toBe(401);
    expect((await ticketOf(viewer)).status).toBe(401);
    expect((await ticketOf(owner, '/starred.zip')).status).toBe(401);
    expect((await ticketOf(owner, `${path}x`)).status).toBe(401);
    expect((await ticketOf(owner)).status).toBe(200);
    expect((await ask(watch, path, { method: 'HEAD', headers: owner })).body).toHaveLength(0);
  });

  it('are read no faster than they are taken, by eight at once, and no longer once they have left', async () => {
    const asked = new Set<string>();
    const objects: Record<string, Buffer> = {};
    const bucket = new Proxy(objects, {
      get: (_, key) => (asked.add(String(key)), png),
    });
    const watch = await startWatch(bucket);
    const owner = await signedIn(watch, passwords.owner);
    await post(watch, '/marks', [{ id: 's1', mark: 'star' }], owner);
    watch.pictures = { s1: Array.from({ length: 200 }, (_, n) => `s${n}.png`) };
    const path = await zip(watch, owner);
    const { port } = new URL(watch.url);
    const sockets = Array.from({ length: 8 }, () => {
      const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
      socket.write(`GET /${path} HTTP/1.1\r\nHost: localhost\r\nCookie: ${owner['cookie']}\r\n\r\n`);
      return socket.pause();
    });
    const status = async () =>
      (await ask(watch, `/${path}`, { method: 'HEAD', headers: { cookie: owner['cookie'] } })).status;
    await expect.poll(status).toBe(503);
    expect((await post(watch, '/download', {}, owner)).said).toEqual({
      error: 'other downloads are under way; try again when one has ended',
    });
    for (const socket of sockets) socket.destroy();
    await expect.poll(status).toBe(200);
    expect(asked.size).toBeLessThan(100);
    expect(watch.troubles).toEqual([]);
  });
});

const json = { 'content-type': 'application/json', 'x-nightrender-watch': '1' };

async function post(watch: Watch, path: string, body: unknown, headers: Record<string, string> = {}) {
  const options = { method: 'POST', headers: { ...json, ...headers } };
  const answer = await ask(watch, path, options, JSON.stringify(body));
  return { ...answer, said: answer.body.length === 0 ? {} : JSON.parse(answer.body.toString()) };
}

async function signedIn(watch: Watch, password: string): Promise<Record<string, string>> {
  const { status, said, headers } = await post(watch, '/session', { password });
  expect(status).toBe(200);
  const cookie = String(headers['set-cookie']?.[0]);
  expect(cookie).toMatch(/; HttpOnly; SameSite=Strict$/);
  return { cookie: cookie.split(';')[0] ?? '', 'x-nightrender-watch': said.token };
}

describe('marks', () => {
  const written = (watch: Watch): string =>
    existsSync(watch.marks) ? readFileSync(watch.marks, 'utf8') : '';

  firstTier.it('are saved for clients with the password, and shown to every viewer', async () => {
    const watch = await startWatch(undefined, 1);
    const owner = await signedIn(watch, passwords.owner);
    const changes = [
      { id: 's1', mark: 'star' },
      { id: 's2', mark: 'again' },
    ];
    expect((await post(watch, '/marks', changes, owner)).status).toBe(204);
    const news = JSON.parse((await ask(watch, '/data.json')).body.toString()) as LiveNews;
    expect(news.marks).toEqual([
      ['s1', 'star'],
      ['s2', 'again'],
    ]);
    expect((await post(watch, '/marks', [{ id: 's2', mark: null }], owner)).status).toBe(204);
    const later = JSON.parse(
      (await ask(watch, `/data.json?since=${news.revision}`)).body.toString(),
    ) as LiveNews;
    expect(later.marks).toEqual([['s1', 'star']]);
    expect(written(watch).trim().split('\n')).toHaveLength(3);
  });

  firstTier.it('cannot be changed by others: no password, no token, another page, no JSON', async () => {
    const watch = await startWatch();
    const owner = await signedIn(watch, passwords.owner);
    const star = [{ id: 's1', mark: 'star' }];
    expect((await post(watch, '/marks', star)).status).toBe(401);
    // Browsers send the cookie to all programs of a host, whatever their port.
    expect((await post(watch, '/marks', star, { cookie: owner['cookie'] ?? '' })).status).toBe(401);
    for (const from of [
      { origin: 'http://evil.example' },
      { origin: 'http://127.0.0.1:9' },
      { origin: 'null' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site' },
    ])
      expect((await post(watch, '/marks', star, { ...owner, ...from })).status).toBe(403);
    expect((await post(watch, '/marks', star, { ...owner, 'content-type': 'text/plain' })).status).toBe(415);
    for (const wrong of [
      {},
      [],
      [{ id: '', mark: 'star' }],
      [{ id: 's1', mark: 'gold' }],
      [{ id: 's1' }],
      [null],
    ])
      expect((await post(watch, '/marks', wrong, owner)).status).toBe(400);
    expect(written(watch)).toBe('');
  });

  firstTier.it('of a viewer are stars alone, since the others lead to commands that cost money', async () => {
    const watch = await startWatch();
    const owner = await signedIn(watch, passwords.owner);
    const viewer = await signedIn(watch, passwords.viewer);
    expect((await post(watch, '/marks', [{ id: 's2', mark: 'again' }], owner)).status).toBe(204);
    expect((await post(watch, '/marks', [{ id: 's1', mark: 'star' }], viewer)).status).toBe(204);
    const before = written(watch);
    for (const refused of [
      [{ id: 's1', mark: 'again' }],
      [{ id: 's1', mark: 'reject' }],
      [{ id: 's2', mark: null }],
      [{ id: 's2', mark: 'star' }],
      [
        { id: 's3', mark: 'star' },
        { id: 's1', mark: 'again' },
      ],
    ])
      expect((await post(watch, '/marks', refused, viewer)).status).toBe(403);
    expect(written(watch)).toBe(before);
    expect((await post(watch, '/marks', [{ id: 's1', mark: null }], viewer)).status).toBe(204);
  });

  firstTier.it(
    'of the owner stay, whatever a viewer does, and the owner removes those of viewers',
    async () => {
      const watch = await startWatch(undefined, 1);
      const owner = await signedIn(watch, passwords.owner);
      const viewer = await signedIn(watch, passwords.viewer);
      const other = await signedIn(watch, passwords.viewer);
      const set = (id: string, mark: string | null, who: Record<string, string>) =>
        post(watch, '/marks', [{ id, mark }], who);
      for (const [id, who] of [
        ['s1', owner],
        ['s2', viewer],
        ['s3', viewer],
      ] as const)
        expect((await set(id, 'star', who)).status).toBe(204);
      expect(await set('s1', null, viewer)).toMatchObject({
        status: 403,
        said: { error: 'this star was set with the other password, and this one cannot remove it' },
      });
      // Setting a star again changes nothing, and the star still belongs to the viewer who set it first.
      expect((await set('s1', 'star', viewer)).status).toBe(204);
      expect((await set('s1', null, viewer)).status).toBe(403);
      expect((await set('s2', null, other)).status).toBe(204);
      expect((await set('s3', null, owner)).status).toBe(204);
      expect((await set('s9', null, viewer)).status).toBe(204);
      expect(newsIn((await ask(watch, '/data.json')).body).marks).toEqual([['s1', 'star']]);
    },
  );

  firstTier.it(
    'are changed behind a reverse proxy, which sends another Host than the browser knows',
    async () => {
      const watch = await startWatch();
      const there = { origin: 'https://gallery.example', 'sec-fetch-site': 'same-origin' };
      const { status, said, headers } = await post(watch, '/session', { password: passwords.owner }, there);
      expect(status).toBe(200);
      const cookie = String(headers['set-cookie']?.[0]).split(';')[0] ?? '';
      const owner = { cookie, 'x-nightrender-watch': said.token, ...there };
      expect((await post(watch, '/marks', [{ id: 's1', mark: 'star' }], owner)).status).toBe(204);
    },
  );

  firstTier.it('that change nothing are not written, and a long password is not read', async () => {
    const watch = await startWatch();
    const owner = await signedIn(watch, passwords.owner);
    const star = [{ id: 's1', mark: 'star' }];
    for (let n = 0; n < 3; n += 1) expect((await post(watch, '/marks', star, owner)).status).toBe(204);
    expect(written(watch).match(/\n/g)).toHaveLength(1);
    expect((await post(watch, '/session', { password: 'x'.repeat(5_000) })).status).toBe(400);
  });

  firstTier.it('that the disk does not take are refused with a message', async () => {
    const watch = await startWatch();
    const owner = await signedIn(watch, passwords.owner);
    watch.problem = 'The disk is full.';
    const { status, said } = await post(watch, '/marks', [{ id: 's1', mark: 'star' }], owner);
    expect([status, said]).toEqual([507, { error: 'The disk is full.' }]);
  });

  firstTier.it('need the right password, and guessing it takes for ever', async () => {
    const watch = await startWatch();
    for (let n = 0; n < 20; n += 1)
      expect((await post(watch, '/session', { password: `guess ${n}` })).status).toBe(401);
    const late = await post(watch, '/session', { password: passwords.owner });
    expect([late.status, Number(late.headers['retry-after']) > 0]).toEqual([429, true]);
  });

  rest.it(
    'can be kept by others behind the same proxy while one guesses, who cannot pretend to be many',
    async () => {
      const watch = await startWatch();
      const from = (address: string, password: string) =>
        post(watch, '/session', { password }, { 'x-forwarded-for': `1.2.3.4, ${address}` });
      for (let n = 0; n < 20; n += 1) expect((await from('9.9.9.9', `guess ${n}`)).status).toBe(401);
      expect((await from('9.9.9.9', passwords.owner)).status).toBe(429);
      expect((await from('8.8.8.8', passwords.owner)).status).toBe(200);
      const viewer = await signedIn(watch, passwords.viewer);
      for (let n = 0; n < 180; n += 1) await from(`7.7.${n}.1`, `further guess ${n}`);
      expect((await from('6.6.6.6', passwords.owner)).status).toBe(429);
      // A valid session still works while guesses are limited.
      expect((await post(watch, '/marks', [{ id: 's1', mark: 'star' }], viewer)).status).toBe(204);
    },
  );

  firstTier.it(
    'and everything else are for people with a password alone, if the page is private',
    async () => {
      const watch = await startWatch(undefined, undefined, { isPrivate: true });
      const paths = ['/data.json', '/rows/a/1.json', fox, '/thumbnails/ab/cd.webp'];
      for (const path of paths) {
        const { status, body } = await ask(watch, path);
        expect([status, body.toString()]).toEqual([401, '{"error":"enter the password of this page"}']);
      }
      expect(watch.readings).toBe(0);
      expect((await ask(watch, '/')).status).toBe(200);
      const viewer = await signedIn(watch, passwords.viewer);
      for (const path of ['/data.json', fox, '/thumbnails/ab/cd.webp'])
        expect((await ask(watch, path, { headers: viewer })).status).toBe(200);
      // Browsers send the cookie to other programs of the host too. The cookie alone must not let them read
      // prompts.
      const cookie = { cookie: viewer['cookie'] };
      expect((await ask(watch, '/data.json', { headers: cookie })).status).toBe(401);
      expect((await ask(watch, fox, { headers: cookie })).status).toBe(200);
      const left = await ask(watch, '/session', { method: 'DELETE', headers: viewer });
      expect([left.status, left.headers['set-cookie']?.[0]]).toEqual([
        204,
        expect.stringContaining('Max-Age=0'),
      ]);
      expect((await ask(watch, '/data.json', { headers: viewer })).status).toBe(401);
    },
  );
});
