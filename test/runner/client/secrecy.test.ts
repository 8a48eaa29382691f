/**
 * Promise: the key is in no reply, wherever the service repeats it. The helpers of this folder also check
 * every reply.
 */
import { describe, expect, it } from 'vitest';
import type { StatusReply } from '../../../src/runner/pipeline/ports.ts';
import { answer, answerJson, scriptedServer } from '../../fakes/scripted-server.ts';
import {
  canary,
  cancelAnswered,
  clientOf,
  failure,
  healthAnswered,
  jobId,
  statusFrom,
  submitTo,
} from './client.ts';
import { withoutKey, chunksWithoutKey } from '../../../src/runner/client/http-service.ts';

const page = `<html><head><title>No access with ${canary}</title></head></html>`;
const encoded = encodeURIComponent(canary);
const statuses = [200, 202, 302, 400, 401, 402, 403, 404, 409, 410, 425, 429, 500, 502];

describe.each(statuses)('the key is hidden in an answer with %i', (status) => {
  it.each<[string, string]>([
    ['text', `your key ${canary} is odd`],
    ['JSON', JSON.stringify({ error: `key ${canary}` })],
    ['JSON that escapes it', `{"error":"${Array.from(canary, escaped).join('')}"}`],
    ['text in another case', `bad header: bearer ${canary.toLowerCase()}, ${canary.toUpperCase()}`],
    ['a title', page],
    ['a list', JSON.stringify([canary])],
    ['keys of JSON', JSON.stringify({ [canary]: canary })],
    ['an address', `see https://service.example/?key=${encoded}`],
    ['text that is cut within it', `${'x'.repeat(490)}${canary}${'y'.repeat(4_000)}`],
    ['a message that is cut within it', JSON.stringify({ message: `${'x'.repeat(492)}${canary} and more` })],
  ])('the key is hidden as %s', async (_, body) => {
    const script = answer(status, body, { Location: `https://else.example/${canary}/${encoded}` });
    const asked = [submitTo, statusFrom, cancelAnswered, healthAnswered].map((ask) => ask(script));
    for (const reply of await Promise.all(asked)) {
      expect(JSON.stringify(reply)).not.toMatch(/canary/i);
    }
  });
});

it.each<[string, object]>([
  ['the status', { status: canary }],
  ['a long status', { status: `${'x'.repeat(50)}${canary}` }],
  ['the error', { status: 'FAILED', error: { message: canary } }],
  ['the output of a failure', { status: 'FAILED', output: canary }],
  ['the failure inside', { status: 'COMPLETED', output: { status: 'error', message: canary } }],
  ['something unknown', { status: 'COMPLETED', output: { [canary]: canary } }],
  ['a long unknown text', { status: 'COMPLETED', output: `${'x '.repeat(35)}${canary}${'y'.repeat(99)}` }],
  [
    'words of a picture',
    { status: 'COMPLETED', output: [{ image: 'https://a.example/b.png', ignored_words: [`a${canary}`] }] },
  ],
  [
    'the address of a picture',
    { status: 'COMPLETED', output: [{ image: `https://a.example/?k=${encoded}` }] },
  ],
])('the key is hidden in %s', async (_, job) => {
  const reply = await statusFrom(answerJson({ id: canary, ...job }));
  expect(reply.kind).not.toBe('missing');
  expect(JSON.stringify(reply)).not.toContain('CANARY');
});

it('the key is hidden in a job id, which is then not used: it would be recorded and shown', async () => {
  const { url } = await scriptedServer(answerJson({ id: 'job-abcdef0123456789', status: 'IN_QUEUE' }));
  const { submit } = clientOf(url, { apiKey: 'abcdef0123456789' });
  expect(await submit()).toEqual({ ...failure('unanswered', 'job id'), isEachLost: true });
});

it('the key is hidden in the URL reported for a broken connection', async () => {
  const server = await scriptedServer((socket) => socket.destroy());
  const reply = await clientOf(`${server.url}/${encoded}`).submit();
  expect(reply).toEqual(failure('unanswered', '/[key]/v2/'));
});

it('the key is hidden in what a broken connection brings', async () => {
  const script = answer(200, `{"id":"${canary}`, { 'Content-Length': '9999' });
  expect(await submitTo((socket, request) => (script(socket, request), socket.end()))).toEqual(
    failure('unanswered'),
  );
});

it('the key is hidden in what is kept of an output, at any depth', () => {
  const output = { rest: { [`a ${canary}`]: [`b ${canary}`, 3, null, { c: canary }] }, texts: [canary] };
  const reply = { kind: 'completed', status: '', pictures: [{ base64: 'AAAA', output }] } as const;
  expect(withoutKey<StatusReply>({ ...reply, pictures: [...reply.pictures] }, canary)).toEqual({
    ...reply,
    pictures: [
      {
        base64: 'AAAA',
        output: { rest: { 'a [key]': ['b [key]', 3, null, { c: '[key]' }] }, texts: ['[key]'] },
      },
    ],
  });
});

it.each([
  ['with its name, of which each part tells it', 'me:0123456789', 'key 0123456789 of me', 'key [key] of me'],
  ['with a part that is a word', 'longer-name:secret', 'a secret', 'a secret'],
  ['with a short name', 'a:bcde', 'bcde and a:bcde', 'bcde and [key]'],
])('a key %s is hidden', (_, key, text, clean) => {
  expect(withoutKey({ kind: 'missing', text }, key)).toEqual({ kind: 'missing', text: clean });
});

it('the key is not removed from pictures, and texts stay unchanged without a key', () => {
  const completed = { kind: 'completed', status: 'COMPLETED', pictures: [{ base64: 'abcdabcd' }] } as const;
  expect(withoutKey({ ...completed, pictures: [...completed.pictures] }, 'abcd')).toEqual(completed);
  expect(withoutKey({ kind: 'missing', text: 'words' }, '')).toEqual({ kind: 'missing', text: 'words' });
});

it('a job id without a part of the key stays unchanged', async () => {
  expect(await submitTo(answerJson({ id: jobId }))).toMatchObject({ jobId });
});

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

it('the key is in no kept answer, wherever it is cut into parts, and base64 that looks like it stays', async () => {
  const base64 = `iVBOR${canary.slice(0, 6)}AAAA`;
  const other = 'comfyui-4711/0815';
  const body = JSON.stringify({ echo: `Bearer ${canary}`, url: encoded, image: base64, other });
  const escapedSlash = body.replaceAll('/', String.raw`\/`);
  for (const text of [body, escapedSlash]) {
    for (let size = 1; size < 60; size++) {
      const parts: Uint8Array[] = [];
      const write = chunksWithoutKey(async (chunk) => void parts.push(chunk), [canary, other]);
      for (let at = 0; at < text.length; at += size) await write(Buffer.from(text.slice(at, at + size)));
      await write(new Uint8Array());
      const kept = JSON.parse(Buffer.concat(parts).toString()) as unknown;
      expect(kept, `parts of ${size}`).toEqual({
        echo: 'Bearer [key]',
        url: '[key]',
        image: base64,
        other: '[key]',
      });
    }
  }
});
