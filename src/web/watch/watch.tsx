/** The page of `nightrender watch`. */
import { render, type JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { LiveBatch, LiveFailure } from '../../runner/core/live-batch.ts';
import { Arrivals } from './arrivals.tsx';
import { followBatch } from './follow-batch.ts';
import { LiveNumbers } from './live-numbers.tsx';
import { RateChart } from './rate-chart.tsx';
import { titleOf, percentOf, wordsOf } from './run-words.ts';
import { useNow } from '../shared/use-now.ts';
import { counted } from '../shared/number-words.ts';

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
      <header>
        <p class="name">nightrender</p>
        <h1>
          <bdi>{batch.dir}</bdi>
        </h1>
        <RunState batch={batch} isLost={isLost} aheadMs={aheadMs} />
      </header>
      <main class={isLost ? 'stale' : ''}>
        {numbers !== null && (
          <>
            <LiveNumbers numbers={numbers} aheadMs={aheadMs} />
            <div class="pair">
              <RateChart numbers={numbers} />
              <LiveFailures failures={numbers.failures} />
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

interface Props {
  batch: LiveBatch;
  isLost: boolean;
  aheadMs: number;
}

function RunState({ batch, isLost, aheadMs }: Props): JSX.Element {
  const { head, text, command, mood } = wordsOf(batch, useNow(aheadMs));
  return (
    <div class={`state ${mood}`} data-run={batch.run.kind}>
      <p>
        <strong>{head}</strong> <span>{text}</span>
      </p>
      {command !== undefined && <code class="command">{command}</code>}
      {isLost && (
        <p class="lost">
          <strong>Connection lost.</strong> <code>nightrender watch</code> does not answer; the run itself
          goes on without it. The page looks again by itself, and shows what it last knew.
        </p>
      )}
    </div>
  );
}

/** What failed, by kind, and how to have it rendered again. */
function LiveFailures({ failures }: { failures: LiveFailure[] }): JSX.Element {
  return (
    <section aria-labelledby="failures">
      <div class="head">
        <h2 id="failures">Failures</h2>
      </div>
      {failures.length === 0 ? (
        <p class="soft">None so far.</p>
      ) : (
        <ul class="failures">
          {failures.map((failure) => (
            <OneKind key={failure.kind} {...failure} />
          ))}
        </ul>
      )}
    </section>
  );
}

function OneKind({ kind, means, attempts, scenes, lastText, retry }: LiveFailure): JSX.Element {
  return (
    <li>
      <h3>
        <code>{kind}</code>{' '}
        <span class={scenes > 0 ? 'count bad' : 'count'}>
          {scenes > 0 ? `${counted(scenes, 'scene')} failed` : 'tried again'}
          {attempts > 0 && `, ${counted(attempts, 'attempt')}`}
        </span>
      </h3>
      {means !== '' && <p class="soft">{means}</p>}
      {lastText !== '' && (
        <p class="last">
          <span class="soft">Last: </span>
          <bdi>{lastText}</bdi>
        </p>
      )}
      {retry !== null && <code class="command">{retry}</code>}
    </li>
  );
}
