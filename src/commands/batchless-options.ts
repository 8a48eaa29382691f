/** The help of the commands that have to do with no batch. */
import type { Argv } from 'yargs';
import { endings } from '../runner/core/ending.ts';
import { common, exitCodes } from './exit-codes.ts';
import { topicList } from './help-topics.ts';
import { schemaNames } from './schema-names.ts';

export function initOptions(parser: Argv) {
  const purpose = `Writes a commented pipeline.yaml and scenes.csv that run at once on the local service, or for a real endpoint, and pipeline.schema.json, by which editors complete and check the first; with --service a commented service.yaml, for nightrender serve, and its schema. A file that is there is never touched.`;
  const text = { type: 'string', requiresArg: true } as const;
  return parser
    .usage(`$0 init [dir]\n\n${purpose}`)
    .positional('dir', {
      type: 'string',
      default: '.',
      describe: 'folder of the files; made where it is missing',
    })
    .option('endpoint', {
      ...text,
      describe: 'address of a real service, such as https://api.your-service.example',
    })
    .option('id', { ...text, describe: 'id of the endpoint there' })
    .option('service', { type: 'boolean', describe: 'a service.yaml instead, for a service of your own' })
    .example('$0 init night', 'a batch for the local service, in the folder night')
    .example(
      '$0 init night --endpoint https://api.your-service.example --id your-endpoint-id',
      'for a real one; the key is taken from NIGHTRENDER_API_KEY',
    )
    .example('$0 init --service', 'a service.yaml, for nightrender serve service.yaml')
    .epilogue(
      exitCodes({
        bug: common.bug,
        complete: 'the files are written',
        'wrong-use': 'wrong use, or a file is there already',
        'output-unwritable': common['output-unwritable'],
      }),
    );
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

export function schemaOptions(parser: Argv) {
  const purpose = `Prints a JSON Schema to stdout: that of pipeline.yaml, that of service.yaml (service), or that of the lines that --json writes (events). Editors check a YAML file against its schema that begins with # yaml-language-server: $schema=<path>.`;
  return parser
    .positional('what', {
      type: 'string',
      default: schemaNames[0],
      describe: `whose schema: ${schemaNames.join(', ')}`,
    })
    .usage(`$0 schema [what]\n\n${purpose}`)
    .example('$0 schema > pipeline.schema.json', 'for an editor, beside the pipeline.yaml')
    .example('$0 schema events', 'for a program that reads run --json')
    .epilogue(exitCodes({ bug: endings.bug.means, 'wrong-use': 'wrong use', complete: 'it was printed' }));
}

export function helpOptions(parser: Argv) {
  const purpose = `Prints a page of the manual, paged on a terminal (PAGER, or less) and as Markdown elsewhere. Without a topic, lists the topics. The name of a command gives the help of that command.`;
  return parser
    .usage(`$0 help [topic]\n\n${purpose}`)
    .positional('topic', { type: 'string', default: topicList, describe: 'a page, or a command' })
    .example('$0 help', 'list the topics')
    .example('$0 help manifest', 'read the page on lists of scenes')
    .example('$0 help run', 'the options of run')
    .epilogue(exitCodes({ complete: 'it was printed', 'wrong-use': 'there is no such topic' }));
}

export function serveOptions(parser: Argv) {
  const purpose = `Serves the job interface and a console until SIGINT or SIGTERM. Endpoints, their workers and limits stand in service.yaml (nightrender init --service writes one) and can be made in the console; without a file there is one endpoint, which paints. The key is taken from NIGHTRENDER_API_KEY; without one, the first start makes and shows one, and nightrender keys makes more.`;
  const text = { type: 'string', requiresArg: true } as const;
  return parser
    .usage(`$0 serve [service]\n\n${purpose}`)
    .positional('service', { type: 'string', describe: 'the service.yaml' })
    .option('host', { ...text, describe: 'where to listen (default: 127.0.0.1); elsewhere takes a key' })
    .option('port', { requiresArg: true, describe: 'the port (default: 4747); 0 for a free one' })
    .option('data', {
      ...text,
      describe: 'folder of its jobs and keys (default: ~/.local/share/nightrender)',
    })
    .option('retention', {
      ...text,
      describe: 'results are deleted this long after completion (default: 30m)',
    })
    .option('endpoint', { ...text, describe: 'without a file: id of the endpoint (default: scene-renderer)' })
    .option('workers', {
      requiresArg: true,
      describe: 'without a file: jobs worked on at once (default: one a processor)',
    })
    .option('json', { type: 'boolean', describe: 'say the address as JSON' })
    .example('$0 serve service.yaml', 'the endpoints of the file, and those of the console')
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
  const purpose = `Prints the man page: every command and its options. A global installation brings it along. The manual in pages is nightrender help.`;
  return parser
    .usage(`$0 man\n\n${purpose}`)
    .example('$0 man | man -l -', 'read it')
    .epilogue(exitCodes({ complete: 'the page was printed' }));
}

const inspecting = {
  complete: 'it was printed',
  'wrong-use': 'wrong use, or no picture',
};

const serving = {
  complete: 'ended by SIGINT or SIGTERM',
  'wrong-use': 'wrong use, or the port is in use',
  'already-running': 'another service works in this folder',
};
