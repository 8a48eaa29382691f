/** Webhooks that failed: the reason, the next try, and a button to send them again. */
import type { JSX } from 'preact';
import type { BulkCount, FailedWebhooks as Failed } from '../../protocol/console-data.ts';
import { useNow } from '../shared/hooks.ts';
import { counted, countWords, durationWords } from '../shared/number-words.ts';
import { ask } from './ask.ts';
import { useFocusKept, useSending } from './form.tsx';
import { Card, Mark } from './pieces.tsx';
import { usePolled } from './polled.tsx';
import { to, useService } from './route.ts';

export function FailedWebhooks(): JSX.Element | null {
  const { data, refresh } = usePolled<Failed>('webhooks', () => 5_000);
  const { overview, aheadMs, say } = useService();
  const now = useNow(aheadMs, 1_000);
  const place = useFocusKept<HTMLDivElement>();
  const all = useSending(async () => {
    const { jobs } = await ask<BulkCount>('POST', 'webhooks/send');
    say(`${counted(jobs, 'webhook')} will be sent again.`);
    await refresh();
  });
  const one = useSending(async (job: string) => {
    await ask('POST', `webhooks/${encodeURIComponent(job)}/send`);
    await refresh();
  });
  if (data === undefined || data.webhooks.length === 0) return null;
  const { webhooks, givenUp, waiting } = data;
  const others = givenUp + waiting - webhooks.length;
  return (
    <Card title="Webhooks that failed">
      <div ref={place} class="row" tabIndex={-1}>
        <p class="soft">
          {countWords(givenUp)} given up, {countWords(waiting)} to be tried again. They are deleted with their
          jobs, {durationWords(overview.retentionMs)} after these ended.
        </p>
        {givenUp > 0 && (
          <button type="button" aria-disabled={all.isBusy} onClick={() => all.send()}>
            Send all again
          </button>
        )}
      </div>
      <p class="problem" role="alert">
        {[...all.problems, ...one.problems][0]?.text}
      </p>
      <ul class="list">
        {webhooks.map((webhook) => (
          <li key={webhook.job} class="stack">
            <div class="row">
              <h3>
                <bdi>{webhook.host}</bdi>
              </h3>
              <NextTry dueAt={webhook.dueAt} now={now} />
              <button
                type="button"
                class="small"
                aria-label={`Send the webhook of job ${webhook.job} again`}
                aria-disabled={one.isBusy}
                onClick={() => one.send(webhook.job)}
              >
                Send again
              </button>
            </div>
            <p class="hint">
              {webhook.why} · {counted(webhook.tries, 'try', 'tries')} · {webhook.endpointId} ·{' '}
              <a href={to.job(webhook.job)}>job {webhook.job}</a>
            </p>
          </li>
        ))}
      </ul>
      {others > 0 && <p class="soft">{countWords(others)} more.</p>}
    </Card>
  );
}

function NextTry({ dueAt, now }: { dueAt: number | null; now: number }): JSX.Element {
  if (dueAt === null) return <Mark tone="bad">given up</Mark>;
  return (
    <Mark tone="wait">
      {dueAt <= now ? 'waiting for its turn' : `again in ${durationWords(dueAt - now)}`}
    </Mark>
  );
}
