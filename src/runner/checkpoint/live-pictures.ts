/** The pictures of a batch in the order in which they arrive, the newest first. */
import type { JsonObject } from '../../lib/text/json.ts';
import type { LivePicture, PictureStory } from '../core/live-batch.ts';
import { promptOf } from '../core/prompt.ts';
import { sentInput } from '../core/scene.ts';
import { thumbnailOf } from '../core/picture.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import { seedColumn, storedJson, storedSeed } from './damage.ts';
import { labelColumn } from './recorded-pictures.ts';

/** Characters of a prompt that a page is given. */
const promptLength = 1_000;

/** Longer JSON holds whole files, which are not shown and take long to parse. */
const readableJson = 50_000;

const from = 'FROM pictures p JOIN attempts a USING (attempt) JOIN scenes s USING (scene)';

interface PictureRow {
  id: number;
  sceneId: string;
  file: string;
  width: number;
  height: number;
  bytes: number;
  sha256: string;
  savedAt: number | null;
  input: string;
  columns: string;
}

/** At most `count` pictures that came before the one with this id. */
export function readPicturesBefore(db: Database, id: number, count: number): LivePicture[] {
  return db
    .prepare<[number, number], PictureRow>(
      `SELECT p.picture AS id, s.id AS sceneId, p.file, p.width, p.height, p.bytes, p.sha256, a.settled_at AS savedAt,
         iif(length(s.input) > ${readableJson}, '{}', s.input) AS input,
         iif(length(s.columns) > ${readableJson}, '{}', s.columns) AS columns
       ${from} WHERE p.picture < ? AND ${labelColumn(db)} IS NULL ORDER BY p.picture DESC LIMIT ?`,
    )
    .all(id, count)
    .map(toPicture);
}

function toPicture({ input, columns, sha256, ...row }: PictureRow): LivePicture {
  const scene = `scene ${row.sceneId}`;
  const prompt = promptOf(storedJson(input, scene) as JsonObject, storedJson(columns, scene) as JsonObject);
  return {
    ...row,
    prompt: cut(prompt ?? '', promptLength),
    digest: sha256.slice(0, 16),
    thumbnail: thumbnailOf({ ...row, sha256 }) ?? null,
  };
}

/** Undefined where there is no such picture, or no longer. */
export function readPictureStory(db: Database, id: number): PictureStory | undefined {
  const row = db
    .prepare<[number], PictureStory & { sentSeed: string | null }>(
      `SELECT p.picture AS id, p.seed, ${seedColumn(db)} AS sentSeed, a.job_id AS jobId, a.number AS attempt, a.submitted_at AS submittedAt,
         a.settled_at AS savedAt, a.delay_time_ms AS delayTimeMs, a.execution_time_ms AS executionTimeMs,
         s.source, s.input
       ${from} WHERE p.picture = ?`,
    )
    .get(id);
  if (row === undefined) return undefined;
  const { sentSeed, ...story } = row;
  const input = sentInput(storedJson(row.input, 'a scene') as JsonObject, storedSeed(sentSeed, 'a scene'));
  return { ...story, input: readable(input) };
}

/** Without the files that are sent along. */
function readable(input: JsonObject): string {
  const shortened = (_key: string, value: unknown): unknown =>
    typeof value === 'string' ? cut(value, 4_000) : value;
  return cut(JSON.stringify(input, shortened, 2), readableJson);
}

/** Never through the middle of a character. */
function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const kept = text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '');
  return `${kept} … (${text.length.toLocaleString('en')} characters)`;
}
