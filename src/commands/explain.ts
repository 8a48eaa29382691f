/** `nightrender explain`: shows the history of one scene and what decides its next step, or the metadata of pictures. */
import { basename } from 'node:path';
import { readBatch } from '../runner/checkpoint/batch-identity.ts';
import { valuesIn, type NamedValue } from '../runner/core/seeds-until.ts';
import { readRecords, readSceneIds, readStory } from '../runner/checkpoint/scene-records.ts';
import { readOwner } from '../runner/checkpoint/recorded-pictures.ts';
import { ConfigError, type Problem } from '../lib/yaml/problem.ts';
import { lostWords } from '../runner/core/picture.ts';
import type { ClipFacts } from '../runner/core/clip.ts';
import { promptOf } from '../runner/core/naming.ts';
import { closestFew } from '../lib/text/closest.ts';
import { oneLine, shellWord, plural, formatInstant } from '../lib/text/format.ts';
import type { Database } from '../lib/sqlite/database.ts';
import type { Batch } from '../batch/batch.ts';
import { type LoadedCommand, commonExits } from './command.ts';
import { onBatch, refuse, textIn } from './reply.ts';
import { inspectPicture, type Inspection } from '../runner/images/inspect-picture.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { endpointAddress } from '../runner/core/attempt.ts';
import { withFilesNamed } from '../runner/core/file-text.ts';
import {
  nextStep,
  type AttemptStory,
  type SceneStory,
  type SceneVersion,
} from '../runner/core/scene-story.ts';
import { outColumns, writeOut, writeJsonLine, jsonInstant } from '../terminal/terminal.ts';
import { escapeControls, escapeControlsByLine, wrapIndented } from '../terminal/fit-text.ts';
import { formatBytes, formatShortTime } from '../terminal/words.ts';

export const explainCommand: LoadedCommand = {
  purpose: `Shows everything about one scene: its row and input, every attempt with its job and times, pictures, failures, and the next step. Read-only, also during a run. Given files of pictures and no pipeline.yaml, shows their size, format and provenance, each from its own metadata (output.metadata: embed) or its JSON sidecar, and texts that other programs wrote into a PNG.`,
  shared: ['output', 'json'],
  positionals: {
    id: {
      type: 'string',
      describe: 'its id, words of its prompt, or the file of its picture; or files of pictures alone',
    },
  },
  examples: [
    ['$0 explain pipeline.yaml harbour', 'for example, why it has no picture'],
    ['$0 explain pipeline.yaml "photo of a bench"', 'the scene with this prompt'],
    ['$0 explain pipeline.yaml a-photo-of-a-bench-e52f02.png', 'which prompt is this file?'],
    ['$0 explain renders/images/harbour.png', 'the prompt, inputs, seed and job that it names itself'],
    ['$0 explain pipeline.yaml harbour --json', 'for a script: one JSON object'],
    ['$0 explain pipeline.yaml --id=-1', 'an id that begins with a dash'],
  ],
  exits: {
    ...commonExits,
    complete: 'printed',
    'wrong-use':
      'wrong use or configuration, no batch yet, no such scene or picture, or the file of the batch is damaged',
  },
  work: (argv) =>
    Array.isArray(argv['pictures'])
      ? explainPictures(argv['pictures'].map(String), argv['json'] === true)
      : onBatch(argv, (batch, json) => explain(batch, textIn(argv, 'id'), json), { isReading: true }),
};

async function explain(batch: Batch, wanted: string, json: boolean): Promise<void> {
  if (wanted === '') throw new ConfigError([{ where: '', text: 'Specify a scene id.' }]);
  const story = await batch.read(({ db, record, shownImages }) => {
    // One snapshot of the batch, even if a run is writing.
    db.exec('BEGIN');
    const found = readStory(db, wanted) ?? readStory(db, findScene(db, wanted));
    if (found === undefined) throw unknownScene(db, wanted);
    const values = readBatch(db)?.values ?? [];
    return { ...found, isRunning: record.isInUse(), shownImages, values };
  });
  const retryCommand = `nightrender retry ${batch.arguments} --id ${shellWord(story.id)}`;
  printStory({ ...story, retryCommand, now: Date.now() }, json);
}

const maxSuggestions = 3;

/** Returns the id of the only scene with this text or picture. Throws `ConfigError` if several match. */
function findScene(db: Database, text: string): string {
  const owner = idOfPicture(db, text);
  if (owner !== undefined) return owner;
  const found = new Map<string, string>();
  for (const { id, columns, input } of readRecords(db, { search: text })) {
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

/** Tries the path as typed, then relative to the images folder, then the file name alone. */
function idOfPicture(db: Database, path: string): string | undefined {
  const within = path.replace(/^.*\/images\//, '');
  return [path, within, basename(path)].map((file) => readOwner(db, file)).find((id) => id !== undefined);
}

function unknownScene(db: Database, text: string): ConfigError {
  const meant = closestFew(text, readSceneIds(db), maxSuggestions).map((each) => JSON.stringify(each));
  const hint = meant.length === 0 ? '`nightrender list` names all' : `did you mean ${meant.join(' or ')}?`;
  return new ConfigError([
    {
      where: '',
      text: `no scene of this batch has ${JSON.stringify(text)} as id, in its row or as picture; ${hint}`,
    },
  ]);
}

interface ShownStory extends SceneStory {
  isRunning: boolean;
  shownImages: string;
  /** Values that `output.values` reads from the output of a job. */
  values: NamedValue[];
  /** Command that retries this scene: `nightrender retry pipeline.yaml --id …`. */
  retryCommand: string;
  /** Epoch ms. */
  now: number;
}

function printStory(story: ShownStory, json: boolean): void {
  if (json) return writeJsonLine('scene-story', storyFacts(story), story.now);
  const columns = outColumns();
  const say = (name: string, text: string): void =>
    writeOut(wrapIndented(name, text, columns, 10).join('\n'));
  say('scene', story.id);
  for (const { source, problem } of story.invalid) say('invalid', `${source}: ${problem}; skipped`);
  for (const [i, version] of story.versions.entries()) {
    if (i > 0) writeOut(`\nBefore its row was edited (${version.fingerprint.slice(0, 8)})`);
    formatVersion(story, version, say);
  }
}

function nextOf(story: ShownStory, version: SceneVersion): string {
  const isReplaced = version.state === 'withdrawn' && story.versions[0]?.state !== 'withdrawn';
  return nextStep(version, { ...story, isReplaced });
}

type Say = (name: string, text: string) => void;

function formatVersion(story: ShownStory, version: SceneVersion, say: Say): void {
  const { state, failureKind, failureText, attempts } = version;
  say('state', failureKind === null ? state : `${state}: ${failureKind}: ${failureText ?? ''}`);
  say('next', nextOf(story, version));
  say('row', version.source);
  for (const [name, value] of Object.entries(version.columns)) say('', `${name}: ${shownValue(value)}`);
  say('sent', shownValue(withFilesNamed(version.input)));
  for (const attempt of attempts) showAttempt(story, attempt, say);
}

const maxShown = 2_000;

function shownValue(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (text.length <= maxShown) return text;
  return `${text.slice(0, maxShown)}… (${formatBytes(text.length)}; --json has all of it)`;
}

function showAttempt(story: ShownStory, attempt: AttemptStory, say: Say): void {
  const { number, state, failureKind, failureText, isCounted, settledAt, intendedAt, polls } = attempt;
  const took = settledAt === null ? '' : ` after ${formatShortTime(settledAt - intendedAt)}`;
  const looks = polls === 0 ? '' : `, ${plural(polls, 'poll')}`;
  const counts = isCounted || state === 'saved' ? '' : '; no longer counts';
  const bill = state === 'refused' ? ' (no job, no bill)' : '';
  writeOut('');
  say(`attempt ${number}`.padEnd(10), `${state}${bill}${took}${looks}${counts}`);
  for (const [at, what] of momentsOf(attempt)) say('', `${formatInstant(at)}  ${what}`);
  if (settledAt === null && attempt.status !== null) say('', `the service says "${attempt.status}"`);
  if (failureKind !== null) say('', `${failureKind}: ${failureText ?? ''}`);
  for (const each of [...attempt.pictures, ...attempt.files]) {
    const { label, file, width, height, bytes, seed, output } = each;
    const size = label ?? (width > 0 || output?.clip === undefined ? `${width}×${height}` : 'sound');
    const facts = [
      size,
      ...clipFacts(output?.clip),
      formatBytes(bytes),
      ...(seed === undefined ? [] : [`seed ${seed}`]),
    ];
    say('', `${story.shownImages}/${file}  ${facts.join(', ')}`);
    if (output?.clip?.isEndOpen === true)
      say('', 'its format does not say where the file ends, so a missing end cannot be noticed');
    const [one, key] = output?.clip === undefined ? ['picture', 'image'] : ['clip', 'media'];
    if (output?.at !== undefined)
      say('', `found at ${output.at} of the output, the only ${one} there (\`output.${key}\`)`);
    const words = lostWords(output);
    if (words !== '') say('words', words);
    const told = Object.entries(valuesIn(output, story.values));
    if (told.length > 0) say('values', told.map(([name, value]) => `${name} ${String(value)}`).join(', '));
  }
}

function clipFacts({ durationMs, frameRate, codecs = [] }: ClipFacts = {}): string[] {
  return [
    ...(durationMs === undefined ? [] : [formatShortTime(durationMs)]),
    ...(frameRate === undefined ? [] : [`${frameRate} frames a second`]),
    ...codecs,
  ];
}

/** Returns what happened to an attempt and when, in chronological order. */
function momentsOf(attempt: AttemptStory): [number, string][] {
  const { endpoint, run, jobId, status, delayTimeMs, executionTimeMs, cost } = attempt;
  const where = endpoint.baseUrl === 'local' ? 'the local service' : endpointAddress(endpoint);
  const times = [
    delayTimeMs === null ? '' : `waited ${formatShortTime(delayTimeMs)}`,
    executionTimeMs === null ? '' : `executed ${formatShortTime(executionTimeMs)}`,
    cost === null ? '' : `cost ${cost}`,
  ].filter((part) => part !== '');
  const byService = times.length === 0 ? '' : ` (${times.join(', ')} by the service)`;
  const moments: [number | null, string][] = [
    [attempt.intendedAt, `sent to ${where} in run ${run}`],
    [attempt.submittedAt, `accepted as job ${jobId ?? '?'}`],
    [attempt.executingAt, 'first seen executing'],
    [attempt.completedAt, `completed${byService}`],
    [
      attempt.settledAt,
      `${attempt.state}${status === null ? '' : `, status ${status}`}${attempt.completedAt === null ? byService : ''}`,
    ],
  ];
  return moments.flatMap(([at, what]): [number, string][] => (at === null ? [] : [[at, what]]));
}

function storyFacts(story: ShownStory) {
  const { id, versions, invalid, isRunning } = story;
  return {
    id,
    isRunning,
    invalid,
    versions: versions.map((version) => ({
      ...version,
      dueAt: version.dueAt === 0 ? null : jsonInstant(version.dueAt),
      next: nextOf(story, version),
      attempts: version.attempts.map((attempt) => ({
        ...attempt,
        intendedAt: jsonInstant(attempt.intendedAt),
        submittedAt: jsonInstant(attempt.submittedAt),
        executingAt: jsonInstant(attempt.executingAt),
        completedAt: jsonInstant(attempt.completedAt),
        settledAt: jsonInstant(attempt.settledAt),
      })),
    })),
  };
}

/** Resolves to the exit code. Files that aren't pictures are reported after all pictures. */
async function explainPictures(files: string[], json: boolean): Promise<number> {
  const problems: Problem[] = [];
  try {
    for (const [i, file] of files.entries()) {
      const inspected = await inspectPicture(file);
      if ('problem' in inspected) {
        problems.push({ where: file, text: inspected.problem });
        continue;
      }
      if (i > problems.length && !json) writeOut('');
      printInspected(file, inspected, json);
    }
    if (problems.length > 0) throw new ConfigError(problems);
    return 0;
  } catch (thrown) {
    return refuse(thrown, undefined, json, undefined, true);
  }
}

export function printInspected(file: string, picture: Inspection, json: boolean): void {
  if (json) return writeJsonLine('picture', { file, ...picture });
  for (const line of describe(file, picture)) writeOut(line);
}

function describe(file: string, picture: Inspection): string[] {
  const { format, width, height, bytes, provenance, texts } = picture;
  const head = `${escapeControls(file)}: ${format.toUpperCase()}, ${width} × ${height} pixels, ${bytes.toLocaleString('en')} bytes`;
  return [
    head,
    ...(provenance === null ? [withoutProvenance(file)] : describeProvenance(provenance, picture)),
    ...texts.flatMap(({ keyword, text }) => ['', `${escapeControls(keyword)}:`, ...indented(text)]),
  ];
}

/** Advice for a picture without metadata: its checkpoint finds it by its file name. */
function withoutProvenance(file: string): string {
  const command = escapeControls(`nightrender explain pipeline.yaml ${shellWord(file)}`);
  return `No provenance found. With the pipeline.yaml of its batch, \`${command}\` shows its scene and job.`;
}

function describeProvenance(provenance: JsonObject, { from, isOfThisPicture }: Inspection): string[] {
  const { program, scene, prompt, seed, jobId, endpoint, input } = provenance;
  const { baseUrl, id } = isJsonObject(endpoint ?? null) ? (endpoint as JsonObject) : {};
  const inputs = isJsonObject(input ?? null) ? Object.entries(input as JsonObject) : [];
  const rows: [string, string][] = [
    ['scene', textOf(scene)],
    ['prompt', textOf(prompt)],
    ['seed', textOf(seed)],
    ['job', textOf(jobId)],
    ['endpoint', `${textOf(baseUrl)} ${textOf(id)}`.trim()],
    ['program', textOf(program)],
    ['source', from === 'embedded' ? 'the picture itself' : 'its JSON sidecar'],
    ...inputs.map(([name, value]): [string, string] => [`input ${name}`, textOf(value)]),
  ];
  const shown = rows.filter(([, text]) => text !== '');
  const width = Math.max(...shown.map(([name]) => name.length));
  const other = 'The sidecar belongs to another picture: this one was changed or replaced.';
  return [
    ...shown.flatMap(([name, text]) => row(name.padEnd(width), text)),
    ...(isOfThisPicture === false ? [other] : []),
  ];
}

function row(name: string, text: string): string[] {
  const [first = '', ...rest] = escapeControlsByLine(text).split('\n');
  return [
    `  ${escapeControls(name)}  ${first}`,
    ...rest.map((line) => `${' '.repeat(name.length + 4)}${line}`),
  ];
}

function indented(text: string): string[] {
  return escapeControlsByLine(text)
    .split('\n')
    .map((line) => `  ${line}`);
}

function textOf(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  const shown = withFilesNamed(value);
  return typeof shown === 'string' ? shown : JSON.stringify(shown);
}
