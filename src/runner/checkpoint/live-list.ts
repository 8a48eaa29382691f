/** The list of a batch in pieces, as its page asks for them: how long each is, which rows it has, and which are others now. */
import type { SceneRecord } from '../core/scene-record.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import { readRecords } from './scene-records.ts';

/** Positions of one piece: few, since a piece is asked for again with every picture that comes to it. */
const pieceRows = 200;

export interface ListLayout {
  /** Rows of each piece. First come those of the list by position, some perhaps with fewer rows than positions. */
  rows: number[];
  /** How many of these are of the list; the others hold withdrawn scenes. */
  listed: number;
}

export function readLayout(db: Database): ListLayout {
  const counts = db
    .prepare<[], [piece: number, rows: number]>(
      `SELECT piece, sum(n) FROM (
         SELECT position / ${pieceRows} AS piece, count(*) AS n FROM scenes WHERE position IS NOT NULL GROUP BY 1
         UNION ALL SELECT position / ${pieceRows}, count(*) FROM bad_rows GROUP BY 1)
       GROUP BY piece ORDER BY piece`,
    )
    .raw()
    .all();
  const listed = (counts.at(-1)?.[0] ?? -1) + 1;
  const rows = Array.from({ length: listed }, () => 0);
  for (const [piece, count] of counts) rows[piece] = count;
  const gone =
    db.prepare<[], number>("SELECT count(*) FROM scenes WHERE state = 'withdrawn'").pluck().get() ?? 0;
  for (let left = gone; left > 0; left -= pieceRows) rows.push(Math.min(pieceRows, left));
  return { rows, listed };
}

/** `piece`: its number from 0. */
export function readPiece(db: Database, { listed }: ListLayout, piece: number): SceneRecord[] {
  const from = piece * pieceRows;
  const part =
    piece < listed
      ? { from, to: from + pieceRows, withdrawn: { from: 0, count: 0 } }
      : { from: 0, to: 0, withdrawn: { from: from - listed * pieceRows, count: pieceRows } };
  return [...readRecords(db, {}, part)];
}

/** The numbers of the pieces that these scenes are in. */
export function piecesOf(db: Database, sceneKeys: Iterable<number>): number[] {
  return db
    .prepare<[string], number>(
      `SELECT DISTINCT position / ${pieceRows} FROM scenes
       WHERE scene IN (SELECT value FROM json_each(?)) AND position IS NOT NULL`,
    )
    .pluck()
    .all(JSON.stringify([...sceneKeys]));
}

/** A scene of the list and its latest picture, by a number that rises with every picture. */
export interface SavedScene {
  picture: number;
  index: number;
  row: SceneRecord;
}

/** Scenes of the latest `most` pictures, the newest first. */
export function readArrived(db: Database, layout: ListLayout, most: number): SavedScene[] {
  const found = db
    .prepare<[number], { picture: number; position: number }>(
      `SELECT max(picture) AS picture, s.position AS position
       FROM (SELECT picture, attempt FROM pictures WHERE label IS NULL ORDER BY picture DESC LIMIT ?)
       JOIN attempts a USING (attempt) JOIN scenes s USING (scene) WHERE s.position IS NOT NULL GROUP BY s.scene
       ORDER BY picture DESC`,
    )
    .all(most);
  return found.flatMap(({ position, ...saved }) => {
    const part = { from: position, to: position + 1, withdrawn: { from: 0, count: 0 } };
    return [...readRecords(db, {}, part)].map((row) => ({
      ...saved,
      index: indexOf(db, layout, position),
      row,
    }));
  });
}

/** Of the row at this position, from 0. */
function indexOf(db: Database, { rows }: ListLayout, position: number): number {
  const piece = Math.floor(position / pieceRows);
  const earlier = db
    .prepare<[{ from: number; to: number }], number>(
      `SELECT (SELECT count(*) FROM scenes WHERE position >= @from AND position < @to)
         + (SELECT count(*) FROM bad_rows WHERE position >= @from AND position < @to)`,
    )
    .pluck()
    .get({ from: piece * pieceRows, to: position });
  return rows.slice(0, piece).reduce((sum, count) => sum + count, 0) + (earlier ?? 0);
}
