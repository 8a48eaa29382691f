/** The page of `nightrender watch`. */
import { render, type JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { LiveBatch } from '../../runner/core/live-batch.ts';
import { Arrivals } from './arrivals.tsx';
import { Announcer } from './announcer.tsx';
import { followBatch } from './follow-batch.ts';
import { LiveFailures } from './live-failures.tsx';
import { LiveNumbers } from './live-numbers.tsx';
import { RateChart } from './rate-chart.tsx';
import { RunState } from './run-state.tsx';
import { titleOf } from './run-words.ts';

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
    return <p class="waiting">{isLost ? 'Nothing answers yet; looking again …' : 'Looking …'}</p>;
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
