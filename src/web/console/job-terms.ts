/** On which terms a job is submitted, as people type them: empty where its endpoint's are good enough. */
import type { Problem } from './ask.ts';

export interface TypedTerms {
  executionTimeout: string;
  ttl: string;
  isLowPriority: boolean;
  webhook: string;
}

/** What goes with the input of a submission. */
export interface JobTerms {
  /** Durations in ms. */
  policy?: { executionTimeout?: number; ttl?: number; lowPriority?: true };
  webhook?: string;
}

export const noTerms: TypedTerms = { executionTimeout: '', ttl: '', isLowPriority: false, webhook: '' };

export function termsOf(typed: TypedTerms): { terms: JobTerms } | { problems: Problem[] } {
  const problems: Problem[] = [];
  const policy: NonNullable<JobTerms['policy']> = {};
  for (const field of ['executionTimeout', 'ttl'] as const) {
    const text = typed[field].trim();
    if (text === '') continue;
    const ms = durationOf(text);
    if (ms === undefined) problems.push({ field, text: `“${text}” is no duration such as 30s, 10m or 2h.` });
    else policy[field] = ms;
  }
  if (typed.isLowPriority) policy.lowPriority = true;
  const webhook = typed.webhook.trim();
  if (webhook !== '' && !isWebhook(webhook))
    problems.push({ field: 'webhook', text: 'Expected a URL that begins with http:// or https://.' });
  if (problems.length > 0) return { problems };
  return {
    terms: { ...(Object.keys(policy).length > 0 && { policy }), ...(webhook !== '' && { webhook }) },
  };
}

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `90s`, `1h 30m`; undefined for what is none, or less than a millisecond. */
function durationOf(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?\s*(ms|s|m|h|d)\s*)+$/.test(text)) return undefined;
  const parts = [...text.matchAll(/([\d.]+)\s*(ms|s|m|h|d)/g)];
  const ms = parts.reduce(
    (sum, [, count, unit]) => sum + Number(count) * unitMs[unit as keyof typeof unitMs],
    0,
  );
  return ms < 1 ? undefined : Math.round(ms);
}

function isWebhook(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
