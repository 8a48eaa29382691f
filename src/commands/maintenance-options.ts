/** The help of the commands that put scenes of a batch back to be rendered again. */
import type { Argv } from 'yargs';
import { endings } from '../runner/core/ending.ts';
import { beginOptions } from './begin-options.ts';
import { common, exitCodes } from './exit-codes.ts';
import { precedence, withPipeline } from './pipeline-options.ts';

export function verifyOptions(parser: Argv) {
  const purpose = `Looks at every saved picture: that its file is there, has the bytes and the sha256 on record, and decodes to the last pixel. It only reads, and may be asked while a run is going on. With --repair, which takes the batch for itself, a damaged checkpoint is repaired first and kept as checkpoint.sqlite.damaged; then exactly the scenes with a missing or damaged picture are put back, and damaged files are kept as <name>.damaged, whole ones of the same job as <name>.former; the next run renders the scenes again.`;
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
    .option('again', {
      type: 'boolean',
      describe: 'with --id: a saved scene, too; its picture is kept as <name>.former',
    })
    .option('new-seed', { type: 'boolean', describe: 'with --again: send another seed from now on' })
    .option('expired', { type: 'boolean', describe: 'the same as --kind expired' })
    .option('held', { type: 'boolean', describe: 'set aside by retry.unanswered: hold (--kind unanswered)' })
    .option('give-up', {
      type: 'boolean',
      describe: 'with --id: give up the job of that scene that is in flight; it may be billed',
    })
    .option('elsewhere', {
      type: 'boolean',
      describe: 'give up jobs in flight at another address than endpoint.baseUrl',
    })
    .example('$0 retry pipeline.yaml', 'every failed scene once more')
    .example('$0 retry pipeline.yaml --kind job-failed --kind no-output', 'only these kinds')
    .example('$0 retry pipeline.yaml --id harbour --id harbour-2', 'only these scenes')
    .example('$0 retry pipeline.yaml --id harbour --give-up', 'its job never comes to an end')
    .example('$0 retry pipeline.yaml --id harbour --again --new-seed', 'its picture is not liked')
    .example('$0 retry pipeline.yaml --elsewhere', 'after moving to another service for good')
    .epilogue(`${precedence}\n\n${exitCodes({ ...common, ...mending, complete: 'the scenes wait again' })}`);
}

export function cancelOptions(parser: Argv) {
  const purpose = `Asks the service to cancel every job in flight, and looks at each once more: what is done already is saved, what was cancelled waits to be rendered again and counts as no attempt, and what still runs is left in flight and said. Stop the run first.`;
  return withPipeline(parser, ['output', 'json', 'quiet'])
    .usage(`$0 cancel <pipeline>\n\n${purpose}`)
    .option('accept-loss', beginOptions['accept-loss'])
    .example('$0 cancel pipeline.yaml', 'after Ctrl-C, where nothing more should be paid tonight')
    .example('$0 cancel pipeline.yaml --json', 'for a script: what became of each job')
    .epilogue(`${precedence}\n\n${exitCodes({ ...common, ...mending, ...cancelling })}`);
}

const verifying = {
  complete: 'every saved picture is there and whole',
  incomplete:
    'pictures are missing or damaged; also where --repair has put them back, or repaired the checkpoint',
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
