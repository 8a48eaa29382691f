/** The form of an endpoint. */
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { EndpointForm as Form } from '../console-data.ts';
import { Refused, troubleWords, type Problem } from './ask.ts';
import { formOf, idFromName, type Draft, type PartProps } from './endpoint-draft.ts';
import { placeProblems } from './endpoint-problems.ts';
import { EnvironmentRows } from './environment-rows.tsx';
import { TextField, useFirstProblem } from './field.tsx';
import { GpuField } from './gpu-field.tsx';
import { useService } from './service.ts';
import { WorkloadChoice } from './workload-choice.tsx';
import { WorkloadFields } from './workload-fields.tsx';

interface Props {
  draft: Draft;
  isNew: boolean;
  /** What is done, on the button. */
  action: string;
  /** Where it is left for. */
  back: string;
  /** Rejects with what the service has against it. */
  onSave(form: Form): Promise<void>;
}

export function EndpointForm({ draft: first, isNew, action, back, onSave }: Props): JSX.Element {
  const [draft, setDraft] = useState(first);
  const [problems, setProblems] = useState<Problem[]>([]);
  const [isBusy, setIsBusy] = useState(false);
  const form = useFirstProblem(problems);
  const { beside, above } = useMemo(() => placeProblems(problems, draft.runs), [problems, draft.runs]);
  const save = async (): Promise<void> => {
    const read = formOf(draft);
    if ('problems' in read) return setProblems(read.problems);
    setIsBusy(true);
    setProblems([]);
    try {
      await onSave(read.form);
    } catch (error) {
      const known = error instanceof Refused ? error.problems : [];
      setProblems(known.length > 0 ? known : [{ field: '', text: troubleWords(error) }]);
    } finally {
      setIsBusy(false);
    }
  };
  const part: PartProps = {
    draft,
    problems: beside,
    onChange: (change) => setDraft((before) => ({ ...before, ...change })),
  };
  return (
    <form
      ref={form}
      class="stack wide"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      {above.length > 0 && (
        <div class="notice bad problems" role="alert" tabIndex={-1}>
          {above.map((text) => (
            <p key={text}>{text}</p>
          ))}
        </div>
      )}
      <WorkloadChoice {...part} />
      <Names {...part} isNew={isNew} />
      <WorkloadFields {...part} />
      <Capacity {...part} />
      <Limits {...part} />
      <section class="panel stack" aria-labelledby="environment">
        <h2 id="environment">Environment</h2>
        <EnvironmentRows {...part} />
      </section>
      <p class="unseen" role="status">
        {problems.length > 0 ? `Not saved: ${problems.length} of the fields need a change.` : ''}
      </p>
      <div class="buttons sticky">
        <button type="submit" class="primary" disabled={isBusy}>
          {action}
        </button>
        <a class="button" href={back}>
          Leave it
        </a>
      </div>
    </form>
  );
}

function Names({ draft, problems, onChange, isNew }: PartProps & { isNew: boolean }): JSX.Element {
  const url = useService().overview.url.replace(/\/+$/, '');
  return (
    <section class="panel stack" aria-labelledby="names">
      <h2 id="names">Name and address</h2>
      <div class="row">
        <TextField
          label="Name"
          hint="For people; no other endpoint has it."
          problem={problems['name'] ?? ''}
          value={draft.name}
          onText={(name) => onChange({ name, ...(!draft.isIdTyped && { id: idFromName(name) }) })}
        />
        {isNew ? (
          <TextField
            label="Id"
            hint={`Stands in its address: ${url}/v2/${draft.id === '' ? '…' : draft.id}/run`}
            problem={problems['id'] ?? ''}
            value={draft.id}
            onText={(id) => onChange({ id, isIdTyped: id !== '' })}
          />
        ) : (
          <p class="fixed">
            <span>Id</span>
            <code>{draft.id}</code>
            <span class="problem">{problems['id'] ?? ''}</span>
          </p>
        )}
      </div>
    </section>
  );
}

function Capacity({ draft, problems, onChange }: PartProps): JSX.Element {
  return (
    <section class="panel stack" aria-labelledby="capacity">
      <h2 id="capacity">Workers and GPU</h2>
      {draft.runs !== 'remote' && (
        <div class="row">
          <TextField
            class="short"
            label="Workers"
            inputMode="numeric"
            hint="At most so many at once."
            problem={problems['workers'] ?? ''}
            value={draft.workers}
            onText={(workers) => onChange({ workers })}
          />
          <div class="field">
            <label class="option">
              <input
                type="checkbox"
                checked={draft.quickStart}
                aria-describedby="quick-hint"
                onChange={(event) => onChange({ quickStart: event.currentTarget.checked })}
              />{' '}
              Quick start
            </label>
            <p id="quick-hint" class="hint">
              Keeps workers running between jobs. Without it they are started when a job comes, which takes
              longer.
            </p>
            <p class="problem">{problems['quickStart'] ?? ''}</p>
          </div>
        </div>
      )}
      <GpuField draft={draft} problems={problems} onChange={onChange} />
      <div class="row">
        <TextField
          class="short"
          label="Memory"
          hint="Such as 8GB; empty for no bound."
          problem={problems['memory'] ?? ''}
          value={draft.memory}
          onText={(memory) => onChange({ memory })}
        />
        <TextField
          class="short"
          label="CPUs"
          inputMode="decimal"
          hint="Such as 2 or 0.5; empty for no bound."
          problem={problems['cpus'] ?? ''}
          value={draft.cpus}
          onText={(cpus) => onChange({ cpus })}
        />
      </div>
    </section>
  );
}

const limits = [
  ['executionTimeout', 'Execution time-out', 'The longest a job may run: 30s, 10m, 2h.'],
  ['ttl', 'Time to live', 'From submission to end, the queue counted.'],
  ['retries', 'Retries', 'How often a job whose worker died is put back.'],
  ['maxQueued', 'Longest queue', 'More jobs are answered with 429.'],
] as const;

function Limits({ draft, problems, onChange }: PartProps): JSX.Element {
  return (
    <section class="panel stack" aria-labelledby="limits">
      <h2 id="limits">Limits of jobs</h2>
      <div class="row">
        {limits.map(([field, label, hint]) => (
          <TextField
            key={field}
            class="short"
            label={label}
            hint={hint}
            problem={problems[field] ?? ''}
            value={draft[field]}
            onText={(text) => onChange({ [field]: text })}
          />
        ))}
      </div>
    </section>
  );
}
