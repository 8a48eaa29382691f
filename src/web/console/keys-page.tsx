/** The page of the service's keys and of the jobs that each was used for. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { AuditEntry, KeyView } from '../../protocol/console-data.ts';
import { counted, countWords, durationWords, instantWords, moneyWords } from '../shared/number-words.ts';
import { ask, usePolled } from './ask.ts';
import { Question, useFocusKept, Field, TextField } from './form.tsx';
import { Select } from '../shared/choices.tsx';
import { KeyForm, NewKey } from './key-form.tsx';
import { Card, Mark, Waiting } from './pieces.tsx';
import { useService } from './route.ts';

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
                <OneKey view={key} onChanged={refresh} />
              </li>
            ))}
          </ul>
        </Card>
        <Card title="Add a key">
          <KeyForm onAdded={refresh} />
        </Card>
      </div>
      <Audit />
    </>
  );
}

function Audit(): JSX.Element {
  const polled = usePolled<AuditEntry[]>('audit', () => 10_000);
  return (
    <Card title="Latest sign-ins, wrong keys and changes">
      <Waiting polled={polled} />
      {polled.data?.length === 0 && <p class="soft">None yet.</p>}
      <ul class="list">
        {polled.data?.map((entry, index) => (
          <li key={index}>
            <p>
              {entry.event === 'change' ? <bdi>{entry.what}</bdi> : auditWords[entry.event]}
              {entry.event === 'wrong-key' && entry.what !== null && ` for ${entry.what}`}
            </p>
            <p class="hint">
              {[
                instantWords(Date.parse(entry.at)),
                ...(entry.key === null ? [] : [`key ${entry.key}`]),
                entry.from === null ? 'on the machine of the service' : `from ${entry.from}`,
                ...detailsOf(entry),
              ].join(' · ')}
            </p>
          </li>
        ))}
      </ul>
    </Card>
  );
}

const auditWords = { 'signed-in': 'Signed in', 'wrong-key': 'Wrong key' } as const;

function detailsOf({ at: _at, event: _event, key: _key, from: _from, what: _what, ...more }: AuditEntry) {
  return Object.entries(more).map(([name, text]) => `${name} ${String(text)}`);
}

interface OneKeyProps {
  view: KeyView;
  onChanged(): Promise<void>;
}

function OneKey({ view, onChanged }: OneKeyProps): JSX.Element {
  const { name, origin } = view;
  const place = useFocusKept<HTMLElement>();
  return (
    <article ref={place} class="stack" tabIndex={-1}>
      <div class="row">
        <h3>
          <bdi>{name}</bdi>
        </h3>
        <Standing view={view} />
        {origin === 'book' && view.revokedAt === null && (
          <>
            <Rotate view={view} onChanged={onChanged} />
            <Revoke view={view} onChanged={onChanged} />
          </>
        )}
      </div>
      <p class="hint">{factsOf(view).join(' · ')}</p>
      <Usage view={view} />
    </article>
  );
}

function Standing({ view: { origin, revokedAt, expiresAt } }: { view: KeyView }): JSX.Element {
  const { aheadMs } = useService();
  if (revokedAt === null && expiresAt !== null && expiresAt <= Date.now() + aheadMs)
    return <Mark tone="bad">expired</Mark>;
  if (origin === 'gone') return <Mark tone="wait">not in use now</Mark>;
  return revokedAt === null ? <Mark tone="good">active</Mark> : <Mark tone="bad">revoked</Mark>;
}

function factsOf(view: KeyView): string[] {
  const { kind, endpoints, origin, createdAt, lastUsedAt, lastUsedFrom, revokedAt, expiresAt } = view;
  const { quotaMs, todayMs, hasOwnJobsOnly, isReadOnly } = view;
  const { requestsPerSecond, maxQueued, maxQueuedBytes, maxHeld } = view.limits;
  const good = [
    kind,
    endpoints === null ? 'all endpoints' : `only ${endpoints.join(', ')}`,
    ...(hasOwnJobsOnly ? ['its own jobs only'] : []),
    ...(isReadOnly ? ['read-only'] : []),
  ];
  if (origin === 'given') return [...good, 'from NIGHTRENDER_API_KEY: active while the service runs'];
  if (origin === 'gone') return [...good, 'from NIGHTRENDER_API_KEY of an earlier start'];
  return [
    ...good,
    ...(createdAt === null ? [] : [`created ${instantWords(createdAt)}`]),
    lastUsedAt === null
      ? 'never used'
      : `last used ${instantWords(lastUsedAt)}${lastUsedFrom === null ? '' : ` from ${lastUsedFrom}`}`,
    ...(expiresAt === null ? [] : [`valid until ${instantWords(expiresAt)}`]),
    ...(revokedAt === null ? [] : [`revoked ${instantWords(revokedAt)}`]),
    ...(quotaMs === null ? [] : [`${durationWords(todayMs)} of ${durationWords(quotaMs)} used today`]),
    ...(requestsPerSecond === null ? [] : [`${counted(requestsPerSecond, 'request')} a second`]),
    ...(maxQueued === null ? [] : [`${counted(maxQueued, 'job')} queued`]),
    ...(maxQueuedBytes === null ? [] : [`${countWords(maxQueuedBytes)} bytes queued`]),
    ...(maxHeld === null ? [] : [`${counted(maxHeld, 'request')} at once`]),
  ];
}

function Usage({ view: { usage, price, done } }: { view: KeyView }): JSX.Element {
  const jobs = usage.reduce((sum, each) => sum + each.jobs, 0);
  const gpuMs = usage.reduce((sum, each) => sum + each.gpuMs, 0);
  if (done !== null)
    return (
      <p class="hint">
        {done.jobs === 0
          ? 'Its workers have done no jobs since the service was started.'
          : `Its workers did ${counted(done.jobs, 'job')} in ${durationWords(done.ms)} since the service was started.`}
      </p>
    );
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

const overlaps = [
  ['', 'ends now'],
  ['1d', 'is valid for another day'],
  ['7d', 'is valid for another week'],
] as const;

function Rotate({ view, onChanged }: OneKeyProps): JSX.Element {
  const [typed, setTyped] = useState<{ overlap: (typeof overlaps)[number][0]; expires: string }>({
    overlap: '1d',
    expires: '',
  });
  const [added, setAdded] = useState<{ key: string; view: KeyView }>();
  const rotate = async (): Promise<void> => {
    setAdded(await ask('POST', `keys/${encodeURIComponent(view.id)}/rotate`, typed));
    void onChanged();
  };
  return (
    <>
      <Question
        button="Rotate"
        label={`Rotate key ${view.name}`}
        isSmall
        question="Rotate key"
        name={view.name}
        action="Make a new text"
        onYes={rotate}
      >
        <p>It gets a new text. Its jobs, quota and usage stay.</p>
        <Field label="Its present text" problem="">
          {(attributes) => (
            <Select
              attributes={attributes}
              options={overlaps}
              chosen={typed.overlap}
              onChoose={(overlap) => setTyped({ ...typed, overlap })}
            />
          )}
        </Field>
        <TextField
          label="The new text expires after"
          hint="Such as 90d. Leave it empty to keep the present date."
          problem=""
          value={typed.expires}
          onText={(expires) => setTyped({ ...typed, expires })}
        />
      </Question>
      {added !== undefined && (
        <NewKey added={added} what="has a new text" onClose={() => setAdded(undefined)} />
      )}
    </>
  );
}

function Revoke({ view, onChanged }: OneKeyProps): JSX.Element {
  const { say } = useService();
  const revoke = async (): Promise<void> => {
    await ask('POST', `keys/${encodeURIComponent(view.id)}/revoke`);
    say(`Key “${view.name}” is revoked.`);
    void onChanged();
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
        Requests with it are refused from then on, also those of this browser if it signed in with it. This
        cannot be undone.
      </p>
    </Question>
  );
}
