/** Submits a job to an endpoint, and shows what comes of it. */
import type { JSX, ComponentChildren } from 'preact';
import { useState, useId, useRef } from 'preact/hooks';
import { ask } from './ask.ts';
import { Field, TextField } from './field.tsx';
import { Form, OtherProblems, useSending } from './form.tsx';
import { inputOf, nothingTyped, turned, type InputFields, type TypedInput } from './job-input.ts';
import { JobTermsFields } from './job-terms-fields.tsx';
import { noTerms, termsOf } from './job-terms.ts';
import { useService } from './service.ts';
import type { JobView } from '../../protocol/console-data.ts';
import { useNow } from '../shared/use-now.ts';
import { JobActions } from './job-actions.tsx';
import { JobPictures } from './job-pictures.tsx';
import { delayWords, executionWords, statusWords } from './job-words.ts';
import { LongText } from './long-text.tsx';
import { Mark } from './mark.tsx';
import { to } from './route.ts';
import { usePolled } from './use-polled.ts';

const ways = [
  ['fields', 'Scene'],
  ['json', 'JSON'],
] as const;

export function JobForm({ endpointId }: { endpointId: string }): JSX.Element {
  const { refresh } = useService();
  const [typed, setTyped] = useState(nothingTyped);
  const [terms, setTerms] = useState(noTerms);
  const [submitted, setSubmitted] = useState<string>();
  const sending = useSending(async () => {
    const input = inputOf(typed);
    const asked = termsOf(terms);
    if ('problems' in input || 'problems' in asked)
      return [input, asked].flatMap((read) => ('problems' in read ? read.problems : []));
    const path = `endpoints/${encodeURIComponent(endpointId)}/jobs`;
    setSubmitted((await ask<{ id: string }>('POST', path, { input: input.value, ...asked.terms })).id);
    void refresh();
    return [];
  });
  const { problems, setProblems, isBusy } = sending;
  const turn = (way: TypedInput['way']): void => {
    const next = turned(typed, way);
    setProblems('problems' in next ? next.problems : []);
    if ('value' in next) setTyped(next.value);
  };
  const problemOf = (field: string): string => problems.find((each) => each.field === field)?.text ?? '';
  const others = problems.filter(
    ({ field }) => field !== 'json' && !(field in typed.fields) && !(field in terms),
  );
  return (
    <>
      <Form sending={sending} class="stack">
        <Tabs label="How the input is given" tabs={ways} chosen={typed.way} onChoose={turn}>
          {typed.way === 'fields' ? (
            <SceneFields
              fields={typed.fields}
              problemOf={problemOf}
              onFields={(change) => setTyped({ ...typed, fields: { ...typed.fields, ...change } })}
            />
          ) : (
            <JsonField
              text={typed.text}
              problem={problemOf('json')}
              onText={(text) => setTyped({ ...typed, text })}
            />
          )}
        </Tabs>
        <JobTermsFields
          endpointId={endpointId}
          terms={terms}
          problemOf={problemOf}
          onTerms={(change) => setTerms({ ...terms, ...change })}
        />
        <OtherProblems texts={others.map(({ text }) => text)} />
        <div class="buttons">
          <button type="submit" class="primary" aria-disabled={isBusy}>
            Submit job
          </button>
        </div>
      </Form>
      {submitted !== undefined && <FollowedJob key={submitted} id={submitted} />}
    </>
  );
}

interface JsonProps {
  text: string;
  problem: string;
  onText(text: string): void;
}

function JsonField({ text, problem, onText }: JsonProps): JSX.Element {
  return (
    <Field label="Input" hint="The whole input of the job, an object." problem={problem}>
      {(attributes) => (
        <textarea
          {...attributes}
          class="code"
          rows={8}
          spellcheck={false}
          value={text}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface SceneProps {
  fields: InputFields;
  problemOf(field: string): string;
  onFields(change: Partial<InputFields>): void;
}

function SceneFields({ fields, problemOf, onFields }: SceneProps): JSX.Element {
  return (
    <>
      <Field label="Scene" hint="The prompt." problem={problemOf('scene')}>
        {(attributes) => (
          <textarea
            {...attributes}
            rows={3}
            dir="auto"
            value={fields.scene}
            onInput={(event) => onFields({ scene: event.currentTarget.value })}
          />
        )}
      </Field>
      <div class="row">
        {(['seed', 'width', 'height'] as const).map((name) => (
          <TextField
            key={name}
            class="tiny"
            label={{ seed: 'Seed', width: 'Width', height: 'Height' }[name]}
            inputMode="numeric"
            problem={problemOf(name)}
            value={fields[name]}
            onText={(text) => onFields({ [name]: text })}
          />
        ))}
      </div>
    </>
  );
}

/** A job that was just submitted, until it is done. */
function FollowedJob({ id }: { id: string }): JSX.Element {
  const now = useNow(useService().aheadMs, 1_000);
  const [isSettled, setIsSettled] = useState(false);
  const path = `jobs/${encodeURIComponent(id)}`;
  const { data: job, refused, refresh } = usePolled<JobView>(path, isSettled ? 30_000 : 1_000);
  const settled = job !== undefined && statusWords(job.status).isSettled;
  if (settled !== isSettled) setIsSettled(settled);
  const took = job === undefined ? null : executionWords(job, now);
  return (
    <section class="followed stack" aria-label="The job you submitted">
      <div class="followed-head">
        <span role="status">
          {job === undefined ? (
            (refused?.message ?? 'Submitted.')
          ) : (
            <Mark mood={statusWords(job.status).mood}>{statusWords(job.status).word}</Mark>
          )}
        </span>
        {job !== undefined && (
          <span class="soft small-text">
            waited {delayWords(job, now)}
            {took !== null && ` · ${took}`}
          </span>
        )}
        <a class="small-text" href={to.job(id)}>
          All about job {id}
        </a>
        {job !== undefined && <JobActions job={job} onDone={refresh} />}
      </div>
      {job !== undefined && job.error !== null && <LongText label="Error" text={job.error} isBad />}
      {job !== undefined && <JobPictures job={job} />}
    </section>
  );
}

interface Props<T extends string> {
  label: string;
  tabs: readonly (readonly [T, string])[];
  chosen: T;
  onChoose(tab: T): void;
  children: ComponentChildren;
}

/** Arrow keys go from tab to tab. */
function Tabs<T extends string>({ label, tabs, chosen, onChoose, children }: Props<T>): JSX.Element {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const at = tabs.findIndex(([tab]) => tab === chosen);
    const index = (at + step + tabs.length) % tabs.length;
    const next = tabs[index];
    if (next === undefined) return;
    onChoose(next[0]);
    list.current?.querySelectorAll('button')[index]?.focus();
  };
  return (
    <>
      <div ref={list} class="tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {tabs.map(([tab, words]) => (
          <button
            key={tab}
            id={`${id}-${tab}`}
            type="button"
            role="tab"
            aria-selected={tab === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={tab === chosen ? 0 : -1}
            onClick={() => onChoose(tab)}
          >
            {words}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} class="stack" role="tabpanel" aria-labelledby={`${id}-${chosen}`}>
        {children}
      </div>
    </>
  );
}
