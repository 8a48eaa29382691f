/** Promise: while somebody guesses keys over real connections, other clients are admitted. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { addKey } from '../pull-harness.ts';
import { openWithConsole, ownPage } from '../console/visit.ts';
import { key } from '../service-harness.ts';

const start = 1_000_000;
let now = start;

interface Asker {
  /** Local address of the client. All addresses of 127.0.0.0/8 belong to this machine. */
  from: string;
  authorization: string;
}

async function health(url: string, { from, authorization }: Asker): Promise<IncomingMessage> {
  const sent = request(`${url}/v2/scene-renderer/health`, {
    localAddress: from,
    headers: { authorization },
    agent: false,
  });
  sent.end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  await text(answer);
  return answer;
}

async function signIn(url: string, from: string, signedInWith: string): Promise<number | undefined> {
  const sent = request(`${url}/console/api/session`, {
    method: 'POST',
    localAddress: from,
    headers: ownPage,
    agent: false,
  });
  sent.end(JSON.stringify({ key: signedInWith }));
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  answer.resume();
  return answer.statusCode;
}

async function statusOf(url: string, from: string, authorization: string): Promise<number | undefined> {
  return (await health(url, { from, authorization })).statusCode;
}

/** Tries wrong keys until told to wait. Returns the number of 401 answers before that. */
async function tryKeys(url: string, from: string): Promise<number> {
  for (let tried = 0; ; tried++)
    if ((await statusOf(url, from, `Bearer guess-${tried}`)) === 429) return tried;
}

async function open(): Promise<{ url: string; stored: string }> {
  now = start;
  const { url, dataDir } = await openWithConsole({ now: () => now });
  const stored = addKey(dataDir, 'admin');
  return { url, stored };
}

describe.skipIf(process.platform === 'darwin')(
  '(skipped on macOS, which has one loopback address only)',
  () => {
    it('tells an address that has tried 20 keys to wait, in seconds, and no other', async () => {
      const { url } = await open();
      expect(await tryKeys(url, '127.0.0.2')).toBe(20);
      now += 12_000;
      const told = await health(url, { from: '127.0.0.2', authorization: 'Bearer another' });
      expect([told.statusCode, told.headers['retry-after']]).toEqual([429, '48']);
      expect(await statusOf(url, '127.0.0.3', 'Bearer another')).toBe(401);
      now += 48_000;
      expect(await statusOf(url, '127.0.0.2', 'Bearer another')).toBe(401);
    });

    it('continues answering 401 to a program that says the same wrong key with all its requests', async () => {
      const { url } = await open();
      const asked = Array.from({ length: 50 }, () => statusOf(url, '127.0.0.2', 'Bearer a-typo'));
      expect(new Set(await Promise.all(asked))).toEqual(new Set([401]));
      await tryKeys(url, '127.0.0.2');
      expect(await statusOf(url, '127.0.0.2', 'Bearer a-typo')).toBe(401);
      expect(await statusOf(url, '127.0.0.2', '')).toBe(401);
    });

    it('always admits a stored key, also from the same address', async () => {
      const { url, stored } = await open();
      await tryKeys(url, '127.0.0.2');
      expect(await statusOf(url, '127.0.0.2', `Bearer ${stored}`)).toBe(200);
      expect(await signIn(url, '127.0.0.2', stored)).toBe(200);
    });

    it('does not reveal to a guesser that a key chosen by a person is right, unless it was used from there before', async () => {
      const { url } = await open();
      expect(await statusOf(url, '127.0.0.2', `Bearer ${key}`)).toBe(200);
      for (const address of ['127.0.0.2', '127.0.0.3']) await tryKeys(url, address);
      expect(await statusOf(url, '127.0.0.2', `Bearer ${key}`)).toBe(200);
      expect(await statusOf(url, '127.0.0.3', `Bearer ${key}`)).toBe(429);
      expect(await statusOf(url, '127.0.0.4', `Bearer ${key}`)).toBe(200);
    });

    it('blocks only clients that guess keys from the console, whether they guess there or at the interface', async () => {
      const { url } = await open();
      for (let tried = 0; tried < 20; tried++)
        expect(await signIn(url, '127.0.0.2', `guess-${tried}`)).toBe(401);
      expect(await signIn(url, '127.0.0.2', 'guess-20')).toBe(429);
      expect(await statusOf(url, '127.0.0.2', 'Bearer guess-21')).toBe(429);
      expect(await signIn(url, '127.0.0.3', key)).toBe(200);
    });
  },
);
