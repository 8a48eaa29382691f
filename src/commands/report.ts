/** `nightrender report`: writes the result files again from the checkpoint. */
import type { Batch } from '../batch/batch.ts';
import { shownPath } from '../batch/refusal.ts';
import { plural } from '../lib/text/format.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { durationWithin } from '../lib/yaml/scalar-schemas.ts';
import type { Made } from '../runner/images/missing-files.ts';
import {
  clearStatus,
  createLink,
  progressLine,
  writeError,
  writeOut,
  writeJsonLine,
} from '../terminal/terminal.ts';
import { commonExits, type LoadedCommand, textOption } from './command.ts';
import { withSignals } from './signals.ts';
import { onBatch, writeWarning } from './reply.ts';
import { readReportKeys } from '../runner/config/schema-parts.ts';
import { type ReportListener, type WrittenReport, rewriteReport } from '../batch/result-files.ts';

export const reportCommand: LoadedCommand = {
  purpose: `Writes the gallery (index.html), results.csv, results.jsonl and summary.json from the checkpoint, and creates missing thumbnails and copies (output.formats). Sends nothing; works during a run.`,
  shared: ['output', 'json'],
  options: {
    signed: {
      ...textOption,
      describe:
        'pictures in a bucket: put links into the gallery here that work without credentials, for example for 12h or 7d',
    },
  },
  examples: [
    ['$0 report pipeline.yaml', 'results.csv as of now'],
    ['$0 report pipeline.yaml --json', 'for a script: the paths as one JSON object'],
  ],
  exits: { ...commonExits, complete: 'the files were written' },
  work: (argv) => onBatch(argv, (batch, json) => report(batch, argv, json)),
};

async function report(batch: Batch, argv: Record<string, unknown>, json: boolean): Promise<void> {
  // Reading `dir` reports a wrong pipeline.yaml before a wrong option.
  void batch.dir;
  const signed = signedMs(argv);
  const view = createReportView(json, batch.arguments);
  const settings = readReportKeys(batch.parts);
  const written = await batch.read((book) =>
    withSignals((stop) => rewriteReport(book, settings, signed, stop, view)),
  );
  view.end({ ...written, files: written.files.map(shownPath) });
}

const maxSigned = '7d';

function signedMs(argv: Record<string, unknown>): number | undefined {
  const text = argv['signed'];
  if (text === undefined) return undefined;
  const read = durationWithin('1s', maxSigned).safeParse(text);
  if (read.success) return read.data;
  const expected = `a time such as 12h, ${maxSigned} at most`;
  throw new ConfigError([{ where: '--signed', text: `${JSON.stringify(text)}; expected ${expected}` }]);
}

interface ReportView extends ReportListener {
  end: (written: WrittenReport) => void;
}

function createReportView(json: boolean, others: string): ReportView {
  const progress = progressLine();
  return {
    onMade: (what, made) => {
      if (!json) progress(() => `${what} created for ${plural(made, 'file')}`);
    },
    // Printed to stderr, because scripts read the paths from stdout.
    onWarning: (text) => writeWarning(text, json),
    end: (written) => {
      if (json) return writeJsonLine('files-written', written);
      clearStatus();
      const link = createLink(process.stdout);
      for (const each of written.files) writeOut(link(each, each));
      for (const line of describe('thumbnail', written.thumbnails, others)) writeError(line);
      for (const line of describe('copies', written.copies, others)) writeError(line);
    },
  };
}

function describe(what: 'thumbnail' | 'copies', made: Made | undefined, file: string): string[] {
  const { made: count, lacking } = made ?? { made: 0, lacking: 0 };
  const [thing, why] =
    what === 'thumbnail'
      ? ['no thumbnail', 'none can be made of it']
      : ['not all copies', 'a copy cannot be made'];
  return [
    ...(count > 0
      ? [`Missing ${what === 'thumbnail' ? 'thumbnails' : what} created for ${plural(count, 'file')}.`]
      : []),
    ...(lacking > 0
      ? [
          `${plural(lacking, 'file has', 'files have')} ${thing}: the file is missing or damaged (\`nightrender verify ${file}\` tells), or ${why}.`,
        ]
      : []),
  ];
}
