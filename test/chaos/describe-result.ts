/** Describes the result of the chaos test: how much happened, which faults occurred, and what is wrong. */
import { countBy } from '../account/account.ts';
import type { ChaosResult } from './run-chaos.ts';

export function describeResult(result: ChaosResult, tookMs: number): string {
  const { complaints, counts, service, books } = result;
  const share = ((100 * service.faultyAnswers) / service.answers).toFixed(1);
  const lines = [
    `${Math.round(tookMs / 1000)} s; ${counts.kills} kills, ${counts.metAtWork} of runs at work; between them ` +
      `${counts.edits} edits of the list, ${counts.agings} times all results were deleted, ` +
      `${counts.turnedAway} times everybody was turned away, ${counts.outages} times no connection was made`,
    `${service.answers} answers, ${service.faultyAnswers} of them faulty (${share} %):`,
    ...indented(Object.entries(service.faults)),
    `scenes: ${books.scenes.length}: ${inWords(countBy(books.scenes, ({ state, kind }) => `${state} ${kind ?? ''}`))}`,
    `attempts: ${books.attempts.length}: ${inWords(countBy(books.attempts, ({ state, kind }) => `${state} ${kind ?? ''}`))}`,
    describeSubmissions(result),
    ...(complaints.length === 0
      ? ['Nothing lost, nothing wrong, nothing undeclared.']
      : [`${complaints.length} complaints:`, ...complaints.map((text) => `  ${text}`)]),
  ];
  return lines.join('\n');
}

function describeSubmissions({ service, books }: ChaosResult): string {
  const named = books.attempts.filter((attempt) => attempt.job_id !== null).length;
  const unanswered = books.attempts.filter(({ state }) => state === 'unanswered').length;
  const unnamed = service.jobs.length - named;
  return `${service.jobs.length} jobs at the service: ${named} named by an attempt, ${unnamed} covered by ${unanswered} unanswered attempts`;
}

function indented(counts: [string, number][]): string[] {
  return counts
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, n]) => `  ${String(n).padStart(5)}  ${name}`);
}

function inWords(counts: Map<string, number>): string {
  return [...counts].map(([name, n]) => `${n} ${name.trim()}`).join(', ');
}
