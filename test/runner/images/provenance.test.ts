/** Promise: a picture records its origin so that common programs can read it, and its pixels are unchanged. */
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import type { Submitted } from '../../../src/runner/core/attempt.ts';
import type { Picture } from '../../../src/runner/core/picture.ts';
import { provenanceOf, type Provenance } from '../../../src/runner/core/provenance.ts';
import { folderPlace } from '../../../src/runner/images/folder-place.ts';
import { memoryPlace } from '../../fakes/memory-place.ts';
import { createImageStore } from '../../../src/runner/images/image-store.ts';
import { inspectPicture } from '../../../src/runner/images/inspect-picture.ts';
import { readTexts, withTexts } from '../../../src/runner/images/png-metadata.ts';
import { sidecarMaker, withoutProvenance } from '../../../src/runner/images/sidecars.ts';
import { inspector } from '../../../src/runner/images/saved-files.ts';
import { withBefore } from './damage.ts';
import { chunksOf, noise } from './pictures.ts';
import { filesIn, temporaryFolder } from './store.ts';

const attempt = {
  sceneId: 'harbour-2',
  input: {
    prompt: 'A harbour, "at dusk"\nwith 夜 and 👩‍🚀',
    steps: 30,
    cfg_scale: 7.5,
    negative_prompt: 'people',
    seed: 7,
  },
  job: {
    jobId: 'job-1-u1',
    endpoint: { baseUrl: 'https://api.example.com', id: 'ep', version: 'v2' },
  },
} as unknown as Submitted;
const provenance = provenanceOf(attempt, 0, { seed: '18446744073709551615' });
const program = 'nightrender 1.2.3';
const writer = { program, rules: 3 } as const;

it('provenance can be removed, also that of other programs, while marks of author and rights stay', async () => {
  const bare = await noise(8, 8).png().toBuffer();
  const kept = [
    { keyword: 'XML:com.adobe.xmp', text: '<x:xmpmeta xmlns:x="adobe:ns:meta/"/>' },
    { keyword: 'Copyright', text: '© Anna' },
  ];
  // ComfyUI and other programs use these keywords.
  const making = ['prompt', 'workflow', 'parameters', 'Description', 'Comment', 'nightrender'].map(
    (keyword) => ({
      keyword,
      text: `{"text": "a fox", "model": "/home/anna/${keyword}.safetensors"}`,
    }),
  );
  const full = withTexts(bare, [...making.slice(0, 3), ...kept, ...making.slice(3)]);
  expect(withoutProvenance(full)).toEqual(withTexts(bare, kept));
  expect(withoutProvenance(bare)).toBe(bare);
});

describe('embedded', () => {
  it.each([
    ['plain', () => noise(40, 30).png()],
    ['interlaced', () => noise(40, 30).png({ progressive: true })],
    ['16 bit', () => noise(40, 30).toColourspace('rgb16').png()],
    ['palette', () => noise(40, 30).png({ palette: true })],
    ['grey with alpha', () => noise(40, 30).toColourspace('b-w').ensureAlpha(0.5).png()],
    ['of 8 MB', () => noise(1700, 1700).png({ compressionLevel: 1 })],
  ])('a PNG keeps every chunk that it came with: %s', async (_, make) => {
    const came = await make().toBuffer();
    const checked = await embedded(came);
    expect(checked.sha256).toBe(createHash('sha256').update(checked.content).digest('hex'));
    const chunks = chunksOf(Buffer.from(checked.content));
    expect(chunks.map(({ type }) => type).slice(0, 3)).toEqual(['IHDR', 'iTXt', 'iTXt']);
    const said = ({ type, data }: (typeof chunks)[number]) => [type, data.toString('base64')];
    expect(chunks.filter(({ type }) => type !== 'iTXt').map(said)).toEqual(chunksOf(came).map(said));
    const { comments = [] } = await sharp(checked.content).metadata();
    const own = comments.find(({ keyword }) => keyword === 'nightrender')?.text ?? '';
    expect(JSON.parse(own)).toEqual({
      formatVersion: 1,
      program,
      scene: 'harbour-2',
      prompt: attempt.input['prompt'],
      input: attempt.input,
      seed: '18446744073709551615',
      number: 1,
      jobId: 'job-1-u1',
      endpoint: attempt.job.endpoint,
      rules: 3,
    });
  });

  it('has the layout that other programs read', async () => {
    const { content: png } = await embedded(await noise(40, 30).png().toBuffer());
    const { text } = readTexts(Buffer.from(png)).find(({ keyword }) => keyword === 'parameters') ?? {
      text: '',
    };
    expect(text.split('\n')).toEqual([
      'A harbour, "at dusk"',
      'with 夜 and 👩‍🚀',
      'Negative prompt: people',
      'Steps: 30, CFG scale: 7.5, Seed: 18446744073709551615, Size: 40x30, Job: job-1-u1, Endpoint: https://api.example.com ep, Version: nightrender 1.2.3',
    ]);
  });

  it('leaves the parameters that the service wrote the only ones', async () => {
    const came = withText(await noise(9, 7).png().toBuffer(), 'tEXt', 'parameters\0a cat\nSteps: 20');
    const { content: png } = await embedded(came);
    const texts = readTexts(Buffer.from(png));
    expect(texts.map(({ keyword }) => keyword)).toEqual(['nightrender', 'parameters']);
    expect(texts[1]?.text).toBe('a cat\nSteps: 20');
  });

  it('a JPEG of inks becomes a PNG that has it as well', async () => {
    const { content: png } = await embedded(await noise(40, 30).toColourspace('cmyk').jpeg().toBuffer());
    expect(readTexts(Buffer.from(png)).map(({ keyword }) => keyword)).toEqual(['nightrender', 'parameters']);
  });

  it('passes verification', async () => {
    const dir = temporaryFolder();
    const checked = await embedded(await noise(40, 30).png().toBuffer());
    await createImageStore(folderPlace(dir)).write(checked, 'a.png');
    const { width, height, sha256, content } = checked;
    const recorded = { file: 'a.png', width, height, sha256, bytes: content.length };
    const verdict = await inspector(folderPlace(dir), false)(recorded);
    expect(verdict).toEqual({ kind: 'good' });
  });

  it('a damaged picture is identified by the received bytes, whichever job brought it', async () => {
    const store = createImageStore(memoryPlace(), { embedsAs: writer });
    const bytes = (await noise(9, 7).png().toBuffer()).subarray(0, -20);
    const one = await store.check({ bytes }, provenance);
    expect(await store.check({ bytes }, { ...provenance, jobId: 'another' })).toEqual(one);
  });
});

it('leaves the received bytes if nothing is requested', async () => {
  const came = await noise(9, 7).png().toBuffer();
  const checked = (await createImageStore(memoryPlace()).check({ bytes: came }, provenance)) as Picture;
  expect(came.equals(checked.content)).toBe(true);
  expect(checked).not.toHaveProperty('beside');
});

it('files that were sent as text are not part of the provenance', () => {
  const photo = 'x'.repeat(3_000_000);
  const { input } = provenanceOf({ ...attempt, input: { image: photo, list: [photo], prompt: 'p' } }, 1, {});
  expect(JSON.stringify(input).length).toBeLessThan(500);
  expect(input['image']).toBe(`${'x'.repeat(100)}… (2,999,900 characters left out)`);
});

it.each([
  [{ Prompt: 'a', scene: 'b' }, 'a'],
  [{ steps: 3, scene: 'b' }, 'b'],
  [{ steps: 3, text: 'c', more: 'd' }, 'c'],
  [{ steps: 3 }, undefined],
])('the prompt of %j is %j', (input, prompt) => {
  expect(provenanceOf({ ...attempt, input }, 0, {}).prompt).toBe(prompt);
});

describe('beside', () => {
  it('moves with its picture, and is made again if it is missing', async () => {
    const { dir, store, checked } = await sidecarred();
    expect(filesIn(dir)).toEqual(['x/a.json', 'x/a.png']);
    expect(checked.sha256).toBe(JSON.parse(readFileSync(join(dir, 'x/a.json'), 'utf8')).picture.sha256);
    await store.move('x/a.png', 'y/b.png');
    expect(filesIn(dir)).toEqual(['y/b.json', 'y/b.png']);
    // The program crashed between the two renames.
    await store.move('y/b.png', 'y/c.png');
    writeFileSync(join(dir, 'y/b.json'), readFileSync(join(dir, 'y/c.json')));
    rmSync(join(dir, 'y/c.json'));
    await store.move('y/b.png', 'y/c.png');
    expect(filesIn(dir)).toEqual(['y/c.json', 'y/c.png']);
    rmSync(join(dir, 'y/c.json'));
    const { width, height, sha256, content } = checked;
    await store.complete({ file: 'y/c.png', width, height, sha256, bytes: content.length }, provenance);
    expect(await inspectPicture(join(dir, 'y/c.png'))).toMatchObject({
      from: 'sidecar',
      isOfThisPicture: true,
    });
    await store.remove('y/c.png');
    expect(filesIn(dir)).toEqual([]);
  });
});

describe('inspectPicture', () => {
  it('reads the sidecar of a picture, and says if it belongs to another one', async () => {
    const { dir } = await sidecarred();
    const found = await inspectPicture(join(dir, 'x/a.png'));
    expect(found).toMatchObject({
      format: 'png',
      width: 40,
      height: 30,
      from: 'sidecar',
      isOfThisPicture: true,
    });
    expect(found).toHaveProperty('provenance.prompt', attempt.input['prompt']);
    writeFileSync(join(dir, 'x/a.png'), await noise(40, 30, 5).png().toBuffer());
    expect(await inspectPicture(join(dir, 'x/a.png'))).toMatchObject({
      from: 'sidecar',
      isOfThisPicture: false,
    });
    writeFileSync(join(dir, 'x/a.json'), '{"program": 3}');
    expect(await inspectPicture(join(dir, 'x/a.png'))).toMatchObject({ from: null, provenance: null });
  });

  it('reads texts of other programs, packed or not, and none that would fill the memory', async () => {
    const base = await noise(9, 7).png().toBuffer();
    const bomb = deflateSync(Buffer.alloc(50_000_000)).toString('latin1');
    const packed = deflateSync(Buffer.from('{"nodes": []}')).toString('latin1');
    const pngs = [
      withText(base, 'tEXt', 'parameters\0caf\u00E9'),
      withText(base, 'zTXt', `workflow\0\0${packed}`),
      withText(base, 'iTXt', `Title\0\u0001\0en\0Titel\0${packed}`),
      withText(base, 'zTXt', `bomb\0\0${bomb}`),
      withText(base, 'tEXt', 'no end'),
    ];
    expect(pngs.map(readTexts)).toEqual([
      [{ keyword: 'parameters', text: 'café' }],
      [{ keyword: 'workflow', text: '{"nodes": []}' }],
      [{ keyword: 'Title', text: '{"nodes": []}' }],
      [],
      [{ keyword: 'no end', text: '' }],
    ]);
    expect(readTexts(base.subarray(0, 40))).toEqual([]);
  });

  it('does not recognize endlessly nested data as ours', async () => {
    const dir = temporaryFolder();
    const nested = `{"program":"x","jobId":"y","input":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    const png = await noise(4, 4).png().toBuffer();
    writeFileSync(join(dir, 'a.png'), withText(png, 'iTXt', `nightrender\0\0\0\0\0${nested}`));
    expect(await inspectPicture(join(dir, 'a.png'))).toMatchObject({ from: null, provenance: null });
  });

  it('says what it cannot read', async () => {
    const dir = temporaryFolder();
    writeFileSync(join(dir, 'a.png'), 'no picture');
    expect(await inspectPicture(join(dir, 'a.png'))).toHaveProperty(
      'problem',
      'it is not a picture, or it is damaged',
    );
    expect(await inspectPicture(dir)).toHaveProperty('problem', 'it is not a file');
    expect(await inspectPicture(join(dir, 'b.png'))).toHaveProperty('problem', 'there is no such file');
  });
});

async function embedded(bytes: Buffer, of: Provenance = provenance): Promise<Picture> {
  const checked = await createImageStore(memoryPlace(), { embedsAs: writer }).check({ bytes }, of);
  if ('kind' in checked) expect.fail(checked.text);
  return checked;
}

async function sidecarred() {
  const dir = temporaryFolder();
  const store = createImageStore(folderPlace(dir), { beside: [sidecarMaker(writer, 'sidecar')] });
  const checked = await store.check({ bytes: await noise(40, 30).png().toBuffer() }, provenance);
  if ('kind' in checked) expect.fail(checked.text);
  await store.write(checked, 'x/a.png');
  return { dir, store, checked };
}

function withText(png: Buffer, type: string, text: string): Buffer {
  return withBefore(png, 'IEND', { type, data: Buffer.from(text, 'latin1') });
}
