/** The page of `nightrender watch`. */
import { render, type ComponentChildren, type JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { LiveBatch, LiveFailure } from '../../runner/core/live-batch.ts';
import { useNow } from '../shared/hooks.ts';
import { counted } from '../shared/number-words.ts';
import { PageHead } from '../shared/page-head.tsx';
import { Copyable, LongText } from '../shared/text.tsx';
import { Arrivals } from './arrivals.tsx';
import { followBatch } from './follow-batch.ts';
import { LiveNumbers, RateChart } from './live-numbers.tsx';
import { titleOf, percentOf, wordsOf } from './run-words.ts';

function WatchPage(): JSX.Element {
  const [batch, setBatch] = useState<LiveBatch>();
  const [isLost, setIsLost] = useState(false);
  // How far the clock of the machine that renders is ahead of this one's.
  const [aheadMs, setAheadMs] = useState(0);
  useEffect(
    () =>
      followBatch({
        hear: ({ now, ...news }) => {
          setBatch(news);
          setAheadMs(now - Date.now());
        },
        lose: setIsLost,
      }),
    [],
  );
  useEffect(() => {
    document.title = titleOf(batch);
  }, [batch]);
  if (batch === undefined)
    return <p class="waiting">{isLost ? 'No response yet; retrying …' : 'Loading …'}</p>;
  const { numbers } = batch;
  return (
    <>
      <RunHead batch={batch} aheadMs={aheadMs}>
        {isLost && (
          <p class="message bad">
            <strong>Connection lost.</strong> <code>nightrender watch</code> does not answer; the run itself
            goes on without it. The page looks again by itself, and shows what it last knew.
          </p>
        )}
      </RunHead>
      <main class={isLost ? 'stack wide stale' : 'stack wide'}>
        {numbers !== null && (
          <>
            <LiveNumbers numbers={numbers} aheadMs={aheadMs} />
            <div class="columns">
              <RateChart {...numbers} />
              {numbers.failures.length > 0 && <LiveFailures failures={numbers.failures} />}
            </div>
            <Arrivals newest={batch.newest} total={numbers.pictures} />
          </>
        )}
      </main>
      <Announcer batch={batch} isLost={isLost} />
    </>
  );
}

const root = document.querySelector('#page');
if (root !== null) render(<WatchPage />, root);

/** Each tenth of the work, each change of the run, and the connection. */
function Announcer({ batch, isLost }: { batch: LiveBatch; isLost: boolean }): JSX.Element {
  const percent = percentOf(batch);
  const tenth = percent === undefined ? '' : `, ${Math.floor(percent / 10) * 10} % saved`;
  const { head } = wordsOf(batch, 0);
  return (
    <p class="unseen" role="status">
      {isLost ? 'Connection lost, reconnecting.' : `${head}${tenth}.`}
    </p>
  );
}

interface HeadProps {
  batch: LiveBatch;
  aheadMs: number;
  children: ComponentChildren;
}

function RunHead({ batch, aheadMs, children }: HeadProps): JSX.Element {
  const { head, text, command, mood } = wordsOf(batch, useNow(aheadMs));
  return (
    <PageHead name={batch.name} tone={mood} state={head} kind={batch.run.kind}>
      <p class="soft">{text}</p>
      {command !== undefined && <Copyable label="Command" text={command} />}
      {children}
    </PageHead>
  );
}

/** What failed, by kind, and how to have it rendered again. */
function LiveFailures({ failures }: { failures: LiveFailure[] }): JSX.Element {
  return (
    <section class="card stack" aria-labelledby="failures">
      <h2 id="failures">Failures</h2>
      {failures.map((failure) => (
        <OneKind key={failure.kind} {...failure} />
      ))}
    </section>
  );
}

function OneKind({ kind, means, attempts, scenes, lastText, retry }: LiveFailure): JSX.Element {
  return (
    <article class="stack">
      <h3>
        <code>{kind}</code>{' '}
        <small class={scenes > 0 ? 'bad' : ''}>
          {scenes > 0 ? `${counted(scenes, 'scene')} failed` : 'tried again'}
          {attempts > 0 && `, ${counted(attempts, 'attempt')}`}
        </small>
      </h3>
      {means !== '' && <p class="soft">{means}</p>}
      {lastText !== '' && <LongText label={`The last failure, ${kind}`} text={lastText} isBad />}
      {retry !== null && <Copyable label="Command that retries them" text={retry} />}
    </article>
  );
}
