/** The head of the page, and facts about the batch. */
import type { JSX } from 'preact';
import type { GalleryData } from '../../runner/core/gallery-data.ts';
import { counted, countWords, durationWords, moneyWords } from '../shared/number-words.ts';

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
