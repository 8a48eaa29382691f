/** The help of the commands that render a batch, or tell what rendering it would do. */
import type { Argv } from 'yargs';
import { endings } from '../runner/core/ending.ts';
import { beginOptions } from './begin-options.ts';
import { common, exitCodes } from './exit-codes.ts';
import { partOptions } from './part-options.ts';
import { precedence, withPipeline } from './pipeline-options.ts';

export function runOptions(parser: Argv) {
  const purpose = `Renders every scene of the manifest that has no picture yet, and writes the report. The same command goes on after a stop, a crash or an edit of the manifest; nothing is paid twice.`;
  return withPipeline(parser, [
    'manifest',
    'output',
    'concurrency',
    'skip-bad-rows',
    'allow-fewer',
    'log',
    'stats',
    'json',
    'quiet',
  ])
    .usage(`$0 run <pipeline>\n\n${purpose}`)
    .options({ ...partOptions, ...beginOptions })
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

export function planOptions(parser: Argv) {
  const purpose = `Checks all that a run would check, and tells what it would do: which scenes are new, edited, done or failed, the first requests in full, the names of their pictures, and what it will cost and take by what earlier runs of this batch needed. It sends nothing, writes nothing and takes no lock, and may be asked beside a run and where no folder is yet. Room for a copy of the checkpoint is needed in the folder of temporary files.`;
  return withPipeline(parser, ['manifest', 'output', 'concurrency', 'skip-bad-rows', 'allow-fewer', 'json'])
    .usage(`$0 plan <pipeline>\n\n${purpose}`)
    .options({ ...partOptions, ...beginOptions })
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

const planning = {
  complete: 'a run could begin',
  'wrong-use': endings['wrong-use'].means,
  halted: 'with --check: no useful answer came',
  'not-allowed': `with --check: ${endings['not-allowed'].means}`,
  'output-unwritable': 'the plan was shown, and a run could not write',
  interrupted: endings.interrupted.means,
  terminated: endings.terminated.means,
};
