/**
 * Promise: origin and copyright metadata of a picture survive conversion. A conversion that would break a
 * signature is reported.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import type { Submitted } from '../../../src/runner/core/attempt.ts';
import { provenanceOf } from '../../../src/runner/core/provenance.ts';
import { isSigned } from '../../../src/runner/images/png-metadata.ts';
import { memoryPlace } from '../../fakes/memory-place.ts';
import { createImageStore } from '../../../src/runner/images/image-store.ts';
import { copyMaker, sidecarMaker } from '../../../src/runner/images/sidecars.ts';
import { chunksOf, noise, pngOf } from './pictures.ts';
import { temporaryFolder } from './store.ts';

const hasExifTool = spawnSync('exiftool', ['-ver']).status === 0;

const writer = { program: 'nightrender 1.2.3', rules: 3 } as const;
const attempt = {
  sceneId: 'cat',
  input: { prompt: 'a cat' },
  job: {
    jobId: 'job-1',
    endpoint: { baseUrl: 'https://api.example.com', id: 'ep', version: 'v2' },
  },
} as unknown as Submitted;
const provenance = provenanceOf(attempt, 0, {});

const source = 'http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia';
const xmp = `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/" xmlns:tiff="http://ns.adobe.com/tiff/1.0/" tiff:Orientation="6" Iptc4xmpExt:DigitalSourceType="${source}"/></rdf:RDF></x:xmpmeta>`;

function marked() {
  return noise(64, 48)
    .withXmp(xmp)
    .withExif({ IFD0: { Software: 'a model', ImageDescription: 'a cat' } })
    .withMetadata({ orientation: 6 });
}

/**
 * Adds the IPTC record 2:80 (by-line), which names the author (IPTC-IIM 4.2, in a Photoshop APP13 segment).
 */
function withIptc(jpeg: Buffer): Buffer {
  const record = Buffer.from('\u001c\u0002\u0050\0\u0007a model', 'latin1');
  const block = Buffer.concat([
    Buffer.from('Photoshop 3.0\x008BIM\u0004\u0004\0\0\0\0\0', 'latin1'),
    Buffer.of(record.length),
    record,
  ]);
  return withSegment(jpeg, 0xed, block);
}

function withSegment(jpeg: Buffer, marker: number, data: Buffer): Buffer {
  const head = Buffer.of(0xff, marker, (data.length + 2) >> 8, (data.length + 2) & 255);
  return Buffer.concat([jpeg.subarray(0, 2), head, data, jpeg.subarray(2)]);
}

async function converted(bytes: Buffer, isBlankRefused = false): Promise<Buffer> {
  const checked = await createImageStore(memoryPlace(), { blank: isBlankRefused }).check({ bytes });
  return 'content' in checked ? Buffer.from(checked.content) : expect.fail(checked.text);
}

describe.each([false, true])('a PNG (blank ones refused: %s)', (isBlankRefused) => {
  test.each([
    ['JPEG', () => marked().jpeg()],
    ['WebP', () => marked().webp()],
    ['AVIF', () => marked().avif()],
  ])('made of a %s keeps EXIF and XMP, and says that it is upright', async (_, make) => {
    const png = await converted(await make().toBuffer(), isBlankRefused);
    const metadata = await sharp(png).metadata();
    expect(metadata.exif?.toString('latin1')).toMatch(/a cat[^]*a model|a model[^]*a cat/);
    expect(metadata.xmp?.toString()).toContain(`DigitalSourceType="${source}"`);
    expect(metadata.xmp?.toString()).toContain('tiff:Orientation="1"');
    expect(metadata.orientation ?? 1).toBe(1);
    const again = await createImageStore(memoryPlace()).check({ bytes: png });
    expect(again).toMatchObject({ content: png });
  });

  test.skipIf(!hasExifTool)('is read by ExifTool (skipped if there is no exiftool)', async () => {
    const file = join(temporaryFolder(), 'a.png');
    writeFileSync(file, await converted(withIptc(await marked().jpeg().toBuffer()), isBlankRefused));
    const told = execFileSync('exiftool', ['-j', '-n', '-G1', file], { encoding: 'utf8' });
    const [tags] = JSON.parse(told) as Record<string, unknown>[];
    expect(tags).toMatchObject({
      'IPTC:By-line': 'a model',
      'IFD0:Software': 'a model',
      'XMP-iptcExt:DigitalSourceType': source,
    });
    expect(tags).not.toHaveProperty('ExifTool:Warning');
  });
});

test('copies keep the origin that the picture states', async () => {
  const beside = (['webp', 'jpeg', 'avif'] as const).map((format) =>
    copyMaker({ format, quality: 80, size: 32 }, () => expect.fail()),
  );
  const png = await converted(await marked().jpeg().toBuffer());
  const checked = await createImageStore(memoryPlace(), { beside }).check({ bytes: png });
  if (!('content' in checked)) return expect.fail(checked.text);
  expect(checked.beside).toHaveLength(3);
  for (const { bytes } of checked.beside ?? []) {
    const metadata = await sharp(bytes).metadata();
    expect(metadata.xmp?.toString()).toContain(source);
    expect(metadata.exif?.toString('latin1')).toContain('a model');
  }
});

const jumbf = Buffer.from('JP\0\u0001\0\0\0\u0001\0\0\0\u0020jumb\0\0\0\u0018jumdc2pa', 'latin1');

const signed = {
  PNG: async () => {
    const [header, ...rest] = chunksOf(await noise(8, 8).png().toBuffer());
    return pngOf([header ?? expect.fail(), { type: 'caBX', data: jumbf }, ...rest]);
  },
  JPEG: async () => withSegment(await noise(8, 8).jpeg().toBuffer(), 0xeb, jumbf),
  WebP: async () => {
    const webp = Buffer.concat([
      await noise(8, 8).withXmp(xmp).webp().toBuffer(),
      Buffer.from('C2PA\u001c\0\0\0', 'latin1'),
      jumbf,
    ]);
    webp.writeUInt32LE(webp.length - 8, 4);
    return webp;
  },
  AVIF: async () => {
    const avif = await noise(8, 8).avif().toBuffer();
    const type = Buffer.from('75756964d8fec3d61b0e483c92975828877ec481', 'hex');
    const framed = Buffer.concat([Buffer.alloc(4), type, jumbf]);
    framed.writeUInt32BE(framed.length, 0);
    return Buffer.concat([avif, framed]);
  },
};

describe.each(['PNG', 'JPEG', 'WebP', 'AVIF'] as const)('a signed %s', (format) => {
  test('is known by its Content Credentials, and an unsigned one is not', async () => {
    expect(isSigned(await signed[format]())).toBe(true);
    const picture = noise(8, 8);
    const encoded = {
      PNG: picture.png(),
      JPEG: picture.jpeg(),
      WebP: picture.webp(),
      AVIF: picture.avif(),
    }[format];
    expect(isSigned(await encoded.toBuffer())).toBe(false);
  });

  test('stays whole if provenance is embedded: that is beside it', async () => {
    const bytes = await signed[format]();
    const store = createImageStore(memoryPlace(), {
      isOriginalKept: true,
      embedsAs: writer,
      beside: [sidecarMaker(writer, 'embed')],
      onSignatureLost: () => expect.fail(),
    });
    const checked = await store.check({ bytes }, provenance);
    expect(checked).toMatchObject({ content: bytes, beside: [{ ending: '.json' }] });
  });

  if (format !== 'PNG')
    test('is reported if a conversion loses it', async () => {
      let told = 0;
      const store = createImageStore(memoryPlace(), { onSignatureLost: () => (told += 1) });
      expect(await store.check({ bytes: await signed[format]() })).toMatchObject({ format: 'PNG' });
      expect(told).toBe(1);
    });
});

test('an unsigned PNG says itself where it comes from, and has no sidecar', async () => {
  const beside = [sidecarMaker(writer, 'embed')];
  const store = createImageStore(memoryPlace(), { embedsAs: writer, beside });
  const checked = await store.check({ bytes: await noise(8, 8).png().toBuffer() }, provenance);
  expect(checked).toMatchObject({ beside: [] });
});
