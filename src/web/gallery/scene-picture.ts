/** A scene as a picture of a grid. */
import type { GalleryData, GalleryPicture, GalleryRow } from '../../runner/core/gallery-data.ts';
import { numberOf } from '../../runner/core/number-of.ts';
import { earlierThumbnail } from '../../runner/core/picture.ts';
import type { GridPicture } from '../shared/grid-picture.ts';
import { fewDigits, promptOf } from './query.ts';

export interface Shown {
  /** The number of the column that the pictures are sorted by. */
  by?: number | undefined;
  /** What stands for the picture of a scene that has none of its own (`standIn`). */
  before?: string | undefined;
}

/** `index` is the number of the row from 0. */
export function scenePicture(row: GalleryRow, index: number, { by, before }: Shown = {}): GridPicture {
  const [picture, ...others] = row.pictures ?? [];
  const prompt = promptOf(row);
  const value = by === undefined ? undefined : numberOf(row.values?.[by]);
  return {
    key: String(index + 1),
    sources: picture === undefined ? [before ?? []].flat() : sourcesOf(picture),
    alt: short(prompt) || row.id || 'a scene without a prompt',
    caption: (value !== undefined ? `${fewDigits(value)} · ` : '') + (row.id ?? row.source),
    prompt: short(prompt),
    id: row.id,
    state: row.state,
    word: row.failure?.[0] ?? (row.state === 'unneeded' ? 'not needed' : row.state),
    badge: picture === undefined ? '' : badgeOf(row.state, others.length),
    ...(picture !== undefined && { size: { width: picture.width, height: picture.height } }),
  };
}

/** That of the stage before, which this one was made from; of a bucket there is no address. */
export function pictureBefore(
  { values = [] }: GalleryRow,
  { stageAt, columns }: GalleryData,
): string | undefined {
  const path = values[columns.findIndex(({ name }) => name === 'picture')];
  if (stageAt === null || typeof path !== 'string' || path.includes('://')) return undefined;
  return stageAt + path.split('/').map(encodeURIComponent).join('/');
}

/** Of a scene that is done and has no picture of its own, such as one that was scored: the one that it was sent. */
export function standIn(row: GalleryRow, data: GalleryData): string | undefined {
  return row.state === 'saved' && row.pictures === undefined ? pictureBefore(row, data) : undefined;
}

/** Each is shown where those before it are missing. */
function sourcesOf({ file, thumbnail }: GalleryPicture): string[] {
  return thumbnail === undefined ? [file] : [thumbnail, earlierThumbnail(thumbnail), file];
}

/** `more`: pictures of the scene that are not shown. */
function badgeOf(state: string, more: number): string {
  // Its row is another by now, or gone: beside the scenes of the list, the picture would pass for one of them.
  const mark = state === 'withdrawn' ? state : '';
  return more === 0 ? mark : `${mark} +${more}`.trim();
}

/** A screen reader is not to read ten pages. */
function short(text: string): string {
  return text.length <= 300 ? text : `${text.slice(0, 300)} …`;
}
