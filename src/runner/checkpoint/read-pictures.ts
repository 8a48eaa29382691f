/** The pictures of an attempt, in the order of the job's output. */
import type { SavedPicture } from '../core/picture.ts';
import type { Database } from '../../lib/sqlite/database.ts';

export function pictureReader(db: Database): (attempt: number) => SavedPicture[] {
  const pictures = db.prepare<[number], Omit<SavedPicture, 'seed'> & { seed: string | null }>(
    'SELECT file, width, height, bytes, sha256, seed FROM pictures WHERE attempt = ? ORDER BY number',
  );
  return (attempt) =>
    pictures.all(attempt).map(({ seed, ...picture }) => ({ ...picture, ...(seed !== null && { seed }) }));
}
