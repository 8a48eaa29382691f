/** The help of the commands that look at a batch and leave it as it is. */
import type { Argv } from 'yargs';
import { common, exitCodes } from './exit-codes.ts';
import { precedence, withPipeline } from './pipeline-options.ts';

export function statusOptions(parser: Argv) {
  const purpose = `Shows how many scenes are saved, in flight and failed, what failed most, whether a run is at work, and what held the last one back; of a run at work also its pace, the time left and the latest picture. It only reads, and may be asked while a run is going on.`;
  return withPipeline(parser, ['output', 'json'])
    .usage(`$0 status <pipeline>\n\n${purpose}`)
    .option('watch', { type: 'boolean', describe: 'look again every second until the run ends, or Ctrl-C' })
    .example('$0 status pipeline.yaml', 'while it runs, or in the morning')
    .example('$0 status pipeline.yaml --watch', 'from another terminal')
    .example('$0 status pipeline.yaml --json', 'for a script: one JSON object')
    .epilogue(`${precedence}\n\n${exitCodes({ ...common, complete: 'the batch was shown' })}`);
}

export function listOptions(parser: Argv) {
  const purpose = `Lists the scenes of the batch, one a line: id, state, attempts, and its file or what went wrong. Options narrow it down; of one that is given several times any may hold. It only reads, and may be asked while a run is going on.`;
  const text = { type: 'string', requiresArg: true } as const;
  return withPipeline(parser, ['output', 'json'])
    .usage(`$0 list <pipeline>\n\n${purpose}`)
    .option('state', {
      ...text,
      describe: 'scenes in this state: waiting, active, saved, failed, withdrawn, invalid',
    })
    .option('kind', { ...text, describe: 'scenes whose last failure is of this kind, such as job-failed' })
    .option('search', {
      ...text,
      describe: 'scenes with this in their id, a column or the words of the failure',
    })
    .option('limit', { requiresArg: true, describe: 'so many at most' })
    .option('csv', { type: 'boolean', describe: 'as in results.csv, every text exactly: for use as a list' })
    .example('$0 list pipeline.yaml --state failed', 'what did not come out, and why')
    .example('$0 list pipeline.yaml --kind job-failed --search harbour', 'both must hold')
    .example('$0 list pipeline.yaml --state saved --json', 'for a script: a line each, as in results.jsonl')
    .example('$0 list pipeline.yaml --state failed --csv > failed.csv', 'for a spreadsheet')
    .epilogue(
      `${precedence}\n\n${exitCodes({ ...common, complete: 'the scenes were listed; none is no failure' })}`,
    );
}

export function explainOptions(parser: Argv) {
  const purpose = `Tells the whole story of one scene: its row and what is sent, every attempt with its job and its instants, the pictures, what went wrong in words, and what decides what happens next. It only reads, and may be asked while a run is going on.`;
  return withPipeline(parser, ['output', 'json'])
    .usage(`$0 explain <pipeline> [id]\n\n${purpose}`)
    .positional('id', {
      type: 'string',
      demandOption: true,
      describe: 'the id of the scene, as list shows it',
    })
    .example('$0 explain pipeline.yaml harbour', 'why there is no picture of it, say')
    .example('$0 explain pipeline.yaml harbour --json', 'for a script: one JSON object')
    .example('$0 explain pipeline.yaml --id=-1', 'an id that begins with a dash')
    .epilogue(`${precedence}\n\n${exitCodes({ ...common, ...explaining })}`);
}

export function watchOptions(parser: Argv) {
  const purpose = `Serves a page on 127.0.0.1 until SIGINT or SIGTERM: how far the batch is, how fast, what failed, and the pictures as they arrive. It only reads, needs no key, and works before a run, while one goes on, after it ended and after it died. Everybody who has an account on this machine can open it.`;
  return withPipeline(parser, ['output', 'json'])
    .usage(`$0 watch <pipeline>\n\n${purpose}`)
    .option('port', { requiresArg: true, default: 4748, describe: 'port on 127.0.0.1; 0 for a free one' })
    .example('$0 watch pipeline.yaml', 'then open http://127.0.0.1:4748/')
    .example('ssh -L 4748:127.0.0.1:4748 me@attic', 'and the same address shows it on another machine')
    .example('$0 watch pipeline.yaml --port 0 --json', 'for a script: a free port, said as JSON')
    .epilogue(`${precedence}\n\n${exitCodes({ ...common, ...watching })}`);
}

export function reportOptions(parser: Argv) {
  const purpose = `Writes the gallery (index.html), results.csv, results.jsonl and summary.json anew from the checkpoint, as things stand now, and makes the thumbnails and copies (output.formats) that are missing. It sends nothing, and may be called while a run is going on.`;
  return withPipeline(parser, ['output', 'json'])
    .usage(`$0 report <pipeline>\n\n${purpose}`)
    .option('contact-sheet', {
      type: 'boolean',
      describe: 'also contact-sheet-1.png and so on: eighty pictures on each, with their ids',
    })
    .example('$0 report pipeline.yaml', 'results.csv as of now')
    .example('$0 report pipeline.yaml --contact-sheet', 'all saved pictures at a glance')
    .example('$0 report pipeline.yaml --json', 'for a script: the paths as one JSON object')
    .epilogue(`${precedence}\n\n${exitCodes({ ...common, complete: 'the files are written' })}`);
}

const explaining = {
  complete: 'the story was told',
  'wrong-use': 'wrong use or configuration, no batch yet, no such id, or its file is damaged',
};

const watching = {
  complete: 'ended by SIGINT or SIGTERM',
  'wrong-use': 'wrong use or configuration, or the port is in use',
};
