/** Chooses the pictures that a stage takes from another batch (`scenes.from`): by a condition, by id, or the best of each group. `openStage` (batch/lists.ts) opens that batch. */
import { readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { similarFile } from '../../lib/files/glob.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import { didYouMean } from '../../lib/text/closest.ts';
import { formatCounts, plural } from '../../lib/text/format.ts';
import { ConfigError } from '../../lib/yaml/problem.ts';
import { type BatchIdentity, rowCondition, type RowValues, rowValues } from '../checkpoint/batch-identity.ts';
import { readCounts } from '../checkpoint/read-totals.ts';
import { pictureIds } from '../checkpoint/recorded-pictures.ts';
import { readRecords } from '../checkpoint/scene-records.ts';
import type { Config, StageSource } from '../config/config.ts';
import { listed } from '../config/template.ts';
import { numberOf } from '../core/condition.ts';
import { seedNumberColumn } from '../core/expansion.ts';
import { filesIn, type SentFile } from '../core/file-text.ts';
import type { SceneRecord } from '../core/scene-record.ts';
import { withValues } from '../core/seeds-until.ts';

export interface StagePicture {
  id: string;
  /** 0 for the first picture of its scene. */
  index: number;
  /** The scene, with only this picture and its values. */
  row: SceneRecord;
  /** Undefined if the scene has no picture and was sent none. */
  picture: SentFile | undefined;
}

/** Make paths relative to the stage: `pathOf` of a picture, `passedOn` of a file in the batch's list. */
interface Paths {
  pathOf: (file: string) => string;
  passedOn: (path: string) => string;
}

export class StagePictures {
  readonly values: RowValues;
  readonly #db: Database;
  readonly #batch: BatchIdentity;
  readonly #paths: Paths;
  readonly #meets: ((row: SceneRecord) => boolean | undefined) | undefined;
  readonly #ids: ReadonlySet<string> | undefined;
  readonly #best: StageSource['best'];

  /** Throws `ConfigError` for names that the batch does not have. */
  constructor(
    db: Database,
    batch: BatchIdentity,
    paths: Paths,
    { keep, ids, best }: Omit<StageSource, 'ids'> & { ids: ReadonlySet<string> | undefined },
    placeOf: Config['placeOf'],
  ) {
    this.values = rowValues(batch);
    this.#db = db;
    this.#batch = batch;
    this.#paths = paths;
    this.#meets =
      keep === undefined ? undefined : rowCondition(this.values, keep, placeOf(['scenes', 'keep']));
    this.#ids = ids;
    this.#best = best;
    if (best !== undefined) this.#assertKnown(best, placeOf);
  }

  /** Adds to `notes` what is left out, and why. */
  async choose(notes: string[]): Promise<Iterable<StagePicture>> {
    notes.push(...missing(this.#db));
    if (this.#best === undefined) return this.#kept(notes);
    const best = await this.#bestOf(this.#best, notes);
    return filtered(this.#all(), ({ id }) => best.has(id));
  }

  *#all(): Generator<StagePicture> {
    const { pathOf, passedOn } = this.#paths;
    const { values = [] } = this.#batch;
    const idOf = pictureIds(this.#db);
    for (const row of readRecords(this.#db, { states: ['saved'] })) {
      const id = row.id ?? '';
      if (row.pictures.length === 0) {
        const files = filesIn(row.input ?? {});
        const sent =
          files.find(({ path }) => path === row.columns['picture']) ??
          (files.length === 1 ? files[0] : undefined);
        yield { id, index: 0, row, picture: sent && { ...sent, path: passedOn(sent.path) } };
      }
      for (const [index, picture] of row.pictures.entries()) {
        const { file, sha256, bytes, output } = picture;
        const isOnly = row.pictures.length === 1;
        yield {
          id: idOf(id, index),
          index,
          row: isOnly
            ? row
            : { ...row, columns: withValues(row.columns, output, values), pictures: [picture] },
          picture: { path: pathOf(file), sha256, bytes },
        };
      }
    }
  }

  *#kept(notes: string[]): Generator<StagePicture> {
    const strangers = new Set(this.#ids);
    let lacking = 0;
    for (const each of this.#all()) {
      const scene = each.row.id ?? '';
      strangers.delete(scene);
      strangers.delete(each.id);
      if (this.#ids !== undefined && !this.#ids.has(scene) && !this.#ids.has(each.id)) continue;
      const isKept = this.#meets === undefined || this.#meets(each.row);
      if (isKept === undefined) lacking += 1;
      if (isKept === true) yield each;
    }
    if (lacking > 0)
      notes.push(`${plural(lacking, 'picture lacks', 'pictures lack')} a value that keep asks for`);
    if (strangers.size > 0)
      notes.push(
        `${plural(strangers.size, 'id')} of ids ${strangers.size === 1 ? 'has' : 'have'} no saved result (the first is ${[...strangers][0]})`,
      );
  }

  async #bestOf({ of, by, count }: NonNullable<StageSource['best']>, notes: string[]): Promise<Set<string>> {
    const best = new BestOf(count);
    const groupOf = (row: SceneRecord): string => JSON.stringify(this.values.valueOf(row, of) ?? null);
    let seen = 0;
    for (const { id, row } of this.#kept(notes)) {
      const seedNumber = row.columns[seedNumberColumn];
      best.add({
        key: id,
        group: groupOf(row),
        value: numberOf(this.values.valueOf(row, by) ?? null),
        seedNumber: typeof seedNumber === 'number' ? seedNumber : undefined,
      });
      seen += 1;
      if (seen % rowsInTurn === 0) await nextTurn();
    }
    const open = new Set<string>();
    for (const row of readRecords(this.#db, { states: ['waiting', 'active'] })) {
      open.add(groupOf(row));
      seen += 1;
      if (seen % rowsInTurn === 0) await nextTurn();
    }
    if (open.size > 0)
      notes.push(
        `${plural(open.size, 'group')} of best ${open.size === 1 ? 'waits' : 'wait'} for scenes that are not settled`,
      );
    return best.chosen(open);
  }

  #assertKnown({ of, by }: NonNullable<StageSource['best']>, placeOf: Config['placeOf']): void {
    const { names } = this.values;
    for (const [key, name] of Object.entries({ of, by })) {
      const hint = didYouMean(name, names) ?? `known are ${listed(names)}`;
      const text = `there is no column or value ${JSON.stringify(name)}; ${hint}`;
      if (!names.includes(name)) throw new ConfigError([{ where: placeOf(['scenes', 'best', key]), text }]);
    }
    // The group of a scene has to be known before the scene is settled.
    const isLater =
      !(this.values.isColumn(of) || toldFirst.has(of)) ||
      this.#batch.values?.some(({ name }) => name === of) === true;
    const text = `no scene has ${of} before it is settled; expected a column or prompt, which every scene has from the start`;
    if (isLater) throw new ConfigError([{ where: placeOf(['scenes', 'best', 'of']), text }]);
  }
}

/** Facts that a scene has before it is settled. */
const toldFirst = new Set(['id', 'prompt', 'seed']);

const rowsInTurn = 1_000;

function* filtered<T>(all: Iterable<T>, test: (each: T) => boolean): Generator<T> {
  for (const each of all) if (test(each)) yield each;
}

/** Describes scenes that have no picture, or not yet. */
function missing(db: Database): string[] {
  const { waiting, active, failed } = readCounts(db);
  const count = waiting + active + failed;
  if (count === 0) return [];
  const states = formatCounts([
    [waiting, waiting === 1 ? 'waits' : 'wait'],
    [active, active === 1 ? 'is in flight' : 'are in flight'],
    [failed, 'failed'],
  ]);
  return [
    `${plural(count, 'scene has', 'scenes have')} no result (${states}) and ${count === 1 ? 'is' : 'are'} skipped here`,
  ];
}

export interface Candidate {
  key: string;
  group: string;
  /** Undefined if there is no value: the candidate is never the best. */
  value: number | undefined;
  /** The lower of two equal candidates is better. Undefined if there is no seed. */
  seedNumber: number | undefined;
}

/** Finds the best candidates of each group. Add them in list order. */
export class BestOf {
  readonly #count: number;
  readonly #best = new Map<string, Candidate[]>();

  /** `count`: number of candidates to keep per group. */
  constructor(count: number) {
    this.#count = count;
  }

  add(candidate: Candidate): void {
    if (candidate.value === undefined) return;
    const best = this.#best.get(candidate.group) ?? [];
    const place = best.findIndex((other) => isBetter(candidate, other));
    best.splice(place === -1 ? best.length : place, 0, candidate);
    this.#best.set(candidate.group, best.slice(0, this.#count));
  }

  /** Returns the keys of the best candidates. `open`: groups whose best is not known yet. */
  chosen(open: ReadonlySet<string>): Set<string> {
    const settled = [...this.#best].filter(([group]) => !open.has(group));
    return new Set(settled.flatMap(([, best]) => best.map(({ key }) => key)));
  }
}

/** True if `a` is better. Among equal candidates, the earlier one stays ahead. */
function isBetter(a: Candidate, b: Candidate): boolean {
  const [left = -Infinity, right = -Infinity] = [a.value, b.value];
  if (left !== right) return left > right;
  return (a.seedNumber ?? Infinity) < (b.seedNumber ?? Infinity);
}

/** Returns one trimmed entry per line, '' for an empty line. Throws `ConfigError`. */
export function idLines(path: string, where: string): string[] {
  const ids = readLines(path, where).map((line) => line.trim());
  // For some commands, no ids would mean every scene.
  if (ids.every((id) => id === '')) throw new ConfigError([{ where, text: `${path} has no ids` }]);
  return ids;
}

function readLines(path: string, where: string): string[] {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path)).split('\n');
  } catch (error) {
    throw new ConfigError([{ where, text: `${path}: ${whyUnread(path, error)}` }]);
  }
}

function whyUnread(path: string, error: unknown): string {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return `there is no such file${similarFile(path)}`;
  return code.startsWith('ERR_ENCODING')
    ? 'it is not UTF-8; save it as UTF-8'
    : `it cannot be read (${code})`;
}
