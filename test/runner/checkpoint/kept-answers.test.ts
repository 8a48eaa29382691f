/**
 * Promise: if a result waits for a setting, the complete answer of its job is kept, readable only by its
 * owner, until the job is settled.
 */
import { readdirSync, statSync, writeFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { KeptAnswersFolder, type KeptLimits } from '../../../src/runner/checkpoint/kept-answers.ts';
import type { Attempt } from '../../../src/runner/core/attempt.ts';
import type { WriteChunk } from '../../../src/runner/pipeline/ports.ts';
import { temporaryFolder } from '../images/store.ts';

const open = (limits: Partial<KeptLimits> = {}, host = 'here') => {
  const folder = join(temporaryFolder(), 'kept-answers');
  const all = { kept: 1_000_000, body: 1_000_000, ...limits };
  return { folder, answers: new KeptAnswersFolder(folder, all, host) };
};

const attemptOf = (key: number, answer?: string): Attempt =>
  ({
    key,
    job: {
      held: {
        kind: 'picture-not-found',
        text: '',
        completedAt: 0,
        ...(answer !== undefined && { answer }),
      },
    },
  }) as unknown as Attempt;

const text = JSON.stringify({ output: { image_base64: 'iVBOR'.repeat(5_000) } });

const copyOf =
  (content: string, isWhole = true) =>
  async (write: WriteChunk): Promise<boolean> => {
    for (let at = 0; at < content.length; at += 1_000)
      await write(Buffer.from(content.slice(at, at + 1_000)));
    return isWhole;
  };

async function keep({ answers }: ReturnType<typeof open>, key: number, content = text): Promise<Attempt> {
  const kept = await answers.keep(attemptOf(key), copyOf(content));
  if (typeof kept !== 'object') throw new Error(`it was not kept: ${kept}`);
  return attemptOf(key, kept.answer);
}

it('a kept answer is read unchanged, also by a later run, and only by its owner', async () => {
  const opened = open();
  const attempt = await keep(opened, 7);
  expect(Buffer.from((await opened.answers.read(attempt)) as Uint8Array).toString()).toBe(text);
  const later = new KeptAnswersFolder(opened.folder, { kept: 1, body: 1_000_000 });
  expect(Buffer.from((await later.read(attempt)) as Uint8Array).toString()).toBe(text);
  expect(statSync(opened.folder).mode & 0o777).toBe(0o700);
  const [file = ''] = readdirSync(opened.folder);
  expect(statSync(join(opened.folder, file)).mode & 0o777).toBe(0o600);
  expect(statSync(join(opened.folder, file)).size).toBeLessThan(text.length / 10);
});

it('a kept answer cannot be read if its file is missing, truncated or replaced, or if the answer was incomplete', async () => {
  const opened = open();
  const attempt = await keep(opened, 7);
  const path = join(opened.folder, readdirSync(opened.folder)[0] ?? '');
  const packed = readFileSync(path);
  for (const content of [packed.subarray(0, -1), Buffer.from('x'), Buffer.alloc(0)]) {
    writeFileSync(path, content);
    expect(await opened.answers.read(attempt)).toBeUndefined();
  }
  await keep(opened, 7, `${text} `);
  expect(await opened.answers.read(attempt)).toBeUndefined();
  expect(await opened.answers.keep(attemptOf(8), copyOf(text, false))).toBeUndefined();
  expect(readdirSync(opened.folder)).toHaveLength(1);
});

it('a kept answer is too large to be read if it has more bytes than `limits.body`', async () => {
  const opened = open({ body: 1_000 });
  expect(await opened.answers.read(await keep(opened, 7))).toBe('too-large');
});

it('a kept answer is refused if `limits.kept` is reached, and what is kept stays', async () => {
  const random = Array.from({ length: 20_000 }, (_, i) => ((i * 7_919) % 65_521).toString(36)).join('');
  const opened = open({ kept: 20_000 });
  const first = await keep(opened, 1);
  expect(await opened.answers.keep(attemptOf(2), copyOf(random))).toBe('full');
  expect(await opened.answers.read(first)).toBeDefined();
  expect(readdirSync(opened.folder)).toHaveLength(1);
});

it('a kept answer is refused if `limits.kept` is reached by several that come at once', async () => {
  const texts = [7_919, 7_907].map((factor) =>
    Array.from({ length: 20_000 }, (_, i) => ((i * factor) % 65_521).toString(36)).join(''),
  );
  const opened = open({ kept: 70_000 });
  const kept = await Promise.all(texts.map((each, i) => opened.answers.keep(attemptOf(i), copyOf(each))));
  expect(kept).toContain('full');
  const sizes = readdirSync(opened.folder).map((name) => statSync(join(opened.folder, name)).size);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(70_000);
});

it('a kept answer is refused in order if the disk takes nothing', async () => {
  const { answers } = open();
  const unwritable = new KeptAnswersFolder('/proc/nightrender', { kept: 1_000, body: 1_000 });
  expect(await unwritable.keep(attemptOf(1), copyOf(text))).toBe('full');
  expect(await answers.read(attemptOf(1, 'none@here'))).toBeUndefined();
});

it('a kept answer is deleted when its attempt is settled, at once or by the next run', async () => {
  const opened = open();
  const attempts = [await keep(opened, 1), await keep(opened, 2), await keep(opened, 3)];
  await opened.answers.remove(attempts[0] as Attempt);
  expect(readdirSync(opened.folder)).toHaveLength(2);
  const next = new KeptAnswersFolder(opened.folder, { kept: 1_000_000, body: 1_000_000 });
  await next.sweep(async (keys) => keys.filter((key) => key === 3));
  expect(readdirSync(opened.folder)).toEqual(['3.answer.gz']);
});

it('a kept answer is known to be on another machine', async () => {
  const attempt = await keep(open({}, 'other-box'), 1);
  const { answers } = open();
  expect(await answers.elsewhere(attempt)).toBe('other-box');
  expect(await answers.read(attempt)).toBeUndefined();
});
