/** `nightrender explain`: one scene's whole story, and what decides what happens to it next. */
import { isBatchHeld } from '../runner/checkpoint/batch-lock.ts';
import { readIds, readStory } from '../runner/checkpoint/read-story.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { closestFew } from '../lib/text/closest.ts';
import { shellWord } from '../lib/text/format.ts';
import type { Database } from '../lib/sqlite/database.ts';
import { printStory } from '../terminal/print-story.ts';
import { lookAtBatch } from './existing-batch.ts';
import { shownPath } from './shown-path.ts';
import type { LoadedCommand } from './command.ts';
import { onBatch, type BatchCall } from './on-batch.ts';
import { common } from './exit-codes.ts';
import { fileIn, textIn } from './option-values.ts';

export const explainCommand: LoadedCommand = {
  purpose: `Shows everything about one scene: its row and input, every attempt with its job and times, pictures, failures, and the next step. Read-only, also during a run.`,
  shared: ['output', 'json'],
  positionals: {
    id: {
      type: 'string',
      demandOption: true,
      describe: 'the id of the scene, as list shows it',
    },
  },
  examples: [
    ['$0 explain pipeline.yaml harbour', 'for example, why it has no picture'],
    ['$0 explain pipeline.yaml harbour --json', 'for a script: one JSON object'],
    ['$0 explain pipeline.yaml --id=-1', 'an id that begins with a dash'],
  ],
  exits: {
    ...common,
    complete: 'printed',
    'wrong-use': 'wrong use or configuration, no batch yet, no such id, or its file is damaged',
  },
  work: (argv) => onBatch(fileIn(argv), argv, (call) => explain(call, textIn(argv, 'id'))),
};

async function explain({ dir, json, others }: BatchCall, id: string): Promise<void> {
  if (id === '') throw new ConfigError([{ where: '', text: 'Specify a scene id.' }]);
  const story = await lookAtBatch(dir, (db) => {
    // One view of it, though a run may be writing.
    db.exec('BEGIN');
    const found = readStory(db, id);
    if (found === undefined) throw unknownId(db, id);
    return found;
  });
  const retryCommand = `nightrender retry ${others} --id ${shellWord(id)}`;
  const place = { isRunning: isBatchHeld(dir), shownDir: shownPath(dir), retryCommand, now: Date.now() };
  printStory({ ...story, ...place }, json);
}

const maxSuggestions = 3;

/** Who knows only a part of an id mostly knows its end. */
function holding(part: string, ids: Iterable<string>): string[] {
  const found: string[] = [];
  if (part.length < 2) return found;
  for (const id of ids) {
    if (!id.toLowerCase().includes(part.toLowerCase())) continue;
    if (found.push(id) === maxSuggestions) break;
  }
  return found;
}

function unknownId(db: Database, id: string): ConfigError {
  const near = closestFew(id, readIds(db), maxSuggestions);
  const meant = (near.length > 0 ? near : holding(id, readIds(db))).map((each) => JSON.stringify(each));
  const hint = meant.length === 0 ? '`nightrender list` names all' : `did you mean ${meant.join(' or ')}?`;
  return new ConfigError([
    { where: '', text: `${JSON.stringify(id)} is not the id of a scene in this batch; ${hint}` },
  ]);
}
