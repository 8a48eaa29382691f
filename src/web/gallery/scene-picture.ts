/** Turns a scene into a picture of the grid, and finds its values by name and how texts differ. */
import { numberOf } from '../../runner/core/condition.ts';
import type { GalleryData, GalleryPicture, GalleryRow } from '../../runner/core/gallery-data.ts';
import { earlierThumbnail } from '../../runner/core/picture.ts';
import { clipOf, type GridPicture, type ShownClip } from '../shared/grid-picture.ts';
import { fewDigits, promptOf, textOf } from './query.ts';

interface Shown {
  /** Index of the column that pictures are sorted by. */
  by?: number | undefined;
  /** Picture to show for a scene that has none of its own; see `standIn`. */
  before?: string | undefined;
  /** Words for the seed; see `seedWords`. */
  seed?: string;
}

/** `index`: the row's index from 0. */
export function scenePicture(
  row: GalleryRow,
  index: number,
  { by, before, seed = '' }: Shown = {},
): GridPicture {
  const [picture, ...others] = row.pictures ?? [];
  const prompt = promptOf(row);
  const value = by === undefined ? undefined : numberOf(row.values?.[by]);
  const clip = picture && clipIn(picture);
  return {
    key: String(index + 1),
    sources: picture === undefined ? [before ?? []].flat() : sourcesOf(picture),
    ...(clip && { clip }),
    alt: short(prompt) || row.id || 'a scene without a prompt',
    caption: [value === undefined ? '' : fewDigits(value), seed, row.id ?? row.source]
      .filter((part) => part !== '')
      .join(' · '),
    prompt: short(prompt),
    id: row.id,
    state: row.state,
    word: row.failure?.[0] ?? (row.state === 'unneeded' ? 'not needed' : row.state),
    badge: picture === undefined ? '' : badgeOf(row.state, others.length),
    // Sound has no size.
    ...(picture !== undefined &&
      picture.width > 0 && { size: { width: picture.width, height: picture.height } }),
  };
}

/** Returns the clip that a result is; undefined if it is a picture. */
export function clipIn({ file, thumbnail, output, ...size }: GalleryPicture): ShownClip | undefined {
  return clipOf({ ...size, source: file, poster: thumbnail, name: nameOf(file), facts: output?.clip ?? {} });
}

/** Returns the number of seeds that `scenes` of pipeline.yaml gives each prompt; 1 without seeds. */
export function seedCount({ columns }: Pick<GalleryData, 'columns'>): number {
  const { choices = null, range } = columns.find(({ name }) => name === 'seed_number') ?? {};
  return choices === null ? (range?.most ?? 1) : Math.max(1, ...choices.map(([text]) => Number(text)));
}

/** Returns words such as `seed 2`; empty if there is one seed for each prompt. The seed itself says nothing to people. */
export function seedWords({ values = [] }: GalleryRow, data: GalleryData): string {
  const number = textOf(values[data.columns.findIndex(({ name }) => name === 'seed_number')]);
  return number === '' || seedCount(data) === 1 ? '' : `seed ${number}`;
}

/** URL of the previous stage's picture; undefined if there is none, or if it is in a bucket. */
export function pictureBefore(
  { values = [] }: GalleryRow,
  { stageAt, columns }: GalleryData,
): string | undefined {
  const path = values[columns.findIndex(({ name }) => name === 'picture')];
  if (stageAt === null || typeof path !== 'string' || path.includes('://')) return undefined;
  return stageAt + path.split('/').map(encodeURIComponent).join('/');
}

/** For a saved scene without a picture of its own, such as a scored one: the picture that was sent. */
export function standIn(row: GalleryRow, data: GalleryData): string | undefined {
  return row.state === 'saved' && row.pictures === undefined ? pictureBefore(row, data) : undefined;
}

/** Each is shown if those before it are missing. */
function sourcesOf({ file, thumbnail }: GalleryPicture): string[] {
  return thumbnail === undefined ? [file] : [thumbnail, earlierThumbnail(thumbnail), file];
}

/** `more`: number of the scene's pictures that are not shown. */
function badgeOf(state: string, more: number): string {
  // Marks the picture of a row that was edited or removed, which would otherwise look like a current scene.
  const mark = state === 'withdrawn' ? state : '';
  return more === 0 ? mark : `${mark} +${more}`.trim();
}

/** Shortens a text that a screen reader would read aloud. */
function short(text: string): string {
  return text.length <= 300 ? text : `${text.slice(0, 300)} …`;
}

type Named = [name: string, value: unknown][];

/** Returns the file name of a picture or another file. */
export function nameOf(address: string): string {
  return decodeURIComponent(address.replace(/\?.*$/, '')).replace(/^(.*?\/)?images\//, '');
}

/** Inputs of a scene, except its id and prompt. */
export function inputsOf(row: GalleryRow, data: GalleryData): Named {
  return [...columnsOf(row, data, false), ...Object.entries(row.input ?? {})];
}

export function valuesOf(row: GalleryRow, data: GalleryData): Named {
  return columnsOf(row, data, true);
}

function columnsOf(row: GalleryRow, { columns }: GalleryData, isOfOutput: boolean): Named {
  return columns.flatMap(({ name, isValue = false }, index): Named =>
    name === 'id' || index === row.prompt || isValue !== isOfOutput ? [] : [[name, row.values?.[index]]],
  );
}

type Apart = [before: string, own: string, after: string];

/** Splits texts into common beginning and end, and the words between, as long prompts differ little. */
export function apart(texts: string[]): Apart[] {
  const all = texts.map((text) => text.split(/(?<=\s)/));
  const fewest = Math.min(...all.map((words) => words.length));
  const isShared = (at: number): boolean => all.every((words) => words.at(at) === all[0]?.at(at));
  let head = 0;
  while (head < fewest && isShared(head)) head += 1;
  let tail = 0;
  while (tail < fewest - head && isShared(-1 - tail)) tail += 1;
  return all.map((words) => {
    const end = words.length - tail;
    return [words.slice(0, head).join(''), words.slice(head, end).join(''), words.slice(end).join('')];
  });
}
