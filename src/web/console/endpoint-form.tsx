/** The form of an endpoint. */
import type { JSX } from 'preact';
import { useMemo, useState, useLayoutEffect, useRef } from 'preact/hooks';
import type { EndpointForm as EndpointSettings } from '../../protocol/console-data.ts';
import { Capacity, DraftField, WorkloadFields } from './endpoint-fields.tsx';
import { formOf, hasProgram, type Draft, type PartProps, type Runs, idFromName } from './endpoint-draft.ts';
import { Form, OtherProblems, useFocusKept, useSending } from './form.tsx';
import { Card } from './pieces.tsx';
import { WorkloadChoice } from './workload-choice.tsx';
import type { Problem } from './ask.ts';
import { useService } from './service.ts';

interface Props {
  draft: Draft;
  isNew: boolean;
  /** What is done, on the button. */
  action: string;
  /** Where it is left for. */
  back: string;
  /** Rejects with what the service has against it. */
  onSave(form: EndpointSettings): Promise<void>;
}

export function EndpointForm({ draft: first, isNew, action, back, onSave }: Props): JSX.Element {
  const [draft, setDraft] = useState(first);
  const sending = useSending(async () => {
    const read = formOf(draft);
    if ('problems' in read) return read.problems;
    return onSave(read.form);
  });
  const { problems, isBusy } = sending;
  const { beside, above } = useMemo(() => placeProblems(problems, draft.runs), [problems, draft.runs]);
  const part: PartProps = {
    draft,
    problems: beside,
    onChange: (change) => setDraft((before) => ({ ...before, ...change })),
  };
  return (
    <Form sending={sending} class="stack wide">
      <OtherProblems texts={above} />
      <WorkloadChoice {...part} />
      <Names {...part} isNew={isNew} />
      <WorkloadFields {...part} />
      <Capacity {...part} />
      <JobLimits {...part} />
      {hasProgram(draft) && (
        <Card title="Environment">
          <EnvironmentRows {...part} />
        </Card>
      )}
      <p class="unseen" role="status">
        {problems.length > 0 ? 'Not saved: fix the problems below.' : ''}
      </p>
      <div class="row sticky">
        <button type="submit" class="primary" aria-disabled={isBusy}>
          {action}
        </button>
        <a class="button" href={back}>
          Cancel{' '}
        </a>
      </div>
    </Form>
  );
}

/** The limits of an endpoint's jobs. */
const limits = [
  ['executionTimeout', 'Execution time-out', 'The longest a job may run: 30s, 10m, 2h.'],
  ['ttl', 'Time to live', 'From submission to end, including the queue.'],
  ['retries', 'Retries', 'How often a job is queued again after its worker died.'],
  ['maxQueued', 'Longest queue', 'More jobs are answered with 429.'],
] as const;

function JobLimits(part: PartProps): JSX.Element {
  return (
    <Card title="Limits of jobs">
      <div class="row top">
        {limits.map(([field, label, hint]) => (
          <DraftField key={field} {...part} of={field} class="short" label={label} hint={hint} />
        ))}
      </div>
    </Card>
  );
}

/** Which field of the form a problem is shown beside. */
const always = ['name', 'id', 'workload', 'gpu', 'retries', 'executionTimeout', 'ttl', 'maxQueued'];

/** Beside those that every endpoint has. */
const ofWorkload: Record<Runs, string[]> = {
  painter: ['workers', 'quickStart'],
  'scene-renderer': ['workers', 'quickStart', 'environment'],
  blender: ['workers', 'quickStart', 'environment', 'memory', 'workload.assets', 'workload.scripts'],
  image: ['workers', 'quickStart', 'environment', 'memory', 'cpus', 'workload.image', 'workload.arguments'],
  command: ['workers', 'quickStart', 'environment', 'memory', 'workload.command', 'workload.cwd'],
  module: ['workers', 'quickStart', 'environment', 'memory', 'workload.path'],
  remote: [],
};

interface PlacedProblems {
  /** By field. */
  beside: Record<string, string>;
  /** About nothing that is shown. */
  above: string[];
}

function placeProblems(problems: Problem[], runs: Runs): PlacedProblems {
  const shown = [...always, ...ofWorkload[runs]];
  const placed: PlacedProblems = { beside: {}, above: [] };
  for (const { field, text } of problems) {
    const homes = shown.filter((each) => each === field || field.startsWith(`${each}.`));
    const home = homes.toSorted((a, b) => b.length - a.length)[0];
    if (home === undefined) placed.above.push(text);
    else placed.beside[home] = [placed.beside[home], text].filter(Boolean).join(' ');
  }
  return placed;
}

/** What an endpoint is called. */
function Names({ isNew, ...part }: PartProps & { isNew: boolean }): JSX.Element {
  const { draft, problems, onChange } = part;
  const url = useService().overview.url.replace(/\/+$/, '');
  return (
    <Card title="Name and address">
      <div class="row top">
        <DraftField
          {...part}
          of="name"
          label="Name"
          hint="Shown to people; must be unique."
          onText={(name) => onChange({ name, ...(!draft.isIdTyped && { id: idFromName(name) }) })}
        />
        {isNew ? (
          <DraftField
            {...part}
            of="id"
            label="Id"
            placeholder="as the name"
            hint={`Part of its URL: ${url}/v2/${draft.id === '' ? '…' : draft.id}/run`}
            onText={(id) => onChange({ id, isIdTyped: id !== '' })}
          />
        ) : (
          <p class="field">
            <span>Id</span>
            <code>{draft.id}</code>
            <span class="problem">{problems['id'] ?? ''}</span>
          </p>
        )}
      </div>
    </Card>
  );
}

/** Names and values for the workers' environment. */
function EnvironmentRows({ draft: { environment }, problems, onChange }: PartProps): JSX.Element {
  const list = useFocusKept<HTMLUListElement>();
  const count = useRef(environment.length);
  const problem = problems['environment'] ?? '';
  useLayoutEffect(() => {
    if (environment.length > count.current)
      list.current?.querySelector<HTMLElement>('li:last-child input')?.focus();
    count.current = environment.length;
  }, [environment.length]);
  const change = (key: number, part: { name?: string; value?: string }): void =>
    onChange({ environment: environment.map((row) => (row.key === key ? { ...row, ...part } : row)) });
  const add = (): void => {
    const key = Math.max(-1, ...environment.map((row) => row.key)) + 1;
    onChange({ environment: [...environment, { key, name: '', value: '' }] });
  };
  return (
    <>
      <p class="hint" id="environment-hint">
        For the workers. Secrets given here can be read by everybody who can open this console.
      </p>
      <ul ref={list} class="stack environment" aria-label="Variables" tabIndex={-1}>
        {environment.map(({ key, name, value }, index) => (
          <li key={key}>
            {(['name', 'value'] as const).map((part) => (
              <input
                key={part}
                type="text"
                autocomplete="off"
                spellcheck={false}
                placeholder={part}
                aria-label={`${part} of variable ${index + 1}`}
                aria-invalid={problem !== ''}
                aria-describedby="environment-problem"
                value={part === 'name' ? name : value}
                onInput={(event) => change(key, { [part]: event.currentTarget.value })}
              />
            ))}
            <button
              type="button"
              class="small"
              aria-label={`Remove variable ${name === '' ? index + 1 : name}`}
              onClick={() => onChange({ environment: environment.filter((row) => row.key !== key) })}
            >
              ✕
            </button>
          </li>
        ))}
      </ul>
      <p id="environment-problem" class="problem">
        {problem}
      </p>
      <p>
        <button type="button" onClick={add}>
          Add a variable
        </button>
      </p>
    </>
  );
}
