/** Finds the pictures, clips and other files in the output of a job. */
import { createHash } from 'node:crypto';
import { isJsonObject } from '../../lib/text/json.ts';
import { oneLine } from '../../lib/text/format.ts';
import { clipKinds } from '../core/clip.ts';
import type { Failure, FailureKind } from '../core/failure.ts';
import { type FilePlace, type FoundPicture, noPicture } from '../core/picture.ts';
import { oddValues, type NamedValue } from '../core/seeds-until.ts';
import { isContentRefusal } from '../../protocol/error-text.ts';
import { describeValue, isNothing, memberText } from '../../protocol/json-value.ts';
import { findPictures, type FoundOutput } from '../../protocol/output-shapes.ts';
import { restOfOutput, textsInOutput } from '../../protocol/texts-in-output.ts';

export interface OutputPlaces {
  /** Path of the picture, for outputs of unknown shape. `none` if the job makes no picture. */
  image: string | undefined;
  /** `video`, `audio` or the path of the clip, if clips come in place of pictures. */
  media?: string | undefined;
  files?: readonly FilePlace[];
  /** Values to be recorded from the rest of the output. */
  values?: readonly NamedValue[];
  /** Called with the path of a picture that was found as the only one of its output. */
  onFoundAt?: (path: string) => void;
}

/** Returns the pictures, and files after them. `textOfOutput` returns the output's JSON as received. */
export function readOutput(
  output: unknown,
  textOfOutput: () => string,
  { image, media, files = [], values = [], onFoundAt }: OutputPlaces,
): { pictures: FoundPicture[] } | Failure {
  const beside = findFiles(output, textOfOutput, files);
  if (image === noPicture && 'files' in beside)
    return { pictures: beside.files.map((file, i) => (i === 0 ? withRest(file, output, values) : file)) };
  const paths = values.length === 0 ? undefined : values.map(({ at }) => at);
  const found =
    media === undefined
      ? findPictures(output, image, { values: paths })
      : findClips(output, media, { image, values: paths });
  switch (found.kind) {
    case 'none':
      return { kind: 'no-output', text: `the job COMPLETED without output; ${whyNone(output)}` };
    case 'failure': {
      const { message } = found;
      // Messages of this program may begin like this too.
      const text = message.startsWith('the worker ') ? message : `the worker says: ${message}`;
      return { kind: refusedOr('failed-inside', message), text };
    }
    case 'unknown':
      return image === noPicture ? withFiles([], beside, output) : unknownShape(found, output, media);
    case 'pictures': {
      const { pictures, at } = found;
      if (at !== undefined) onFoundAt?.(at);
      return withFiles(
        pictures.map((picture) =>
          withOdd(asClip(at === undefined ? picture : foundAt(picture, at), media), values),
        ),
        beside,
        output,
      );
    }
  }
}

function whyNone(output: unknown): string {
  if (output === undefined || output === null)
    return 'the service drops results above its size limit in this way';
  return `its output is ${Array.isArray(output) ? 'an empty list' : 'empty'}`;
}

/** Finds clips by their usual members, or at `media` if it is a path. Last at `image`, where a description has its results. */
function findClips(
  output: unknown,
  media: string,
  { image, values }: { image: string | undefined; values: string[][] | undefined },
): FoundOutput {
  if (media !== 'video' && media !== 'audio') return findPictures(output, media, { values, media: 'video' });
  const found = findPictures(output, undefined, { values, media });
  if (found.kind !== 'unknown' || image === undefined || image === noPicture) return found;
  const described = findPictures(output, image, { values, media });
  return described.kind === 'pictures' ? described : found;
}

function asClip(picture: FoundPicture, media: string | undefined): FoundPicture {
  return media === undefined ? picture : { ...picture, isClip: true };
}

function foundAt(picture: FoundPicture, at: string): FoundPicture {
  return { ...picture, output: { ...picture.output, at } };
}

/** Returns the file with the recorded part of the output. The first file of a job without pictures gets it. */
function withRest(file: FoundPicture, output: unknown, values: readonly NamedValue[]): FoundPicture {
  const sole: unknown = Array.isArray(output) && output.length === 1 ? output[0] : output;
  if (values.length === 0 || !isJsonObject(sole)) return file;
  const rest = restOfOutput(
    [sole],
    { index: 0, count: 1 },
    values.map(({ at }) => at),
  );
  return rest === undefined ? file : withOdd({ ...file, output: rest }, values);
}

function withOdd(picture: FoundPicture, values: readonly NamedValue[]): FoundPicture {
  const odd = oddValues(picture.output ?? {}, values);
  return odd.length === 0 ? picture : { ...picture, output: { ...picture.output, odd } };
}

function withFiles(
  pictures: FoundPicture[],
  beside: ReturnType<typeof findFiles>,
  output: unknown,
): { pictures: FoundPicture[] } | Failure {
  if ('files' in beside) return { pictures: [...pictures, ...beside.files] };
  return notFound(beside.problem, output);
}

type Unknown = FoundOutput & { kind: 'unknown' };

function unknownShape(
  { found, advice, isOtherMedia }: Unknown,
  output: unknown,
  media: string | undefined,
): Failure {
  const [what, key] = media === undefined ? ['picture', 'output.image'] : ['clip', 'output.media'];
  const text = `no ${what} was found in the output, which holds ${oneLine(found)}; ${advice ?? `say where it is with ${key}`}`;
  return { ...notFound(text, output), ...(isOtherMedia && { isOtherMedia }) };
}

function notFound(text: string, output: unknown): Failure {
  return { kind: 'picture-not-found', text, digest: digestOf(output), ...addressesIn(output) };
}

export function addressesIn(output: unknown): Pick<Failure, 'isByAddress'> {
  return textsInOutput(output, false).hasAddress ? { isByAddress: true } : {};
}

function digestOf(output: unknown): string {
  return createHash('sha256').update(JSON.stringify(output)).digest('hex');
}

/** Returns `content-refused` if the text says that the content was refused, `otherwise` if not. */
export function refusedOr(otherwise: FailureKind, words: string): FailureKind {
  return isContentRefusal(words) ? 'content-refused' : otherwise;
}

/** A JSON value with its source text, which keeps numbers of any size exact. */
interface Written {
  value: unknown;
  text: string;
}

/** Returns the files in the order of `places`, or which file is missing. */
function findFiles(
  output: unknown,
  textOfOutput: () => string,
  places: readonly FilePlace[],
): { files: FoundPicture[] } | { problem: string } {
  const files: FoundPicture[] = [];
  for (const place of places) {
    const file = fileAt({ value: output, text: textOfOutput() }, place);
    if (file === undefined) {
      const { label, at } = place;
      return {
        problem: `the file ${label} is not at ${at.join('.')} of the output, which holds ${describeValue(output)}`,
      };
    }
    files.push(file);
  }
  return { files };
}

function fileAt(output: Written, { label, kind, at }: FilePlace): FoundPicture | undefined {
  const named = { label, kind };
  const found = at.reduce<Written | undefined>((within, key) => within && member(within, key), output);
  const last = found && soleItem(found, kind !== 'json');
  if (last === undefined || last.value === null) return undefined;
  const { value, text } = last;
  if (typeof value !== 'string')
    return kind === 'json' ? { bytes: Buffer.from(`${text}\n`), named } : undefined;
  if (isNothing(value)) return undefined;
  const clip = (clipKinds as readonly string[]).includes(kind) ? { isClip: true as const } : {};
  if (/^\s*https?:\/\//i.test(value)) return { url: value.trim(), named, ...clip };
  // No base64 begins like this: the worker has put JSON into a string.
  return kind === 'json' && /^\s*[{[]/.test(value)
    ? { bytes: Buffer.from(value), named }
    : { base64: value, named, ...clip };
}

function member(within: Written, key: string): Written | undefined {
  const { value, text } = soleItem(within);
  if (!isJsonObject(value) || !Object.hasOwn(value, key)) return undefined;
  return { value: value[key], text: memberText(text, key) ?? '' };
}

/** Returns the item of a list of one, and any other value unchanged. `isAny` false changes nothing. */
function soleItem(written: Written, isAny = true): Written {
  const { value, text } = written;
  if (!isAny || !Array.isArray(value) || value.length !== 1) return written;
  return { value: value[0] as unknown, text: text.trim().slice(1, -1).trim() };
}
