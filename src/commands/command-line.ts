/** The command line: every command with its options and help. Commands are loaded when they are called. */
import { availableParallelism } from 'node:os';
import yargs, { type Argv } from 'yargs';
import { endings } from '../core/ending.ts';
import { tolerateClosedOutput, writeError } from '../terminal/console.ts';
import { optionRules, variableOf, type OptionName } from './run-options.ts';
import { program } from './version.ts';

/** Resolves to the exit code. */
export async function parseCommandLine(args: string[]): Promise<number> {
  tolerateClosedOutput();
  let exitCode = 0;
  const finish = async (result: Promise<number> | number): Promise<void> => {
    exitCode = await result;
  };
  const parser = yargs(args)
    .scriptName('nightrender')
    .usage(
      '$0 <command>\n\nRenders long lists of scenes on a GPU job service, and goes on where it was stopped.',
    )
    .version(program)
    .help()
    .alias('h', 'help')
    .command('run <pipeline>', 'start or continue a batch', runOptions, async (argv) => {
      const { run } = await import('./run.ts');
      await finish(run(argv.pipeline, argv));
    })
    .command('status <pipeline>', 'where a batch stands, from any terminal', statusOptions, async (argv) => {
      const { status } = await import('./status.ts');
      await finish(status(argv.pipeline, argv));
    })
    .command(
      'report <pipeline>',
      'write the result files anew from the checkpoint',
      reportOptions,
      async (argv) => {
        const { report } = await import('./report.ts');
        await finish(report(argv.pipeline, argv));
      },
    )
    .command(
      'serve',
      'run the local service: the same interface, on this machine',
      serveOptions,
      async (argv) => {
        const { serve } = await import('./serve.ts');
        await finish(serve(argv));
      },
    )
    .demandCommand(1, 'Say what to do: run, status, report or serve.')
    .strict()
    .epilogue(exitCodes())
    .wrap(Math.min(100, process.stdout.columns || 100))
    .exitProcess(false)
    .fail((message, error) => {
      if (error !== undefined) throw error;
      throw new WrongUse(message);
    });
  try {
    await parser.parseAsync();
  } catch (thrown) {
    if (!(thrown instanceof WrongUse)) throw thrown;
    writeError(`${thrown.message}\nSee nightrender --help.`);
    return endings['wrong-use'].exitCode;
  }
  return exitCode;
}

class WrongUse extends Error {}

function runOptions(parser: Argv) {
  return withPipeline(parser, ['manifest', 'output', 'concurrency', 'skip-bad-rows', 'json', 'quiet'])
    .example('$0 run pipeline.yaml', 'start, or go on after a stop or a crash')
    .example('$0 run pipeline.yaml --concurrency 4', 'four jobs in flight at most')
    .example('zcat list.txt.gz | $0 run pipeline.yaml --manifest -', 'scenes from standard input')
    .example('$0 run pipeline.yaml --quiet', 'from cron: a line only where something is wrong');
}

function statusOptions(parser: Argv) {
  return withPipeline(parser, ['output', 'json']).example(
    '$0 status pipeline.yaml',
    'while it runs, or in the morning',
  );
}

function reportOptions(parser: Argv) {
  return withPipeline(parser, ['output', 'json']).example('$0 report pipeline.yaml', 'results.csv as of now');
}

function serveOptions(parser: Argv) {
  return parser
    .usage('$0 serve\n\nThe key is taken from NIGHTRENDER_API_KEY; without one, a new one is made and shown.')
    .option('port', { type: 'number', default: 4747, describe: 'port on 127.0.0.1; 0 for a free one' })
    .option('data', { type: 'string', describe: 'folder of its jobs (default: ~/.local/share/nightrender)' })
    .option('endpoint', { type: 'string', default: 'scene-renderer', describe: 'id of its endpoint' })
    .option('workers', {
      type: 'number',
      default: availableParallelism(),
      describe: 'jobs worked on at once',
    })
    .option('retention', {
      type: 'string',
      default: '30m',
      describe: 'results are deleted this long after completion',
    })
    .option('json', { type: 'boolean', describe: 'say the address as JSON' })
    .example('$0 serve --data ./jobs-data', 'jobs survive a crash and are worked on again');
}

function withPipeline(parser: Argv, names: OptionName[]) {
  const base = parser.positional('pipeline', {
    type: 'string',
    demandOption: true,
    describe: 'pipeline.yaml',
  });
  for (const name of names) {
    const { type, describe, path } = optionRules[name];
    base.option(name, {
      type,
      describe: `${describe}\n[${path.join('.')}, ${variableOf(name)}]`,
      requiresArg: type !== 'boolean',
    });
  }
  return base;
}

function exitCodes(): string {
  const lines = Object.values(endings).map(
    ({ exitCode, means, isResumable }) =>
      `${String(exitCode).padStart(5)}  ${means}${isResumable ? ' (resumable)' : ''}`,
  );
  return ['Exit codes; after a resumable one the same command goes on:', ...lines].join('\n');
}
