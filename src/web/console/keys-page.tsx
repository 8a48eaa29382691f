/** The keys that are good for this service, and what each was used for. */
import type { JSX } from 'preact';
import type { KeyView } from '../../protocol/console-data.ts';
import { counted, countWords, durationWords, instantWords, moneyWords } from '../shared/number-words.ts';
import { ask } from './ask.ts';
import { useFocusKept } from './form.tsx';
import { KeyForm } from './key-form.tsx';
import { Card, Mark } from './pieces.tsx';
import { usePolled, Waiting } from './polled.tsx';
import { Question } from './question.tsx';
import { useService } from './service.ts';

export function KeysPage(): JSX.Element {
  const polled = usePolled<KeyView[]>('keys', () => 5_000);
  const { data: keys, refresh } = polled;
  return (
    <>
      <h1>Keys</h1>
      <div class="columns">
        <Card title="All keys">
          <Waiting polled={polled} />
          {keys?.length === 0 && <p class="soft">None yet.</p>}
          <ul class="list">
            {keys?.map((key) => (
              <li key={key.id}>
                <OneKey view={key} onRevoked={refresh} />
              </li>
            ))}
          </ul>
        </Card>
        <Card title="Add a key">
          <KeyForm onAdded={refresh} />
        </Card>
      </div>
    </>
  );
}

function OneKey({ view, onRevoked }: { view: KeyView; onRevoked(): Promise<void> }): JSX.Element {
  const { name, origin } = view;
  const place = useFocusKept<HTMLElement>();
  return (
    <article ref={place} class="stack" tabIndex={-1}>
      <div class="row">
        <h3>
          <bdi>{name}</bdi>
        </h3>
        <Standing view={view} />
        {origin === 'book' && view.revokedAt === null && <Revoke view={view} onRevoked={onRevoked} />}
      </div>
      <p class="hint">{factsOf(view).join(' · ')}</p>
      <Usage view={view} />
    </article>
  );
}

function Standing({ view: { origin, revokedAt } }: { view: KeyView }): JSX.Element {
  if (origin === 'gone') return <Mark tone="wait">not in use now</Mark>;
  return revokedAt === null ? <Mark tone="good">active</Mark> : <Mark tone="bad">revoked</Mark>;
}

function factsOf(view: KeyView): string[] {
  const { kind, endpoints, origin, createdAt, lastUsedAt, revokedAt, quotaMs, todayMs, hasOwnJobsOnly } =
    view;
  const good = [
    kind,
    endpoints === null ? 'all endpoints' : `only ${endpoints.join(', ')}`,
    ...(hasOwnJobsOnly ? ['its own jobs only'] : []),
  ];
  if (origin === 'given') return [...good, 'from NIGHTRENDER_API_KEY: active while the service runs'];
  if (origin === 'gone') return [...good, 'from NIGHTRENDER_API_KEY of an earlier start'];
  return [
    ...good,
    ...(createdAt === null ? [] : [`created ${instantWords(createdAt)}`]),
    lastUsedAt === null ? 'never used' : `last used ${instantWords(lastUsedAt)}`,
    ...(revokedAt === null ? [] : [`revoked ${instantWords(revokedAt)}`]),
    ...(quotaMs === null ? [] : [`${durationWords(todayMs)} of ${durationWords(quotaMs)} used today`]),
  ];
}

function Usage({ view: { usage, price } }: { view: KeyView }): JSX.Element {
  const jobs = usage.reduce((sum, each) => sum + each.jobs, 0);
  const gpuMs = usage.reduce((sum, each) => sum + each.gpuMs, 0);
  if (jobs === 0) return <p class="hint">No jobs so far.</p>;
  return (
    <details>
      <summary>
        {counted(jobs, 'job')}, {countWords(Math.round(gpuMs / 100) / 10)} worker seconds
        {price !== null && `, ${moneyWords((gpuMs / 1_000) * price, 'USD')}`}
      </summary>
      <table class="usage">
        <thead>
          <tr>
            <th scope="col">Endpoint</th>
            <th scope="col">Jobs</th>
            <th scope="col">Worker seconds</th>
          </tr>
        </thead>
        <tbody>
          {usage.map((each) => (
            <tr key={each.endpointId}>
              <th scope="row">{each.endpointId}</th>
              <td>{countWords(each.jobs)}</td>
              <td>{countWords(Math.round(each.gpuMs / 100) / 10)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function Revoke({ view, onRevoked }: { view: KeyView; onRevoked(): Promise<void> }): JSX.Element {
  const { say } = useService();
  const revoke = async (): Promise<void> => {
    await ask('POST', `keys/${encodeURIComponent(view.id)}/revoke`);
    say(`Key “${view.name}” is revoked.`);
    void onRevoked();
  };
  return (
    <Question
      button="Revoke"
      label={`Revoke key ${view.name}`}
      isSmall
      question="Revoke key"
      name={view.name}
      action="Revoke it"
      onYes={revoke}
    >
      <p>
        Whoever uses it is refused from then on, this browser too if it signed in with it. It cannot be
        undone.
      </p>
    </Question>
  );
}
