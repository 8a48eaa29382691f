/** `nightrender explain`: one scene's whole story, and what decides what happens to it next. */
import { basename } from 'node:path';
import { readRows } from '../runner/checkpoint/read-rows.ts';
import { readIds, readOwner, readStory } from '../runner/checkpoint/read-story.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { promptOf } from '../runner/core/prompt.ts';
import { closestFew } from '../lib/text/closest.ts';
import { oneLine, shellWord } from '../lib/text/format.ts';
import type { Database } from '../lib/sqlite/database.ts';
import { printStory } from '../terminal/print-story.ts';
import { lookAtBatch } from './existing-batch.ts';
import { bucketOf, shownImages } from './pictures-place.ts';
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
      describe: 'its id, words of its prompt, or the file of its picture',
    },
  },
  examples: [
    ['$0 explain pipeline.yaml harbour', 'for example, why it has no picture'],
    ['$0 explain pipeline.yaml "photo of a bench"', 'the scene with this prompt'],
    ['$0 explain pipeline.yaml a-photo-of-a-bench-e52f02.png', 'which prompt is this file?'],
    ['$0 explain pipeline.yaml harbour --json', 'for a script: one JSON object'],
    ['$0 explain pipeline.yaml --id=-1', 'an id that begins with a dash'],
  ],
  exits: {
    ...common,
    complete: 'printed',
    'wrong-use':
      'wrong use or configuration, no batch yet, no such scene, or the file of the batch is damaged',
  },
  work: (argv) => onBatch(fileIn(argv), argv, (call) => explain(call, textIn(argv, 'id'))),
};

async function explain({ dir, record, json, others }: BatchCall, wanted: string): Promise<void> {
  if (wanted === '') throw new ConfigError([{ where: '', text: 'Specify a scene id.' }]);
  let images = '';
  const story = await lookAtBatch(record.dir, (db) => {
    // One view of it, though a run may be writing.
    db.exec('BEGIN');
    images = shownImages(dir, bucketOf(db));
    const found = readStory(db, wanted) ?? readStory(db, findScene(db, wanted));
    if (found === undefined) throw unknownScene(db, wanted);
    return found;
  });
  const retryCommand = `nightrender retry ${others} --id ${shellWord(story.id)}`;
  const place = { isRunning: record.isHeld(), shownImages: images, retryCommand, now: Date.now() };
  printStory({ ...story, ...place }, json);
}

const maxSuggestions = 3;

/** The id of the only scene whose picture is called so, or that has this text. Throws `ConfigError` where several have. */
function findScene(db: Database, text: string): string {
  const owner = idOfPicture(db, text);
  if (owner !== undefined) return owner;
  const found = new Map<string, string>();
  for (const { id, columns, input } of readRows(db, { search: text })) {
    if (id !== null) found.set(id, oneLine(promptOf(input ?? {}, columns) ?? '', 60) ?? '');
    if (found.size > maxSuggestions) break;
  }
  const [first, ...others] = [...found];
  if (first === undefined) throw unknownScene(db, text);
  if (others.length === 0) return first[0];
  const shown = [first, ...others].slice(0, maxSuggestions).map(([id, prompt]) => `${id} (${prompt})`);
  const more = found.size > maxSuggestions ? ' and others' : '';
  const where = JSON.stringify(text);
  throw new ConfigError([
    {
      where: '',
      text: `${where} is in several scenes: ${shown.join(', ')}${more}. Name one by its id; \`nightrender list --search\` lists all`,
    },
  ]);
}

/** As it is typed, relative to the folder of pictures, or by its last part. */
function idOfPicture(db: Database, path: string): string | undefined {
  const within = path.replace(/^.*\/images\//, '');
  return [path, within, basename(path)].map((file) => readOwner(db, file)).find((id) => id !== undefined);
}

function unknownScene(db: Database, text: string): ConfigError {
  const meant = closestFew(text, readIds(db), maxSuggestions).map((each) => JSON.stringify(each));
  const hint = meant.length === 0 ? '`nightrender list` names all' : `did you mean ${meant.join(' or ')}?`;
  return new ConfigError([
    {
      where: '',
      text: `no scene of this batch has ${JSON.stringify(text)} as id, in its row or as picture; ${hint}`,
    },
  ]);
}
