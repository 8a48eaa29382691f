/** Promise: the page's server is for this machine alone, changes nothing, and sends nothing but the batch and its pictures. */
import { rmSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startBroadcast } from '../../../src/runner/watch/broadcast.ts';
import { ask, pictureOf, png, startWatch, webp } from './watch-harness.ts';

const fox = '/images/day%20one/fox%20%26%20100%20%25.png';

describe('who may ask', () => {
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
    for (const path of ['/', '/data.json', '/events', fox]) {
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
      for (const path of ['/', '/data.json', '/events', fox]) {
        const answer = await ask(watch, path, { method });
        expect(answer.status).toBe(405);
        expect(answer.headers.allow).toBe('GET, HEAD');
      }
    },
  );

  it('sites may not read it, frame it or run anything in it, as every answer says', async () => {
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

describe('a picture', () => {
  it('comes whole, as what it is, and not again while it is the same', async () => {
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

  it('comes in the place of its thumbnail while there is none, and is not kept for it', async () => {
    const watch = await startWatch();
    // What is there is the WebP of an earlier version.
    const small = await ask(watch, '/thumbnails/ab/cd.jpg?of=day%20one/fox%20%26%20100%20%25.png');
    expect([small.headers['content-type'], small.body.equals(webp)]).toEqual(['image/webp', true]);
    const large = await ask(watch, '/thumbnails/ab/no.jpg?of=day%20one/fox%20%26%20100%20%25.png');
    expect([large.headers['content-type'], large.body.length]).toEqual(['image/png', png.length]);
    expect(large.headers['cache-control']).toBe('private, no-cache');
    expect((await ask(watch, '/thumbnails/ab/no.jpg')).status).toBe(404);
    expect((await ask(watch, '/thumbnails/ab/no.jpg?of=../checkpoint.sqlite')).status).toBe(404);
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

describe('nothing else is sent:', () => {
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
  ])('%s', async (path) => {
    const watch = await startWatch();
    const { status, body } = await ask(watch, path);
    expect(status).toBe(404);
    expect(body.toString()).toBe('Not found.\n');
    expect(watch.troubles).toEqual([]);
  });

  it('what a link leads to outside of the folder, and what is no picture, whatever its name', async () => {
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

  it('where the folder of pictures is a link itself, what is in it', async () => {
    const watch = await startWatch();
    const elsewhere = await startWatch();
    rmSync(watch.imagesDir, { recursive: true });
    symlinkSync(elsewhere.imagesDir, watch.imagesDir);
    expect((await ask(watch, fox)).status).toBe(200);
  });
});

describe('the data', () => {
  it('is the batch, the pictures before one, or the story of one, and is never kept', async () => {
    const watch = await startWatch();
    watch.batch = { ...watch.batch, newest: [pictureOf(3), pictureOf(2), pictureOf(1)] };
    const all = await ask(watch, '/data.json');
    expect(all.headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' });
    expect(JSON.parse(all.body.toString())).toMatchObject({
      name: 'night/out',
      run: { kind: 'none' },
      now: expect.any(Number),
    });
    const before = JSON.parse((await ask(watch, '/data.json?before=2')).body.toString()) as object;
    expect(before).toEqual({ pictures: [pictureOf(1)] });
    expect((await ask(watch, '/data.json?picture=9')).status).toBe(404);
    const odd = await ask(watch, "/data.json?before=1'--");
    expect(JSON.parse(odd.body.toString())).toEqual({ pictures: [] });
  });

  it('is read once for all who ask at once', async () => {
    const { batch } = await startWatch();
    let readings = 0;
    const broadcast = startBroadcast({ read: async () => ((readings += 1), batch) });
    await Promise.all(Array.from({ length: 50 }, () => broadcast.latest()));
    expect(readings).toBe(1);
    await broadcast.latest();
    expect(readings).toBe(1);
  });
});

describe('the events', () => {
  it('begin with the batch, tell all tabs of a change with one reading', async () => {
    const watch = await startWatch();
    watch.batch = { ...watch.batch, newest: [pictureOf(1)] };
    const tabs = await Promise.all([listen(watch.url), listen(watch.url), listen(watch.url)]);
    for (const tab of tabs) expect(await tab.event('batch')).toMatchObject({ newest: [{ id: 1 }] });
    const readings = watch.readings;
    watch.batch = { ...watch.batch, run: { kind: 'starting' }, newest: [pictureOf(2), pictureOf(1)] };
    for (const tab of tabs)
      expect(await tab.event('change')).toMatchObject({ run: { kind: 'starting' }, newest: [{ id: 2 }] });
    expect(watch.readings - readings).toBeLessThanOrEqual(2);
    // Only what is new comes with a change.
    expect(tabs[0]?.text()).not.toMatch(/event: change\ndata: .*"id":1[,}]/);
    for (const tab of tabs) await tab.leave();
  });

  it('reach others while one does not read, or sends half a request', async () => {
    const watch = await startWatch();
    const { port } = new URL(watch.url);
    const lazy = Array.from({ length: 30 }, (_, i) => {
      const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
      socket.write(i % 2 === 0 ? `GET ${fox} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(20) : 'GET / HT');
      return socket.pause();
    });
    const tab = await listen(watch.url);
    expect(await tab.event('batch')).toMatchObject({ name: 'night/out' });
    expect((await ask(watch, fox)).body.length).toBe(png.length);
    for (const socket of lazy) socket.destroy();
    await tab.leave();
  });
});

it('lets go of a client that asks on and on without taking what it is sent', async () => {
  const watch = await startWatch();
  const { port } = new URL(watch.url);
  const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
  socket.write(`GET ${fox} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(50));
  let bytes = 0;
  socket.on('data', (part) => (bytes += part.length));
  await once(socket, 'close');
  expect(bytes).toBeLessThan(2 * png.length);
});

interface Tab {
  /** The data of the first such event that has not been told yet. */
  event(name: string): Promise<unknown>;
  text(): string;
  leave(): Promise<void>;
}

async function listen(url: string): Promise<Tab> {
  const response = await fetch(`${url}events`);
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  let told = 0;
  return {
    text: () => text,
    event: async (name) => {
      for (;;) {
        const found = new RegExp(`event: ${name}\ndata: (.*)\n\n`).exec(text.slice(told));
        if (found !== null) {
          told += found.index + found[0].length;
          return JSON.parse(found[1] ?? '') as unknown;
        }
        const part = await reader?.read();
        if (part === undefined || part.done) throw new Error(`the events ended without ${name}: ${text}`);
        text += part.value;
      }
    },
    leave: async () => reader?.cancel(),
  };
}
