/** The head of the page, and facts about the batch. */
import type { JSX } from 'preact';
import type { GalleryData, GalleryRun } from '../../runner/core/gallery-data.ts';
import { Facts, PageHead, type Tone } from '../shared/facts.tsx';
import {
  byteWords,
  counted,
  countWords,
  durationWords,
  instantWords,
  moneyWords,
} from '../shared/number-words.ts';

export function Head({ data }: { data: GalleryData }): JSX.Element {
  const { scenes, runs } = data;
  const { tone, word } = batchState(scenes);
  const ending = endingWords(runs.at(-1), true);
  return (
    <PageHead name={data.title} tone={tone} state={word}>
      <BatchNumbers data={data} />
      {data.bias !== null && <p class="soft why">{data.bias}.</p>}
      {tone !== 'good' && ending !== '' && (
        <p class="soft why" title={ending}>
          {ending}
        </p>
      )}
    </PageHead>
  );
}

export function BatchNumbers({
  data: { scenes, cost, attempts, times },
}: {
  data: GalleryData;
}): JSX.Element {
  const withdrawn = scenes['withdrawn'] ?? 0;
  const unneeded = scenes['unneeded'] ?? 0;
  const numbers = [
    `${countWords(scenes['saved'] ?? 0)} of ${counted(listedOf(scenes), 'scene')}`,
    unneeded === 0 ? '' : `${countWords(unneeded)} not needed`,
    withdrawn === 0 ? '' : `${countWords(withdrawn)} withdrawn`,
    costWords(cost, attempts.unanswered + attempts.expired),
    times.runMs === 0 ? '' : durationWords(times.runMs),
  ];
  return <p class="soft numbers">{numbers.filter((each) => each !== '').join(' · ')}</p>;
}

/** Number of listed scenes, as the head and the line above the pictures count them. */
export function listedOf(scenes: GalleryData['scenes']): number {
  const all = Object.values(scenes).reduce((sum, count) => sum + count, 0);
  return all - (scenes['withdrawn'] ?? 0) - (scenes['unneeded'] ?? 0);
}

/** Cost such as `6.00 USD + 1 unknown`. `unknown`: number of submissions that may have been billed. */
function costWords(cost: GalleryData['cost'], unknown: number): string {
  if (cost === null) return unknown === 0 ? '' : `${countWords(unknown)} of unknown cost`;
  return moneyWords(cost.spent, cost.currency) + (unknown === 0 ? '' : ` + ${countWords(unknown)} unknown`);
}

function batchState(scenes: GalleryData['scenes']): { tone: Tone; word: string } {
  const of = (state: string): number => scenes[state] ?? 0;
  const failed = of('failed') + of('invalid');
  if (of('waiting') + of('active') > 0) return { tone: 'wait', word: 'unfinished' };
  return failed > 0
    ? { tone: 'bad', word: `${countWords(failed)} failed` }
    : { tone: 'good', word: 'complete' };
}

export function endingWords(run: GalleryRun | undefined, isLatest: boolean): string {
  if (run === undefined) return '';
  if (run.ending !== null) return `${run.ending.replace(/\.$/, '')}.`;
  return isLatest
    ? 'The run was still going when this was written, or exited without a final status.'
    : 'It exited without a final status.';
}

export function About({ data }: { data: GalleryData }): JSX.Element {
  const { scenes, pictures, attempts, times, runs } = data;
  const states = Object.entries(scenes).filter(([, count]) => count > 0);
  return (
    <section class="card" aria-label="The batch">
      <Facts
        facts={[
          ['Latest run', endingWords(runs.at(-1), true) || null],
          ['Scenes', states.map(([state, count]) => `${countWords(count)} ${state}`).join(', ')],
          ['Pictures', `${countWords(pictures.files)}, ${byteWords(pictures.bytes)}`],
          ['Submissions', countWords(attempts.total)],
          ['Execution', durationWords(times.executionTimeMs)],
          ['Rendered by', data.endpoint],
          ['Written', `${instantWords(data.writtenAt)} by ${data.program}`],
        ]}
      />
    </section>
  );
}
