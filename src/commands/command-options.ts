/** The help of every command: what it does, its options, examples and exit codes. */
import { availableParallelism } from 'node:os';
import type { Argv } from 'yargs';
import { endings, type EndingKind } from '../core/ending.ts';
import { schemaNames } from './schema-names.ts';
import { partOptions } from './part-options.ts';
import { optionRules, variableOf, type OptionName } from './run-options.ts';

export function runOptions(parser: Argv) {
  const purpose = `Renders every scene of the manifest that has no picture yet, and writes the report. The same command goes on after a stop, a crash or an edit of the manifest; nothing is paid twice.`;
  return withPipeline(parser, [
    'manifest',
    'output',
    'concurrency',
    'skip-bad-rows',
    'log',
    'stats',
    'json',
    'quiet',
  ])
    .usage(`$0 run <pipeline>\n\n${purpose}`)
    .options(partOptions)
    .example('$0 run pipeline.yaml', 'start, or go on after a stop or a crash')
    .example('$0 run pipeline.yaml --concurrency 4', 'four jobs in flight at most')
    .example(
      '$0 run pipeline.yaml --limit 20',
      'a preview: 20 scenes from all over the list, once and for good',
    )
    .example('$0 run pipeline.yaml --stats', 'in the morning, see what held the night back')
    .example('$0 run pipeline.yaml --log night.log', 'every event as a JSON line in a file')
    .example('zcat list.txt.gz | $0 run pipeline.yaml --manifest -', 'scenes from standard input')
    .example('$0 run pipeline.yaml --quiet', 'from cron: a line only where something is wrong')
    .epilogue(`${precedence}\n\n${exitCodes()}`);
}

export function initOptions(parser: Argv) {
  const purpose = `Writes a commented pipeline.yaml and scenes.csv that run at once on the local service, or for a real endpoint. A file that is there is never touched.`;
  const text = { type: 'string', requiresArg: true } as const;
  return parser
    .usage(`$0 init [dir]\n\n${purpose}`)
    .positional('dir', {
      type: 'string',
      default: '.',
      describe: 'folder of the two files; made where it is missing',
    })
    .option('endpoint', {
      ...text,
      describe: 'address of a real service, such as https://api.your-service.example',
    })
    .option('id', { ...text, describe: 'id of the endpoint there' })
    .example('$0 init night', 'a batch for the local service, in the folder night')
    .example(
      '$0 init night --endpoint https://api.your-service.example --id your-endpoint-id',
      'for a real one; the key is taken from NIGHTRENDER_API_KEY',
    )
    .epilogue(
      exitCodes({
        bug: common.bug,
        complete: 'the files are written',
        'wrong-use': 'wrong use, or a file is there already',
        'output-unwritable': common['output-unwritable'],
      }),
    );
}

export function planOptions(parser: Argv) {
  const purpose = `Checks all that a run would check, and tells what it would do: which scenes are new, edited, done or failed, the first requests in full, the names of their pictures, and what it will cost and take by what earlier runs of this batch needed. It sends nothing, writes nothing and takes no lock, and may be asked beside a run and where no folder is yet. Room for a copy of the checkpoint is needed in the folder of temporary files.`;
  return withPipeline(parser, ['manifest', 'output', 'concurrency', 'skip-bad-rows', 'json'])
    .usage(`$0 plan <pipeline>\n\n${purpose}`)
    .options(partOptions)
    .option('check', {
      type: 'boolean',
      describe: 'ask the service whether key and endpoint are right; that starts nothing',
    })
    .option('requests', {
      type: 'string',
      requiresArg: true,
      describe: 'how many of the first requests are shown (default: 3)',
    })
    .example('$0 plan pipeline.yaml', 'before the night')
    .example('$0 plan pipeline.yaml --check', 'the key and the endpoint, too')
    .example('$0 plan pipeline.yaml --limit 20', 'what a preview of 20 scenes would do')
    .example('$0 plan pipeline.yaml --json', 'for a script: one JSON object')
    .epilogue(`${precedence}\n\n${exitCodes({ ...common, ...planning })}`);
}

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
    .option('csv', { type: 'boolean', describe: 'as in results.csv' })
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

export function verifyOptions(parser: Argv) {
  const purpose = `Looks at every saved picture: that its file is there, has the bytes and the sha256 on record, and decodes to the last pixel. It only reads, and may be asked while a run is going on. With --repair, which takes the batch for itself, exactly the scenes with a missing or damaged picture are put back, and damaged files are kept as <name>.damaged, whole ones of the same job as <name>.former; the next run renders the scenes again.`;
  return withPipeline(parser, ['output', 'json'])
    .usage(`$0 verify <pipeline>\n\n${purpose}`)
    .option('repair', { type: 'boolean', describe: 'put back what is missing or damaged' })
    .example('$0 verify pipeline.yaml', 'after a disk was full, moved or mended')
    .example('$0 verify pipeline.yaml --repair', 'put back what is gone; then $0 run renders it')
    .example('$0 verify pipeline.yaml --json', 'for a script: a line for each bad picture')
    .epilogue(`${precedence}\n\n${exitCodes({ ...common, ...verifying })}`);
}

export function retryOptions(parser: Argv) {
  const purpose = `Puts scenes that were set aside back, with fresh attempts: the next run renders them, and each is a new job and a new bill. What is asked for adds up; without any option it is --failed. It sends nothing.`;
  const several = { type: 'string', requiresArg: true } as const;
  return withPipeline(parser, ['output', 'json'])
    .usage(`$0 retry <pipeline>\n\n${purpose}`)
    .option('failed', { type: 'boolean', describe: 'every failed scene' })
    .option('kind', { ...several, describe: 'failed scenes of this kind; may be given several times' })
    .option('id', { ...several, describe: 'the failed scene of this id; may be given several times' })
    .option('expired', { type: 'boolean', describe: 'the same as --kind expired' })
    .option('held', { type: 'boolean', describe: 'set aside by retry.unanswered: hold (--kind unanswered)' })
    .option('elsewhere', {
      type: 'boolean',
      describe: 'give up jobs in flight at another address than endpoint.baseUrl',
    })
    .example('$0 retry pipeline.yaml', 'every failed scene once more')
    .example('$0 retry pipeline.yaml --kind job-failed --kind no-output', 'only these kinds')
    .example('$0 retry pipeline.yaml --id harbour --id harbour-2', 'only these scenes')
    .example('$0 retry pipeline.yaml --elsewhere', 'after moving to another service for good')
    .epilogue(`${precedence}\n\n${exitCodes({ ...common, ...mending, complete: 'the scenes wait again' })}`);
}

export function cancelOptions(parser: Argv) {
  const purpose = `Asks the service to cancel every job in flight, and looks at each once more: what is done already is saved, what was cancelled waits to be rendered again and counts as no attempt, and what still runs is left in flight and said. Stop the run first.`;
  return withPipeline(parser, ['output', 'json', 'quiet'])
    .usage(`$0 cancel <pipeline>\n\n${purpose}`)
    .example('$0 cancel pipeline.yaml', 'after Ctrl-C, where nothing more should be paid tonight')
    .example('$0 cancel pipeline.yaml --json', 'for a script: what became of each job')
    .epilogue(`${precedence}\n\n${exitCodes({ ...common, ...mending, ...cancelling })}`);
}

export function schemaOptions(parser: Argv) {
  const purpose = `Prints a JSON Schema to stdout: that of pipeline.yaml, or that of the lines that --json writes (events). Editors check a pipeline.yaml against its schema that begins with # yaml-language-server: $schema=<path>.`;
  return parser
    .positional('what', {
      choices: schemaNames,
      default: schemaNames[0],
      describe: 'whose schema',
    })
    .usage(`$0 schema [what]\n\n${purpose}`)
    .example('$0 schema > pipeline.schema.json', 'for an editor, beside the pipeline.yaml')
    .example('$0 schema events', 'for a program that reads run --json')
    .epilogue(exitCodes({ bug: endings.bug.means, 'wrong-use': 'wrong use', complete: 'it was printed' }));
}

export function inspectOptions(parser: Argv) {
  const purpose = `Prints what a picture says of itself: its size and format, and where it comes from, told by the picture (output.metadata: embed) or by the JSON file beside it (sidecar). Texts that other programs have put into a PNG are printed as well.`;
  return parser
    .positional('picture', { type: 'string', demandOption: true, describe: 'a PNG, or any other picture' })
    .usage(`$0 inspect <picture>\n\n${purpose}`)
    .option('json', { type: 'boolean', describe: 'as one JSON object' })
    .example('$0 inspect renders/images/harbour.png', 'its prompt, inputs, seed and job')
    .example('$0 inspect harbour.png --json', 'for a script')
    .epilogue(exitCodes({ bug: common.bug, ...inspecting }));
}

export function serveOptions(parser: Argv) {
  const purpose = `Serves the job interface on 127.0.0.1 until SIGINT or SIGTERM. The key is taken from NIGHTRENDER_API_KEY; without one, a new one is made and shown.`;
  const text = { type: 'string', requiresArg: true } as const;
  return parser
    .usage(`$0 serve\n\n${purpose}`)
    .option('port', { requiresArg: true, default: 4747, describe: 'port on 127.0.0.1; 0 for a free one' })
    .option('data', { ...text, describe: 'folder of its jobs (default: ~/.local/share/nightrender)' })
    .option('endpoint', { ...text, default: 'scene-renderer', describe: 'id of its endpoint' })
    .option('workers', {
      requiresArg: true,
      default: availableParallelism(),
      describe: 'jobs worked on at once',
    })
    .option('retention', {
      ...text,
      default: '30m',
      describe: 'results are deleted this long after completion',
    })
    .option('json', { type: 'boolean', describe: 'say the address as JSON' })
    .example('$0 serve --data ./jobs-data', 'jobs survive a crash and are worked on again')
    .example('$0 serve --port 0 --json', 'for a script: a free port, said as JSON')
    .epilogue(exitCodes({ ...common, ...serving }));
}

export function completionOptions(parser: Argv) {
  const purpose = `Prints a script that has the shell complete commands, options, states, kinds and files. Without a shell, it is the one that SHELL names.`;
  return parser
    .usage(`$0 completion [shell]\n\n${purpose}`)
    .positional('shell', { type: 'string', describe: 'bash, zsh or fish' })
    .example('source <($0 completion bash)', 'in ~/.bashrc')
    .example('source <($0 completion zsh)', 'in ~/.zshrc, after compinit')
    .example('$0 completion fish | source', 'in ~/.config/fish/config.fish')
    .epilogue(
      exitCodes({ 'wrong-use': 'there is no script for this shell', complete: 'the script was printed' }),
    );
}

export function manOptions(parser: Argv) {
  const purpose = `Prints the manual page, which an installation for everybody brings along as well.`;
  return parser
    .usage(`$0 man\n\n${purpose}`)
    .example('$0 man | man -l -', 'read it')
    .epilogue(exitCodes({ complete: 'the page was printed' }));
}

/** A number has no type here: the parser would make NaN of what is none, and nobody could be told what was given. */
function withPipeline(parser: Argv, names: OptionName[]) {
  const base = parser.positional('pipeline', {
    type: 'string',
    demandOption: true,
    describe: 'the file that says what is rendered where, such as pipeline.yaml',
  });
  for (const name of names) {
    const { type, describe, path } = optionRules[name];
    base.option(name, {
      ...(type !== 'number' && { type }),
      describe: `${describe}\n[${path.join('.')}, ${variableOf(name)}]`,
      requiresArg: type !== 'boolean',
    });
  }
  return base;
}

const precedence =
  'In brackets: the key in pipeline.yaml and the environment variable of the same meaning. An option wins over the variable, and the variable over the file.';

const common = {
  bug: endings.bug.means,
  'wrong-use': 'wrong use or configuration, no batch yet, or its file is damaged',
  'output-unwritable': endings['output-unwritable'].means,
};

const explaining = {
  complete: 'the story was told',
  'wrong-use': 'wrong use or configuration, no batch yet, no such id, or its file is damaged',
};

const planning = {
  complete: 'a run could begin',
  'wrong-use': endings['wrong-use'].means,
  halted: 'with --check: no useful answer came',
  'not-allowed': `with --check: ${endings['not-allowed'].means}`,
  'output-unwritable': 'the plan was shown, and a run could not write',
  interrupted: endings.interrupted.means,
  terminated: endings.terminated.means,
};

const verifying = {
  complete: 'every saved picture is there and whole',
  incomplete: 'some pictures are missing or damaged; also where --repair has put them back',
  'already-running': 'a run holds this batch (--repair)',
};

const mending = { 'already-running': 'a run holds this batch: stop it first' };

const cancelling = {
  complete: 'nothing is in flight any more',
  incomplete: 'some jobs are still in flight',
  'not-allowed': endings['not-allowed'].means,
  interrupted: endings.interrupted.means,
  terminated: endings.terminated.means,
};

const inspecting = {
  complete: 'it was printed',
  'wrong-use': 'wrong use, or no picture',
};

const serving = {
  complete: 'ended by SIGINT or SIGTERM',
  'wrong-use': 'wrong use, or the port is in use',
  'already-running': 'another service works in this folder',
};

const watching = {
  complete: 'ended by SIGINT or SIGTERM',
  'wrong-use': 'wrong use or configuration, or the port is in use',
};

/** All of them as they are; or those of a command that only looks or serves, in its own words. */
export function exitCodes(own?: Partial<Record<EndingKind, string>>): string {
  const kinds = Object.keys(endings) as EndingKind[];
  const lines = kinds.flatMap((kind) => {
    const { exitCode, means, isResumable } = endings[kind];
    if (own === undefined) return codeLine(exitCode, `${means}${isResumable ? ' (resumable)' : ''}`);
    return own[kind] === undefined ? [] : codeLine(exitCode, own[kind]);
  });
  const head =
    own === undefined ? 'Exit codes; after a resumable one the same command goes on:' : 'Exit codes:';
  return [head, ...lines].join('\n');
}

function codeLine(exitCode: number, means: string): string {
  return `${String(exitCode).padStart(5)}  ${means}`;
}
