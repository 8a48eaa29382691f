/** What came of the chaos, for people: how much happened, which faults were met, and what is wrong. */
import { countBy, isUnanswered } from './judge.ts';
import type { ChaosResult } from './run-chaos.ts';

export function describeResult(result: ChaosResult, tookMs: number): string {
  const { complaints, counts, account, declared } = result;
  const share = ((100 * account.faultyAnswers) / account.answers).toFixed(1);
  const lines = [
    `${Math.round(tookMs / 1000)} s; ${counts.kills} kills, ${counts.metAtWork} of runs at work; between them ` +
      `${counts.edits} edits of the list, ${counts.agings} times all results were deleted, ` +
      `${counts.turnedAway} times everybody was turned away, ${counts.outages} times no connection was made`,
    `${account.answers} answers, ${account.faultyAnswers} of them faulty (${share} %):`,
    ...indented(Object.entries(account.faults)),
    `scenes: ${declared.scenes.length}: ${inWords(countBy(declared.scenes, ({ state, failure_kind }) => `${state} ${failure_kind ?? ''}`))}`,
    `attempts: ${declared.attempts.length}: ${inWords(countBy(declared.attempts, ({ state, failure_kind }) => `${state} ${failure_kind ?? ''}`))}`,
    describeSubmissions(result),
    ...(complaints.length === 0
      ? ['Nothing lost, nothing wrong, nothing undeclared.']
      : [`${complaints.length} complaints:`, ...complaints.map((text) => `  ${text}`)]),
  ];
  return lines.join('\n');
}

function describeSubmissions({ account, declared }: ChaosResult): string {
  const named = declared.attempts.filter((attempt) => attempt.job_id !== null).length;
  const unanswered = declared.attempts.filter(isUnanswered).length;
  const unnamed = account.jobs.length - named;
  return `${account.jobs.length} jobs at the service: ${named} named by an attempt, ${unnamed} covered by ${unanswered} unanswered attempts`;
}

function indented(counts: [string, number][]): string[] {
  return counts
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, n]) => `  ${String(n).padStart(5)}  ${name}`);
}

function inWords(counts: Map<string, number>): string {
  return [...counts].map(([name, n]) => `${n} ${name.trim()}`).join(', ');
}
