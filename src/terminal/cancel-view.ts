/** What cancelling a batch's jobs shows: troubles as they come, and what became of the jobs at the end. */
import { shellWord } from '../lib/text/format.ts';
import type { Event } from '../runner/pipeline/event.ts';
import type { Listener } from '../runner/pipeline/ports.ts';
import { outColumns, writeError, writeOut } from './console.ts';
import { describeEvent, sceneWords } from './describe-event.ts';
import { harmless } from './fit-text.ts';
import { hanging } from './hanging.ts';
import { jsonLines, writeJsonLine } from './json-lines.ts';
import { plural, screenful } from './words.ts';

export interface CancelView {
  emit: Listener;
  end(outcome: CancelOutcome, exitCode: number): void;
}

export interface CancelOutcome {
  ending: { kind: string; text: string };
  found: number;
  left: { scene: string; jobId: string; why: string }[];
  unanswered: number;
}

export interface CancelViewOptions {
  json: boolean;
  quiet: boolean;
  /** What follows `nightrender run` for this batch. */
  file: string;
  /** What follows `nightrender retry`. */
  retry: string;
  now: () => number;
}

/** How many jobs ended in which way. */
interface Ends {
  saved: number;
  cancelled: number;
  expired: number;
  failed: number;
}

export function createCancelView(options: CancelViewOptions): CancelView {
  const ends: Ends = { saved: 0, cancelled: 0, expired: 0, failed: 0 };
  const say = options.json ? jsonLines(options.now) : plainLines(options);
  return {
    emit: (event) => {
      count(ends, event);
      say(event);
    },
    end: ({ ending, ...outcome }, exitCode) => {
      if (options.json) {
        const facts = { ending: ending.kind, exitCode, text: ending.text, ...outcome, ...ends };
        writeJsonLine('cancel-ended', facts, options.now());
        return;
      }
      if (options.quiet && exitCode === 0) return;
      for (const line of describe({ ending, ...outcome }, ends, options)) writeOut(line);
    },
  };
}

function count(ends: Ends, event: Event): void {
  if (event.type === 'scene-saved') ends.saved += 1;
  if (event.type !== 'attempt-failed') return;
  ends[event.kind === 'cancelled' || event.kind === 'expired' ? event.kind : 'failed'] += 1;
}

/** What was cancelled as it should be is only counted. */
function plainLines({ quiet, now }: CancelViewOptions): Listener {
  return (event) => {
    const line = lineOf(event, quiet, now());
    if (line !== undefined) writeError(harmless(line));
  };
}

function lineOf(event: Event, isQuiet: boolean, now: number): string | undefined {
  if (event.type === 'warning' || event.type === 'stopping') return describeEvent(event, now, '');
  if (isQuiet) return undefined;
  if (event.type === 'request-troubled') return describeEvent(event, now, '');
  // Nothing is tried again here.
  const isOwnFailure = event.type === 'attempt-failed' && event.kind !== 'cancelled';
  return isOwnFailure
    ? `${sceneWords(event)}: attempt ${event.attempt}: ${event.text} (${event.kind})`
    : undefined;
}

function describe(
  { ending, found, left, unanswered }: CancelOutcome,
  ends: Ends,
  { file, retry }: CancelViewOptions,
): string[] {
  const rows: [string, number, string][] = [
    ['in flight', found, ''],
    ['cancelled', ends.cancelled, `their scenes wait for \`nightrender run ${file}\``],
    ['saved', ends.saved, 'already done and billed'],
    ['failed', ends.failed, 'on their own'],
    ['expired', ends.expired, 'the service has deleted them'],
    ['left', left.length, ''],
    ['unanswered', unanswered, 'possibly sent by a run that crashed; their job ids are unknown'],
  ];
  const shown = rows.filter(([name, number]) => number > 0 || name === 'in flight');
  const width = Math.max(...shown.map(([, number]) => number.toLocaleString('en').length));
  const more = left.length - screenful;
  return [
    harmless(`${ending.text}.`),
    ...shown.map(([name, number, note]) =>
      `  ${name.padEnd(12)}${number.toLocaleString('en').padStart(width)}  ${note}`.trimEnd(),
    ),
    ...left
      .slice(0, screenful)
      .flatMap(({ scene, jobId, why }) => hanging('', `${scene} (job ${jobId}): ${why}`, outColumns(), 2)),
    ...(more > 0 ? [`  and ${more.toLocaleString('en')} more; --json names all of them`] : []),
    ...left
      .slice(0, 1)
      .flatMap(({ scene }) => [
        `${plural(left.length, 'job runs', 'jobs run')} on and may be billed; the next run collects their results.`,
        harmless(`If one never ends: \`nightrender retry ${retry} --id ${shellWord(scene)} --give-up\`.`),
      ]),
  ];
}
