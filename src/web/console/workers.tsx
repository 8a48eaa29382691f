/** The workers of an endpoint, and what each wrote last. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { EndpointView, WorkerView } from '../../protocol/console-data.ts';
import { Choices } from '../shared/choices.tsx';
import { useNow } from '../shared/hooks.ts';
import { countWords, durationWords } from '../shared/number-words.ts';
import { LongText } from '../shared/text.tsx';
import { deathWords, workerCounts, workerStates } from './endpoint-words.ts';
import { Mark } from './pieces.tsx';
import { to } from './route.ts';
import { useService } from './service.ts';

const fewWorkers = 12;

/** What one that died wrote at the end, without being opened. */
const lastWords = 4;

export function Workers({ endpoint: { workers, settings } }: { endpoint: EndpointView }): JSX.Element {
  const now = useNow(useService().aheadMs, 1_000);
  const [state, setState] = useState<WorkerView['state']>();
  const [hasAll, setHasAll] = useState(false);
  const chosen = workers.filter((worker) => state === undefined || worker.state === state);
  const shown = hasAll ? chosen : chosen.slice(0, fewWorkers);
  if (workers.length === 0) return <p class="soft">{absence(settings)}</p>;
  return (
    <>
      <Choices
        label="Which workers"
        options={[
          [undefined, `all ${countWords(workers.length)}`],
          ...workerCounts(workers).map(
            ([each, count]) => [each, `${countWords(count)} ${workerStates[each].word}`] as const,
          ),
        ]}
        chosen={state}
        onChoose={setState}
      />
      <ul class="list workers">
        {shown.map((worker) => (
          <li key={worker.id}>
            <OneWorker worker={worker} now={now} />
          </li>
        ))}
      </ul>
      {chosen.length > fewWorkers && (
        <button type="button" onClick={() => setHasAll(!hasAll)}>
          {hasAll ? 'Show fewer' : `Show all ${countWords(chosen.length)}`}
        </button>
      )}
    </>
  );
}

function absence({ remote, quickStart }: EndpointView['settings']): string {
  if (remote === true) return 'None has connected yet. See “Use it” for how to start one.';
  return quickStart === true ? 'None.' : 'None; they start when a job arrives.';
}

function OneWorker({ worker, now }: { worker: WorkerView; now: number }): JSX.Element {
  const [isOpen, setIsOpen] = useState(false);
  const { id, state, kind, gpu, since, lastSeenAt, log } = worker;
  const { tone, word } = workerStates[state];
  const death = deathWords(worker, now);
  const facts = [
    `for ${durationWords(Math.max(0, now - since))}`,
    gpu,
    kind === 'remote' ? `elsewhere, heard ${durationWords(Math.max(0, now - lastSeenAt))} ago` : null,
  ];
  return (
    <>
      <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
        <summary>
          <Mark tone={tone}>{word}</Mark> <bdi>{id}</bdi>{' '}
          <small>{facts.filter((fact) => fact !== null).join(' · ')}</small>
        </summary>
        {isOpen && <OpenWorker worker={worker} />}
      </details>
      {death !== null && (
        <div class="death">
          <p>{death}</p>
          {!isOpen && log.length > 0 && <pre>{log.slice(-lastWords).join('\n')}</pre>}
        </div>
      )}
    </>
  );
}

function OpenWorker({ worker: { id, jobIds, log } }: { worker: WorkerView }): JSX.Element {
  return (
    <div class="stack">
      {jobIds.length > 0 && (
        <p class="hint">
          at{' '}
          {jobIds.map((job) => (
            <a key={job} href={to.job(job)}>
              {job}{' '}
            </a>
          ))}
        </p>
      )}
      {log.length === 0 ? (
        <p class="hint">No output yet.</p>
      ) : (
        <LongText label={`Log of worker ${id}`} text={log.join('\n')} />
      )}
    </div>
  );
}
