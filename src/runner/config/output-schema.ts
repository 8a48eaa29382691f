/** The key `output` of pipeline.yaml: where pictures are saved, and in which forms. */
import { isIP } from 'node:net';
import { z } from 'zod';
import { copyEnding, fileKinds, noPicture } from '../core/picture.ts';
import { bucketExpected, bucketUrl } from '../../lib/s3/bucket-address.ts';
import { count, path } from '../../lib/yaml/scalar-schemas.ts';

const qualities = { webp: 80, jpeg: 80, avif: 50 };

export const pictureCopy = z.strictObject({
  format: z
    .enum(['webp', 'jpeg', 'avif'], 'webp, jpeg or avif')
    .default('jpeg')
    .describe('the format of the copy'),
  quality: count(1, 100, 'the quality of the copy')
    .optional()
    .describe('the quality of the copy; 80 by default, 50 for AVIF'),
  size: count(16, 16_383, 'pixels of the longer side of the copy')
    .optional()
    .describe('the maximum size of the longer side, in pixels; that of the picture by default'),
  enlarge: z
    .boolean('true or false')
    .optional()
    .describe('true enlarges a smaller picture to `size` (Lanczos), which adds no detail'),
});

export const formats = z
  .array(
    pictureCopy.transform(({ quality, ...copy }) => ({
      ...copy,
      quality: quality ?? qualities[copy.format],
    })),
    'a list such as [{format: webp, quality: 80}, {format: jpeg, size: 512}]',
  )
  .superRefine((copies, context) => {
    for (const [i, { enlarge, size }] of copies.entries())
      if (enlarge === true && size === undefined)
        context.addIssue({
          code: 'custom',
          path: [i, 'enlarge'],
          message: 'size as well, the longer side in pixels',
        });
    const endings = copies.map(copyEnding);
    for (const [i, ending] of endings.entries())
      if (endings.indexOf(ending) < i)
        context.addIssue({
          code: 'custom',
          path: [i],
          message: `a copy with another name: ${ending} appears twice`,
        });
  })
  .default([])
  .describe('copies of each picture in other formats and sizes, saved next to it');

const hostExpected =
  'a host name such as cdn.example.com, *.example.com for all its subdomains, or http://192.168.1.5:9000 for a server of your own network';

/** A host as URLs spell it, with a port unless it is 443. A text that begins with `http://` is an origin. */
export const host = z.string(hostExpected).transform((text, context) => {
  const found = readHost(text);
  if (found !== undefined) return found;
  context.addIssue({ code: 'custom', message: hostExpected });
  return z.NEVER;
});

function readHost(text: string): string | undefined {
  if (/^\s*http:/i.test(text)) return readOrigin(text.trim());
  const [, below = '', name = ''] = /^(\*\.)?([^\s*/\\?#@:[\]]+(?::\d+)?)$/.exec(text.trim()) ?? [];
  const address = `https://${name}`;
  if (name === '' || !URL.canParse(address)) return undefined;
  const { host: spelled, hostname } = new URL(address);
  if (isIP(hostname) !== 0 || (below !== '' && !hostname.includes('.'))) return undefined;
  return below + spelled;
}

function readOrigin(text: string): string | undefined {
  return /^http:\/\/[^\s*/\\?#@]+\/?$/i.test(text) && URL.canParse(text) ? new URL(text).origin : undefined;
}

/** Normalized by `bucketUrl`. */
const bucket = z.string(bucketExpected).transform((text, context) => {
  const found = bucketUrl(text);
  if (found !== undefined) return found;
  context.addIssue({ code: 'custom', message: bucketExpected });
  return z.NEVER;
});

export const outputFile = z.strictObject({
  at: z
    .string('where the file is in the output, such as files.depth')
    .regex(/^[^\s."\\[\]]+(?:\.[^\s."\\[\]]+)*$/, 'keys joined by dots, such as files.depth')
    .describe('path in the output: keys joined by dots; a list of one object counts as that object'),
  kind: z
    .enum(fileKinds, 'png, exr, json, glb, npz, or a clip: mp4, webm, mov, gif, wav, mp3, flac or ogg')
    .describe('kind of the file, which is checked; `json` may be any value of the output'),
});

const label = /^[a-z][a-z0-9_-]{0,23}$/;
const labelExpected = 'a name such as depth: a small letter, then a-z, 0-9, - or _, 24 characters at most';

const maxFiles = 32;

export const files = z
  .record(z.string(), outputFile, 'files such as {depth: {at: files.depth, kind: exr}}')
  .superRefine((named, context) => {
    const names = Object.keys(named);
    for (const name of names.filter((each) => !label.test(each)))
      context.addIssue({
        code: 'custom',
        path: [name],
        params: { isOfName: true },
        message: labelExpected,
      });
    if (names.length > maxFiles) context.addIssue({ code: 'custom', message: `${maxFiles} files at most` });
  })
  .transform((named) =>
    Object.entries(named).map(([name, { at, kind }]) => ({ label: name, kind, at: at.split('.') })),
  )
  .prefault({})
  .describe('further files of each scene: `depth: {at: files.depth, kind: exr}`');

const maxValues = 64;

export const values = z
  .record(
    z.string(),
    z
      .string('where the value is in the output, such as quality.score')
      .regex(/^[^\s."\\[\]]+(?:\.[^\s."\\[\]]+)*$/, 'keys joined by dots, such as quality.score'),
    'values such as {score: quality.score}',
  )
  .superRefine((named, context) => {
    const names = Object.keys(named);
    for (const name of names.filter((each) => !/^[\p{L}_][\p{L}\p{N}_-]{0,63}$/u.test(each)))
      context.addIssue({
        code: 'custom',
        path: [name],
        params: { isOfName: true },
        message: 'a name such as score: a letter, then letters, digits, - or _, 64 characters at most',
      });
    if (names.includes('id'))
      context.addIssue({
        code: 'custom',
        path: ['id'],
        params: { isOfName: true },
        message: 'another name: id is the id of the scene',
      });
    if (names.length > maxValues)
      context.addIssue({ code: 'custom', message: `${maxValues} values at most` });
  })
  .transform((named) => Object.entries(named).map(([name, at]) => ({ name, at: at.split('.') })))
  .prefault({})
  .describe('numbers, texts, true and false of each output, as columns: `score: quality.score`');

export const output = z
  .strictObject({
    dir: path.describe('the folder of pictures, report and checkpoint, relative to this file'),
    pictures: bucket
      .optional()
      .describe('`s3://bucket/folder` puts the pictures there, with a copy of the report'),
    name: z
      .string('a template such as "{{ id }}.png"')
      .min(1, 'a template such as "{{ id }}.png"')
      .optional()
      .describe('file name: a template over `id`, `row`, `seed`, `index` and the columns; / makes folders'),
    image: z
      .string('the path of the picture in the output, such as images[0].data')
      .optional()
      .describe(
        `the path of the picture in the output: \`images[0].data\`; \`${noPicture}\` if jobs bring none`,
      ),
    media: z
      .string('video, audio, or the path of the clip in the output')
      .min(1, 'video, audio, or the path of the clip in the output')
      .refine(
        (text) => text === text.toLowerCase() || !/^(?:video|audio)$/i.test(text),
        'small letters: video or audio',
      )
      .optional()
      .describe('`video` or `audio` if jobs bring clips in place of pictures, or the path of the clip'),
    files,
    values,
    hosts: z
      .array(host, 'a list of host names such as [cdn.example.com]')
      .prefault([])
      .describe('allowed hosts for downloads: `cdn.example.com`, `*.example.com`, `http://minio.lan:9000`'),
    keep: z
      .enum(['png', 'original'], 'png or original')
      .default('png')
      .describe('converts JPEG, WebP and AVIF to `png`, or saves them as they came (`original`)'),
    formats,
    metadata: z
      .enum(['embed', 'sidecar', 'none'], 'embed, sidecar or none')
      .default('none')
      .describe(
        'writes prompt, seed and job into each picture (`embed`) or a JSON file beside it (`sidecar`)',
      ),
  })
  .superRefine(({ image, media, files: asked, values: wanted, formats: copies, keep }, context) => {
    const report = (key: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [key], message });
    if (media !== undefined) {
      if (image !== undefined && image !== noPicture)
        report('image', '`output.media` alone: it says where the clip is');
      if (copies.length > 0) report('formats', 'none with `output.media`: clips get no copies');
      if (keep === 'original') report('keep', 'none with `output.media`: clips are saved as they came');
    } else if (image === noPicture && asked.length + wanted.length === 0)
      report(
        'image',
        '`output.files` or `output.values` as well: without pictures there is nothing else to save',
      );
  });
