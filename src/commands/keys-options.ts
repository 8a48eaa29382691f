/** The help of `nightrender keys`. */
import type { Argv } from 'yargs';
import { common, exitCodes } from './exit-codes.ts';

export function keysOptions(parser: Argv) {
  const purpose = `Makes, lists and revokes the keys of the local service, also while it runs: a change counts from its next request on. A new key is printed once and kept nowhere; the service keeps its digest (SHA-256), from which no key can be worked out. Names are unique and stay those of their keys, also of revoked ones.`;
  const text = { type: 'string', requiresArg: true } as const;
  return parser
    .usage(`$0 keys <action> [name]\n\n${purpose}`)
    .positional('action', { type: 'string', demandOption: true, describe: 'add, list or revoke' })
    .positional('name', { type: 'string', describe: 'name of the key; to revoke it, its id as well' })
    .option('kind', {
      ...text,
      describe:
        'of a new key: client for the job interface (the usual one), worker for workers that pull jobs, admin for the console and jobs',
    })
    .option('endpoint', {
      ...text,
      describe: 'id of an endpoint for which a new key is good, may be given several times (default: all)',
    })
    .option('data', { ...text, describe: 'folder of the service (default: ~/.local/share/nightrender)' })
    .option('json', { type: 'boolean', describe: 'as JSON, a line for each key' })
    .example('KEY=$($0 keys add laptop)', 'a key for jobs at all endpoints')
    .example('$0 keys add attic --kind worker --endpoint scene-renderer', 'for workers on another machine')
    .example('$0 keys list', 'which there are, when each was used last, and what was done for it')
    .example('$0 keys revoke laptop', 'it is good for nothing any more')
    .epilogue(exitCodes({ ...common, ...changing }));
}

const changing = {
  complete: 'the key was made, listed or revoked',
  'wrong-use': 'wrong use, no such key, the name is taken, or the key book is damaged',
  'already-running': 'another program holds the key book and does not let go of it',
};
