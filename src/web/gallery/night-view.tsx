/** The view of the runs: throughput, runs, queue and execution times. */
import type { JSX } from 'preact';
import { clockTicks, rateUnit } from '../shared/chart-axes.ts';
import { Bars } from '../shared/charts.tsx';
import type { GalleryData, GalleryNight, GalleryTimes } from '../../runner/core/gallery-data.ts';
import { counted, durationWords, instantWords } from '../shared/number-words.ts';
import { About, endingWords } from './summary.tsx';

export function NightView({ data }: { data: GalleryData }): JSX.Element {
  const [whole, latest] = data.nights;
  return (
    <section aria-label="The night" class="stack wide">
      <About data={data} />
      {whole === undefined && <p class="soft">Nothing was submitted yet.</p>}
      {latest !== undefined && <Night title="The latest run" night={latest} />}
      {whole !== undefined && (
        <Night title={latest === undefined ? 'Throughput' : 'The whole batch'} night={whole} />
      )}
      {whole !== undefined && <Runs {...data} />}
      <div class="columns even">
        <Times title="Waiting in the queue" times={data.delay} />
        <Times title="Execution" times={data.execution} />
      </div>
    </section>
  );
}

function Night({ title, night }: { title: string; night: GalleryNight }): JSX.Element {
  const { startedAt, endedAt, saved, failed } = night;
  const binMs = (endedAt - startedAt) / saved.length;
  const unit = rateUnit((1000 * Math.max(...saved)) / binMs);
  const factor = (1000 * unit.seconds) / binMs;
  const sum = saved.reduce((all, count) => all + count, 0);
  const bad = failed.reduce((all, count) => all + count, 0);
  const words = `${counted(sum, 'scene')} saved${bad > 0 ? ` and ${bad} failed` : ''} in ${durationWords(endedAt - startedAt)}`;
  return (
    <figure class="card">
      <h2>{title}</h2>
      <p class="soft">{words}</p>
      <Bars
        label={`${title}: ${words}`}
        bars={saved.map((value, index) => ({
          value: value * factor,
          bad: (failed[index] ?? 0) * factor,
          title: `${instantWords(startedAt + index * binMs)}: ${value} saved, ${failed[index] ?? 0} failed`,
        }))}
        unit={`scenes ${unit.words}`}
        ticks={clockTicks(startedAt, endedAt)}
      />
    </figure>
  );
}

function Runs({ runs, writtenAt }: GalleryData): JSX.Element {
  return (
    <section class="card" aria-label="Runs">
      <h2>{counted(runs.length, 'run')}</h2>
      <ol reversed>
        {runs
          .map((run, index) => {
            // A run that crashed had ended by the time the next one started.
            const endedAt = run.endedAt ?? runs[index + 1]?.startedAt ?? writtenAt;
            return (
              <li key={run.run}>
                {instantWords(run.startedAt)} <small>for {durationWords(endedAt - run.startedAt)}</small>
                <p class={run.ending === null ? 'bad' : 'soft'}>
                  {endingWords(run, index === runs.length - 1)}
                </p>
              </li>
            );
          })
          .toReversed()}
      </ol>
    </section>
  );
}

function Times({ title, times }: { title: string; times: GalleryTimes | null }): JSX.Element {
  if (times === null) return <></>;
  const { bins, count, p50Ms, p95Ms, mostMs, upToMs } = times;
  const binMs = upToMs / bins.length;
  const words = `half within ${durationWords(p50Ms)}, 95 % within ${durationWords(p95Ms)}, at most ${durationWords(mostMs)}`;
  return (
    <figure class="card">
      <h2>{title}</h2>
      <p class="soft">
        p50 {durationWords(p50Ms)} · p95 {durationWords(p95Ms)} · longest {durationWords(mostMs)}
      </p>
      <Bars
        label={`${title} of ${counted(count, 'job')}: ${words}`}
        bars={bins.map((value, index) => ({
          value,
          title: `${durationWords(index * binMs)} to ${durationWords((index + 1) * binMs)}: ${counted(value, 'job')}`,
        }))}
        marks={[p50Ms / upToMs, Math.min(1, p95Ms / upToMs)]}
        unit="jobs"
        ticks={[
          { at: 0, text: '0' },
          { at: 0.5, text: durationWords(upToMs / 2) },
          { at: 1, text: `${durationWords(upToMs)}${mostMs > upToMs ? ' and longer' : ''}` },
        ]}
      />
    </figure>
  );
}
