/**
 * Promise: pictures extracted from the bytes of an answer are the same as pictures read from its text, and
 * are rejected for the same reasons.
 */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { readLarge } from '../../../src/runner/client/parse-body.ts';
import { StatusReader } from '../../../src/runner/client/status-reader.ts';
import { jobsDescription } from '../../../src/runner/config/read-description.ts';
import { textOf } from '../../../src/runner/client/exchange.ts';
import { decodeBase64 } from '../../../src/runner/images/decoding.ts';
import type { StatusReply } from '../../../src/runner/pipeline/ports.ts';
import { runs } from '../../fakes/tier.ts';

const noise = Buffer.from(
  Array.from({ length: 120_000 }, (_, i) => (Math.imul(i + 7, 2_654_435_761) >>> 13) & 255),
);

/** Mostly undefined, because one error at a time is enough. */
function rarely<T>(thing: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: 15, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: thing });
}

/**
 * The content of a JSON string: valid or slightly wrong base64 of several times the length that is decoded at
 * a time.
 */
const long = fc
  .record({
    from: fc.nat({ max: 50 }),
    bytes: fc.integer({ min: 60_000, max: 119_900 }),
    image: fc.constantFrom('', '', 'data:image/png;base64,', 'DATA:image/webp;Base64,'),
    prefix: rarely(
      fc.constantFrom('data:text/plain;base64,', 'data:image/png;name=a;base64,', 'https://', ' '),
    ),
    spoil: rarely(
      fc.record({
        at: fc.nat(),
        with: fc.constantFrom(
          '-',
          '_',
          '=',
          '==',
          'A',
          '\\/',
          '\\u002B',
          '\\n',
          '\\"',
          '\\\\',
          '\\x',
          '\n',
          '\t',
          ' ',
          '"',
          '\u0000',
          '\u007F',
          'é',
          '🌙',
          '\uFEFF',
          '',
        ),
        remove: fc.nat({ max: 5 }),
      }),
    ),
    /** The last character before the padding may have unused bits of any value. */
    last: rarely(fc.constantFrom('R==', 'Rb=', '=', 'AA')),
  })
  .map(({ from, bytes, image, prefix = image, spoil, last = '' }) => {
    const text = noise.toString('base64', from, from + bytes) + last;
    if (spoil === undefined) return prefix + text;
    const at = spoil.at % (text.length + 1);
    return prefix + text.slice(0, at) + spoil.with + text.slice(at + spoil.remove);
  });

const short = fc.constantFrom(
  '"QUJD"',
  '""',
  'null',
  '7',
  '9007199254740993',
  '"https://cdn.example.com/a.png"',
  '"a.png"',
  '{"a":[1,2]}',
);
const value = fc.oneof(
  { weight: 4, arbitrary: long.map((text) => `"${text}"`) },
  { weight: 1, arbitrary: short },
);
const seeds = fc.constantFrom(
  '',
  '',
  ',"seed":9007199254740993',
  ',"seed":"12"',
  ',"seeds":[1,2]',
  ',"info":"{\\"all_seeds\\":[5]}"',
);

const output = fc.oneof(
  fc.tuple(value, seeds).map(([image, more]) => `[{"rendered_image":${image}${more}}]`),
  fc.tuple(value, value, seeds).map(([one, two, more]) => `{"images":[${one},${two}]${more}}`),
  fc.tuple(value, value).map(([one, two]) => `{"image":${one},"image":${two}}`),
  fc.tuple(value, value).map(([one, two]) => `{"message":${one},"image_url":${two}}`),
  fc.tuple(long, long).map(([key, other]) => `{"${key}":1,"${key}":2,"image" : "${other}"}`),
  fc.tuple(long, value).map(([status, image]) => `{"status":"${status}","image":${image}}`),
  fc.tuple(value).map(([other]) => `{"status":"error","error":${other}}`),
  fc.tuple(value).map(([other]) => `{"foo":${other},"code":500}`),
  fc.tuple(value, value).map(([fact, image]) => `{"seed":${fact},"info":${fact},"image":${image}}`),
  value,
);

const body = fc
  .record({
    mark: fc.constantFrom('', '\uFEFF'),
    status: rarely(fc.constantFrom('"IN_PROGRESS"', '"FAILED"', 'null')),
    id: rarely(fc.constantFrom('"job-2"', 'null')),
    output,
    input: rarely(value.map((input) => `"input":{"image":${input}},`)),
    more: fc.constantFrom('', ',"executionTime":12', ',"x":"é🌙"', ',"error":"a\\"b\\\\"'),
    wrong: rarely(fc.constantFrom(',"output":null', ',', '}', '"')),
    cut: rarely(fc.constantFrom(1, 30_000)),
    flip: rarely(fc.record({ at: fc.nat(), to: fc.constantFrom(0xff, 0xc3, 0x22, 0x5c, 0x0a, 0x41, 0x2d) })),
  })
  .map((parts) => {
    const {
      mark,
      status = '"COMPLETED"',
      id = '"job-1"',
      input = '',
      more,
      wrong = '',
      cut = 0,
      flip,
    } = parts;
    const text = `${mark}{"id":${id},${input}"output" :\n${parts.output},"status": ${status}${more}${wrong}}`;
    const bytes = Buffer.from(text).subarray(0, Math.max(0, Buffer.byteLength(text) - cut));
    if (flip !== undefined) bytes[flip.at % bytes.length] = flip.to;
    return bytes;
  });

const reader = new StatusReader(jobsDescription('v2'), { image: undefined, statuses: {} });

it('extracted pictures equal parsed pictures, for any body', () => {
  const seen = { lifted: 0, left: 0 };
  const numRuns = runs(600, { ms: 2, weight: 2 });
  fc.assert(
    fc.property(body, (bytes) => {
      const head = { status: 200, headers: {} };
      const came = Buffer.from(bytes);
      const usual = reader.status({ ...head, body: textOf(came) }, 'job-1') as StatusReply;
      const reply = readLarge({ ...head, bytes }, (text) => reader.status(text, 'job-1'));
      seen[reply === undefined ? 'left' : 'lifted'] += 1;
      if (reply === undefined) expect(bytes.equals(came)).toBe(true);
      else expect(decoded(reply)).toEqual(decoded(usual));
    }),
    { numRuns },
  );
  expect(seen.lifted).toBeGreaterThan(numRuns / 12);
  expect(seen.left).toBeGreaterThan(numRuns / 12);
}, 120_000);

/** Returns the decoded bytes of each picture, or the reason why there are none. */
function decoded(reply: StatusReply): unknown {
  if (reply.kind !== 'completed') return reply;
  const pictures = reply.pictures.map((picture) => {
    const { seed } = picture;
    if ('url' in picture || 'received' in picture) return picture;
    const read = 'bytes' in picture ? { bytes: Buffer.from(picture.bytes) } : decodeBase64(picture.base64);
    return 'bytes' in read ? { hex: read.bytes.toString('hex'), seed } : { ...picture, ...read };
  });
  return { ...reply, pictures };
}
