/** `nightrender export`: writes the saved pictures of a batch as a dataset for other programs. */
import { join, resolve } from 'node:path';
import type { Batch } from '../batch/batch.ts';
import {
  exportableKind,
  copyNamed,
  exportDataset,
  missingFile,
  type ExportedDataset,
  type ExportListener,
} from '../batch/export-dataset.ts';
import { shownPath } from '../batch/refusal.ts';
import { formatCounts, plural } from '../lib/text/format.ts';
import { endings } from '../runner/core/ending.ts';
import { nounFor } from '../runner/core/picture.ts';
import { exportKinds } from '../runner/export/export-folder.ts';
import { clearStatus, progressLine, writeError, writeOut, writeJsonLine } from '../terminal/terminal.ts';
import { escapeControls } from '../terminal/fit-text.ts';
import { formatBytes, screenful } from '../terminal/words.ts';
import { commonExits, type LoadedCommand, oneText, textOption, wholeNumber } from './command.ts';
import { rowOptions, rowsChosen } from './scene-options.ts';
import { onBatch, textIn } from './reply.ts';
import type { ExportChoices } from '../batch/exported-scenes.ts';

export const exportCommand: LoadedCommand = {
  purpose: `Writes the saved pictures and clips of the batch, with their prompts, columns and values, into a folder of their own, as a dataset, or as a gallery for somebody else (gallery): the pictures without prompts and jobs, and one page that opens from a disk. Each picture's sha256 is checked as it is read. Another export writes only changes and removes outdated files; it continues where it was stopped. Scenes without a picture are listed in missing.jsonl there, except in a gallery. The batch is only read, also during a run.`,
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
      describe: 'webdataset, parquet: pictures a file, which ends at 3 GB if it contains them',
    },
    caption: {
      ...textOption,
      describe:
        "captions, webdataset, gallery: the text of a picture, such as '{{ prompt }}, {{ style }}'; its prompt by default, in a gallery its name",
    },
    'with-metadata': {
      type: 'boolean',
      describe: 'gallery: keep texts about the making of the pictures, and show prompts',
    },
    name: {
      ...textOption,
      describe: "names of the files, such as '{{ shot }} {{ title }}'; those of the pictures by default",
    },
    embed: {
      type: 'boolean',
      describe: 'parquet: with the pictures, as an Image, Video or Audio column of Hugging Face',
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
    ['$0 export pipeline.yaml chosen --to imagefolder --starred', 'only what you starred in watch'],
    [
      "$0 export pipeline.yaml for-anna --to gallery --starred --name '{{ shot }} {{ title }}'",
      'the same to send to a client, with names of its own',
    ],
    ['$0 export pipeline.yaml table --to parquet', 'a row a picture, for DuckDB or pandas'],
  ],
  exits: {
    ...commonExits,
    complete: 'every saved picture and clip was exported',
    incomplete: 'saved pictures or clips are missing or damaged; all others were exported',
    'already-running': 'another export is writing into the folder',
  },
  work: (argv) => onBatch(argv, (batch, json) => exportChosen(batch, argv, json), { isReading: true }),
};

/** Resolves to the exit code. */
async function exportChosen(batch: Batch, argv: Record<string, unknown>, json: boolean): Promise<number> {
  const view = createExportView(json);
  // Reading `dir` reports a wrong pipeline.yaml before a wrong option.
  void batch.dir;
  const choices = choicesOf(batch, argv);
  const exported = await batch.read((book) => exportDataset(book, choices, view));
  return view.end(exported);
}

function choicesOf(batch: Batch, argv: Record<string, unknown>): ExportChoices {
  const [caption, name, copy] = [oneText(argv, 'caption'), oneText(argv, 'name'), oneText(argv, 'copy')];
  const [isEmbedded, isLinked] = [argv['embed'] === true, argv['link'] === true];
  const isWithMetadata = argv['with-metadata'] === true;
  const given = { caption, name, copy, isEmbedded, isLinked, isWithMetadata };
  const to = exportableKind(oneText(argv, 'to'), given);
  return {
    to,
    dir: resolve(textIn(argv, 'dir')),
    shard: wholeNumber(argv, 'shard', 1, 100_000),
    caption,
    name,
    isEmbedded,
    copy: copy === undefined ? undefined : copyNamed(copy, batch),
    isLinked,
    isWithMetadata,
    ...rowsChosen(argv, batch),
  };
}

interface ExportView extends ExportListener {
  /** Returns the exit code. */
  end: (exported: ExportedDataset) => number;
}

function createExportView(json: boolean): ExportView {
  const progress = progressLine();
  let [bad, done] = [0, 0];
  return {
    onBad: ({ kind, scene, file, problem }) => {
      bad += 1;
      const more = kind === 'damaged' ? { problem } : {};
      if (json) writeJsonLine(`picture-${kind}`, { scene, state: 'saved', file, ...more });
      else if (bad <= screenful) writeError(escapeControls(`${file} (scene ${scene}): ${problem}`));
    },
    onDone: (pictures) => {
      done += pictures;
      if (!json) progress(() => `${plural(done, 'file')} exported`);
    },
    onNote: (text) => writeError(escapeControls(text)),
    end: (exported) => {
      const { exitCode } = endings[exported.bad === 0 ? 'complete' : 'incomplete'];
      clearStatus();
      if (json) writeJsonLine('exported', { ...exported, exitCode });
      else for (const line of lastWords(exported)) writeOut(line);
      return exitCode;
    },
  };
}

function lastWords(exported: ExportedDataset): string[] {
  const { to, dir, pictures, clips, written, bytes, bad, missing } = exported;
  const noun = nounFor({ files: pictures, clips });
  const shown = shownPath(dir);
  const kept = pictures - written;
  const how = formatCounts([
    [written, `written now (${formatBytes(bytes)})`],
    [kept, 'as they were'],
  ]);
  const without = Object.values(missing).reduce((sum, count) => sum + count, 0);
  const states = Object.entries(missing).map(([state, count]): [number, string] => [count, state]);
  return [
    `${plural(pictures, noun)} in ${shown}, as ${to}${how === '' ? '' : `: ${how}`}.`,
    ...(without === 0
      ? []
      : [
          `${plural(without, 'scene has', 'scenes have')} no ${noun}: ${formatCounts(states)}. ${to === 'gallery' ? 'The gallery does not mention them' : `They are listed in ${join(shown, missingFile)}`}.`,
        ]),
    ...(bad === 0
      ? []
      : [
          `${plural(bad, `saved ${noun} is`, `saved ${noun}s are`)} missing or damaged, and not in it${to === 'gallery' ? '' : ': listed there as well'}. \`nightrender verify <pipeline> --repair\` puts ${bad === 1 ? 'it' : 'them'} back for rendering.`,
        ]),
  ];
}
