/** What is said of a run, in a few words and in a sentence. */
import type { LiveState } from '../../runner/core/live-batch.ts';
import type { Tone } from '../shared/tone.ts';
import { countWords, durationWords, instantWords } from '../shared/number-words.ts';

type Run = LiveState['run'];

export interface RunWords {
  /** Two or three words. */
  head: string;
  /** What it means for their night. */
  text: string;
  /** A command that helps, where one does. */
  command?: string;
  /** How it is shown. */
  mood: Tone;
}

/** `now` is an instant of the clock of the machine that renders. */
export function wordsOf({ run, numbers, command }: LiveState, now: number): RunWords {
  switch (run.kind) {
    case 'none':
      return {
        head: 'No batch yet',
        text: 'Nothing has been rendered here. This page waits for it:',
        command,
        mood: 'wait',
      };
    case 'starting':
      return { head: 'Starting', text: 'A run is reading the list.', mood: 'calm' };
    case 'running':
      return {
        head: 'Running',
        text: `since ${instantWords(run.since)}, for ${durationWords(Math.max(0, now - run.since))}.`,
        mood: 'calm',
      };
    case 'stalled':
      return {
        head: 'Stalled',
        text: `Nothing has finished for ${durationWords(now - run.quietSince)}, with ${countWords(numbers?.scenes.active ?? 0)} in flight. The service may be short of workers. The run waits on by itself: what takes longer than timeouts in pipeline.yaml allow is submitted again.`,
        mood: 'wait',
      };
    case 'ended':
      return endedWords(run, command);
    case 'killed':
      return {
        head: 'No final status',
        text: `The run that began ${instantWords(run.since)} was killed, or its machine went down. Start it again to resume. Within 30 minutes, jobs in flight can still be collected.`,
        command,
        mood: 'bad',
      };
    case 'unreadable':
      return { head: 'Cannot be read', text: run.text, mood: 'bad' };
  }
}

function endedWords(run: Run & { kind: 'ended' }, command: string): RunWords {
  const ending = run.ending ?? 'ended';
  const sentence = `${ending.charAt(0).toUpperCase()}${ending.slice(1)}`.replace(/\.?$/, '.');
  const text = `${sentence} It ended ${instantWords(run.at)} with exit code ${run.exitCode}.`;
  if (run.exitCode === 0) return { head: 'Done', text, mood: 'good' };
  if (run.exitCode === 3) return { head: 'Ended', text, mood: 'wait' };
  return { head: 'Stopped', text: `${text} To start it again:`, command, mood: 'bad' };
}

/** Of the scenes that are wanted, in whole per cent; undefined where there are none. */
export function percentOf({ numbers }: LiveState): number | undefined {
  if (numbers === null) return undefined;
  const { waiting, active, saved, failed, invalid } = numbers.scenes;
  const total = waiting + active + saved + failed + invalid;
  return total === 0 ? undefined : Math.floor((saved / total) * 100);
}

/** For the browser's tab. */
export function titleOf(batch: LiveState | undefined): string {
  if (batch === undefined) return 'nightrender';
  const percent = percentOf(batch);
  const { head } = wordsOf(batch, 0);
  return `${percent === undefined ? '' : `${percent} % `}${head.toLowerCase()} · ${batch.name}`;
}
