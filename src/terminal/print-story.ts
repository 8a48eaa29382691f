/** One scene's whole story, for people or as one JSON object. */
import { endpointAddress } from '../runner/core/attempt.ts';
import { withFilesNamed } from '../runner/core/file-text.ts';
import {
  nextStep,
  type AttemptStory,
  type SceneStory,
  type SceneVersion,
} from '../runner/core/scene-story.ts';
import { outColumns, writeOut } from './console.ts';
import { hanging } from './hanging.ts';
import { jsonInstant, writeJsonLine } from './json-lines.ts';
import { plural, formatBytes, formatInstant, formatShortTime } from './words.ts';

export interface ShownStory extends SceneStory {
  isRunning: boolean;
  /** The output folder as people should read it. */
  shownImages: string;
  /** `nightrender retry pipeline.yaml --id …` */
  retryCommand: string;
  /** Epoch ms. */
  now: number;
}

export function printStory(story: ShownStory, json: boolean): void {
  if (json) return writeJsonLine('scene-story', storyFacts(story), story.now);
  const columns = outColumns();
  const say = (name: string, text: string): void => writeOut(hanging(name, text, columns, 10).join('\n'));
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
  writeOut('');
  say(`attempt ${number}`.padEnd(10), `${state}${took}${looks}${counts}`);
  for (const [at, what] of momentsOf(attempt)) say('', `${formatInstant(at)}  ${what}`);
  if (failureKind !== null) say('', `${failureKind}: ${failureText ?? ''}`);
  for (const { label, file, width, height, bytes, seed } of [...attempt.pictures, ...attempt.files]) {
    const what = label ?? `${width}×${height}`;
    const facts = `${what}, ${formatBytes(bytes)}${seed === undefined ? '' : `, seed ${seed}`}`;
    say('', `${story.shownImages}/${file}  ${facts}`);
  }
}

/** What happened when, in order. */
function momentsOf(attempt: AttemptStory): [number, string][] {
  const { endpoint, run, jobId, status, delayTimeMs, executionTimeMs } = attempt;
  const where = endpoint.baseUrl === 'local' ? 'the local service' : endpointAddress(endpoint);
  const times = [
    delayTimeMs === null ? '' : `queued ${formatShortTime(delayTimeMs)}`,
    executionTimeMs === null ? '' : `executed ${formatShortTime(executionTimeMs)}`,
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
