/** `nightrender export`: the saved pictures of a batch as a dataset: files that other programs take. */
import { formatCounts, plural } from '../lib/text/format.ts';
import { join, resolve } from 'node:path';
import type { Bucket } from '../lib/s3/bucket.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { didYouMean } from '../lib/text/closest.ts';
import type { Database } from '../lib/sqlite/database.ts';
import { readBegunAt } from '../runner/checkpoint/batch-identity.ts';
import { isRecorded } from '../runner/checkpoint/recorded-pictures.ts';
import { endings } from '../runner/core/ending.ts';
import { copyEnding, type PictureCopy } from '../runner/core/picture-copy.ts';
import type { SceneRecord } from '../runner/core/scene-record.ts';
import { ExportFolder, exportKinds, OtherFolder, type ExportKind } from '../runner/export/export-folder.ts';
import type { ExportedPicture, ExportPorts } from '../runner/export/exported-picture.ts';
import { exportPictures, numericNames } from '../runner/export/export-pictures.ts';
import { clearStatus, writeError, writeOut, writeStatus } from '../terminal/console.ts';
import { harmless } from '../terminal/fit-text.ts';
import { writeJsonLine } from '../terminal/json-lines.ts';
import { formatBytes, screenful } from '../terminal/words.ts';
import { type LoadedCommand, common, oneText, textOption, wholeNumber } from './command.ts';
import type { Batch } from '../batch/batch.ts';
import type { Book } from '../batch/book.ts';
import { bucketSource, folderSource } from './export-source.ts';
import { exportedScenes, type ExportedScenes } from './exported-pictures.ts';
import { onBatch, textIn } from './reply.ts';
import { shownPath } from '../batch/shown-path.ts';
import { systemClock } from '../batch/system-clock.ts';
import { rowOptions } from './where-option.ts';

export const exportCommand: LoadedCommand = {
  purpose: `Writes the saved pictures of the batch, with their prompts, columns and values, into a folder of their own, as a dataset. Each picture's sha256 is checked as it is read. Given again, it writes what has changed and removes what is no part any more; it continues where it was stopped. Scenes without a picture are listed in missing.jsonl there. The batch is only read, also during a run.`,
  shared: ['output', 'json'],
  positionals: {
    dir: { type: 'string', describe: 'the folder: a new or empty one, or that of an earlier export' },
  },
  options: {
    to: { ...textOption, describe: `as what: ${exportKinds.join(', ')}` },
    ...rowOptions,
    shard: {
      requiresArg: true,
      default: 1_000,
      type: 'number',
      describe: 'webdataset, parquet: pictures a file',
    },
    caption: {
      ...textOption,
      describe:
        "captions, webdataset: the text of a picture, such as '{{ prompt }}, {{ style }}'; its prompt by default",
    },
    copy: { ...textOption, describe: 'a copy of output.formats instead of the PNG: webp, 512.jpg' },
    link: { type: 'boolean', describe: 'imagefolder, captions: hard links where the disk allows them' },
  },
  examples: [
    ['$0 export pipeline.yaml dataset --to imagefolder', 'for load_dataset("imagefolder", …)'],
    [
      '$0 export pipeline.yaml shards --to webdataset --where "score >= 0.6"',
      'tar files of a thousand good ones',
    ],
    [
      "$0 export pipeline.yaml train --to captions --caption '{{ prompt }}, {{ style }}'",
      'a .txt beside each picture',
    ],
    ['$0 export pipeline.yaml table --to parquet', 'a row a picture, for DuckDB or pandas'],
  ],
  exits: {
    ...common,
    complete: 'every saved picture was exported',
    incomplete: 'saved pictures are missing or damaged; all others were exported',
    'already-running': 'another export is writing into the folder',
  },
  work: (argv) =>
    onBatch(
      argv,
      (batch, json) => batch.read((book) => exportBatch(book, choiceOf(batch, argv), argv, json)),
      { isReading: true },
    ),
};

interface Choice {
  to: ExportKind;
  dir: string;
  shard: number;
  caption: string | undefined;
  copy: PictureCopy | undefined;
  isLinked: boolean;
}

function choiceOf(batch: Batch, argv: Record<string, unknown>): Choice {
  const to = oneText(argv, 'to');
  const kind = exportKinds.find((each) => each === to);
  const hint = didYouMean(to ?? '', exportKinds) ?? `expected one of ${exportKinds.join(', ')}`;
  if (kind === undefined)
    throw wrong(
      '--to',
      to === undefined ? `it is missing; ${hint}` : `${JSON.stringify(to)} is no kind of export; ${hint}`,
    );
  const isOf = (...kinds: ExportKind[]): boolean => kinds.includes(kind);
  const [caption, copy, isLinked] = [oneText(argv, 'caption'), oneText(argv, 'copy'), argv['link'] === true];
  if (caption !== undefined && !isOf('captions', 'webdataset'))
    throw wrong('--caption', `${kind} has no captions`);
  if (isLinked && !isOf('captions', 'imagefolder')) throw wrong('--link', `${kind} has no files to link`);
  if (copy !== undefined && isOf('parquet')) throw wrong('--copy', 'parquet has no pictures in it');
  return {
    to: kind,
    dir: resolve(textIn(argv, 'dir')),
    shard: wholeNumber(argv, 'shard', 1, 100_000),
    caption,
    copy: copy === undefined ? undefined : copyOf(copy, batch.parts.report().output.formats),
    isLinked,
  };
}

function copyOf(name: string, formats: PictureCopy[]): PictureCopy {
  const names = formats.map((format) => copyEnding(format).slice(1));
  const found = formats[names.indexOf(name.replace(/^[-.]/, ''))];
  if (found !== undefined) return found;
  const hint =
    names.length === 0
      ? 'output.formats has none'
      : (didYouMean(name, names) ?? `expected one of ${names.join(', ')}`);
  throw wrong('--copy', `there is no copy ${JSON.stringify(name)}; ${hint}`);
}

function wrong(where: string, text: string): ConfigError {
  return new ConfigError([{ where, text }]);
}

/** Resolves to the exit code. */
async function exportBatch(
  book: Book,
  choice: Choice,
  argv: Record<string, unknown>,
  json: boolean,
): Promise<number> {
  const { dir, to } = choice;
  try {
    return await book.withBucket((bucket) => exportAll(book, bucket, choice, argv, json));
  } catch (error) {
    if (!(error instanceof OtherFolder)) throw error;
    const advice = error.advice ?? `choose a new or empty folder, or that of an earlier export to ${to}`;
    throw wrong(shownPath(dir), `${error.message}; ${advice}`);
  }
}

const missingFile = 'missing.jsonl';

async function exportAll(
  { dir, db }: Book,
  bucket: Bucket | undefined,
  choice: Choice,
  argv: Record<string, unknown>,
  json: boolean,
): Promise<number> {
  const { copy } = choice;
  const scenes = exportedScenes(db, argv, copy && copyEnding(copy));
  const folder = await openFolder(db, choice);
  try {
    return await exportInto(folder, scenes, { db, bucket, images: join(dir, 'images') }, choice, json);
  } finally {
    folder.close();
  }
}

interface Source {
  db: Database;
  /** Undefined if the pictures are in `images`. */
  bucket: Bucket | undefined;
  images: string;
}

async function exportInto(
  folder: ExportFolder,
  scenes: ExportedScenes,
  { db, bucket, images }: Source,
  choice: Choice,
  json: boolean,
): Promise<number> {
  const { to, copy, shard, isLinked } = choice;
  const view = createView(json);
  const lines: string[] = [];
  const missing = new Map<string, number>();
  const onMissing = (row: SceneRecord): void => {
    lines.push(missingLine(row));
    missing.set(row.state, (missing.get(row.state) ?? 0) + 1);
  };
  const { read, fetch } = bucket === undefined ? folderSource(images, isLinked) : bucketSource(bucket);
  const isCopyOf = ({ file }: ExportedPicture): boolean => copy?.size === undefined || !isRecorded(db, file);
  const ports: ExportPorts = {
    read: async (picture) => (isCopyOf(picture) ? read(picture) : undefined),
    fetch: async (picture, path) => isCopyOf(picture) && fetch(picture, path),
    isCopy: copy !== undefined,
    onBad: (picture, verdict) => {
      const { scene: id, file } = picture;
      const problem = verdict.kind === 'missing' ? 'it is missing' : verdict.problem;
      lines.push(`${JSON.stringify({ id, state: 'saved', file, problem })}\n`);
      view.onBad(picture, verdict.kind, problem);
    },
    onDone: (pictures, written, bytes) => view.onDone(pictures, written, bytes),
  };
  const salt = JSON.stringify(copy ?? null);
  const numeric = to === 'parquet' ? numericNames(scenes.saved()) : [];
  await exportPictures(folder, to, scenes.all(onMissing), ports, { shard, salt, numeric });
  if (lines.length > 0) {
    folder.begin([missingFile]);
    await folder.write(missingFile, lines.join(''));
    folder.keep(missingFile);
  }
  const [linked, ...more] = await folder.finish();
  if (linked !== undefined)
    writeError(
      harmless(
        `${plural(more.length + 1, 'file')} of an earlier export, such as ${linked}, stayed in ${shownPath(choice.dir)}: a link leads to its folder, and an export removes nothing through links.`,
      ),
    );
  return view.end(choice.dir, to, missing);
}

function openFolder(db: Database, { to, dir, shard, caption, copy }: Choice): Promise<ExportFolder> {
  const options = {
    shard,
    ...(caption !== undefined && { caption }),
    ...(copy && { copy: copyEnding(copy) }),
  };
  return ExportFolder.open(dir, { batch: String(readBegunAt(db)), to, options });
}

/** As results.jsonl has it. */
function missingLine({ id, state, failureKind, failureText, source }: SceneRecord): string {
  const failure = failureKind === null ? null : { kind: failureKind, text: failureText ?? '' };
  return `${JSON.stringify({ id, state, failure, source })}\n`;
}

interface ExportView {
  onBad: (picture: ExportedPicture, kind: 'missing' | 'damaged', problem: string) => void;
  onDone: (pictures: number, written: number, bytes: number) => void;
  /** The exit code. */
  end: (dir: string, to: ExportKind, missing: ReadonlyMap<string, number>) => number;
}

const progressEveryMs = 500;

function createView(json: boolean): ExportView {
  const done = { pictures: 0, written: 0, bytes: 0, bad: 0 };
  let shownElapsed = systemClock.elapsed();
  return {
    onBad: ({ scene, file }, kind, problem) => {
      done.bad += 1;
      const more = kind === 'damaged' ? { problem } : {};
      if (json) writeJsonLine(`picture-${kind}`, { scene, state: 'saved', file, ...more });
      else if (done.bad <= screenful) writeError(harmless(`${file} (scene ${scene}): ${problem}`));
    },
    onDone: (pictures, written, bytes) => {
      done.pictures += pictures;
      done.written += written;
      done.bytes += bytes;
      if (json || systemClock.elapsed() - shownElapsed < progressEveryMs) return;
      shownElapsed = systemClock.elapsed();
      writeStatus(`${plural(done.pictures, 'picture')} exported`);
    },
    end: (dir, to, missing) => {
      const { exitCode } = endings[done.bad === 0 ? 'complete' : 'incomplete'];
      clearStatus();
      if (json)
        writeJsonLine('exported', { to, dir, ...done, missing: Object.fromEntries(missing), exitCode });
      else for (const line of lastWords(shownPath(dir), to, done, missing)) writeOut(line);
      return exitCode;
    },
  };
}

function lastWords(
  dir: string,
  to: ExportKind,
  { pictures, written, bytes, bad }: Record<'pictures' | 'written' | 'bytes' | 'bad', number>,
  missing: ReadonlyMap<string, number>,
): string[] {
  const kept = pictures - written;
  const how = formatCounts([
    [written, `written now (${formatBytes(bytes)})`],
    [kept, 'as they were'],
  ]);
  const without = [...missing.values()].reduce((sum, count) => sum + count, 0);
  const states = [...missing].map(([state, count]): [number, string] => [count, state]);
  return [
    `${plural(pictures, 'picture')} in ${dir}, as ${to}${how === '' ? '' : `: ${how}`}.`,
    ...(without === 0
      ? []
      : [
          `${plural(without, 'scene has', 'scenes have')} no picture: ${formatCounts(states)}. They are listed in ${join(dir, missingFile)}.`,
        ]),
    ...(bad === 0
      ? []
      : [
          `${plural(bad, 'saved picture is', 'saved pictures are')} missing or damaged, and not in it: listed there as well. \`nightrender verify <pipeline> --repair\` puts ${bad === 1 ? 'it' : 'them'} back for rendering.`,
        ]),
  ];
}
