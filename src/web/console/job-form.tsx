/** Submits a job to an endpoint, and shows what comes of it. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { CatalogueEntry, EndpointForm } from '../../protocol/console-data.ts';
import { Choices } from '../shared/choices.tsx';
import { useNow } from '../shared/hooks.ts';
import { LongText } from '../shared/text.tsx';
import { ask, type Problem } from './ask.ts';
import { cardOf } from './endpoint-words.ts';
import { Option, TextField } from './field.tsx';
import { Form, OtherProblems, problemOf, useSending } from './form.tsx';
import {
  hasScene,
  inputOf,
  noTerms,
  nothingTyped,
  termsOf,
  turned,
  type InputFields,
  type TypedInput,
  type TypedTerms,
} from './job-input.ts';
import { JobActions, JobPictures, useJob } from './job-parts.tsx';
import { delayWords, executionWords, statusWords } from './job-words.ts';
import { Mark } from './pieces.tsx';
import { to } from './route.ts';
import { useService } from './service.ts';

const ways = [
  ['fields', 'Scene'],
  ['json', 'JSON'],
] as const;

export function JobForm({ settings }: { settings: EndpointForm }): JSX.Element {
  const { refresh, catalogue } = useService();
  const isScene = hasScene(settings);
  const card = isScene ? undefined : cardOf(settings, catalogue);
  const [typed, setTyped] = useState<TypedInput>({
    ...nothingTyped,
    way: isScene ? 'fields' : 'json',
    text: card === undefined ? '' : JSON.stringify(card.example, null, 2),
  });
  const [terms, setTerms] = useState(noTerms);
  const [submitted, setSubmitted] = useState<string>();
  const sending = useSending(async () => {
    const input = inputOf(typed);
    const asked = termsOf(terms);
    if ('problems' in input || 'problems' in asked)
      return [input, asked].flatMap((read) => ('problems' in read ? read.problems : []));
    const path = `endpoints/${encodeURIComponent(settings.id)}/jobs`;
    setSubmitted((await ask<{ id: string }>('POST', path, { input: input.value, ...asked.value })).id);
    return void refresh();
  });
  const { problems, setProblems, isBusy } = sending;
  const turn = (way: TypedInput['way']): void => {
    const next = turned(typed, way);
    setProblems('problems' in next ? next.problems : []);
    if ('value' in next) setTyped(next.value);
  };
  const others = problems.filter(
    ({ field }) => field !== 'json' && !(field in typed.fields) && !(field in terms),
  );
  return (
    <>
      <Form sending={sending}>
        {isScene && (
          <Choices label="How the input is given" options={ways} chosen={typed.way} onChoose={turn} />
        )}
        {typed.way === 'fields' ? (
          <SceneFields
            fields={typed.fields}
            problems={problems}
            onFields={(change) => setTyped({ ...typed, fields: { ...typed.fields, ...change } })}
          />
        ) : (
          <TextField
            label="Input"
            hint={isScene ? 'The whole input of the job.' : inputHint(card)}
            placeholder={isScene ? undefined : '{"prompt": "A lighthouse on a cliff at dusk"}'}
            problem={problemOf(problems, 'json')}
            rows={isScene || card !== undefined ? 8 : 4}
            isCode
            value={typed.text}
            onText={(text) => setTyped({ ...typed, text })}
          />
        )}
        <TermsFields
          settings={settings}
          terms={terms}
          problems={problems}
          onTerms={(change) => setTerms({ ...terms, ...change })}
        />
        <OtherProblems texts={others.map(({ text }) => text)} />
        <p>
          <button type="submit" class="primary" aria-disabled={isBusy}>
            Submit job
          </button>
        </p>
      </Form>
      {submitted !== undefined && <FollowedJob key={submitted} id={submitted} />}
    </>
  );
}

function inputHint(card: CatalogueEntry | undefined): string {
  if (card === undefined) return 'JSON, as your worker reads it.';
  const keys = Object.entries(card.input).map(([key, means]) => `${key}: ${means}`);
  return `JSON. ${keys.join('. ')}.`;
}

interface SceneProps {
  fields: InputFields;
  problems: Problem[];
  onFields(change: Partial<InputFields>): void;
}

function SceneFields({ fields, problems, onFields }: SceneProps): JSX.Element {
  return (
    <>
      <TextField
        label="Scene"
        placeholder="A lighthouse on a cliff at dusk"
        problem={problemOf(problems, 'scene')}
        rows={3}
        value={fields.scene}
        onText={(scene) => onFields({ scene })}
      />
      <div class="row top">
        {(['seed', 'width', 'height'] as const).map((name) => (
          <TextField
            key={name}
            class="tiny"
            label={{ seed: 'Seed', width: 'Width', height: 'Height' }[name]}
            placeholder={{ seed: 'auto', width: '768', height: '512' }[name]}
            inputMode="numeric"
            problem={problemOf(problems, name)}
            value={fields[name]}
            onText={(text) => onFields({ [name]: text })}
          />
        ))}
      </div>
    </>
  );
}

interface TermsProps {
  settings: EndpointForm;
  terms: TypedTerms;
  problems: Problem[];
  onTerms(change: Partial<TypedTerms>): void;
}

/** Folded away, as few jobs need other terms than their endpoint's. */
function TermsFields({ settings, terms, problems, onTerms }: TermsProps): JSX.Element {
  const fields = [
    ['executionTimeout', 'Execution time-out', 'The longest it may run.', settings.executionTimeout],
    ['ttl', 'Time to live', 'From submission to end.', settings.ttl],
    ['webhook', 'Webhook', 'Receives the job when it ends.', 'https://…'],
  ] as const;
  const isWrong = fields.some(([field]) => problemOf(problems, field) !== '');
  return (
    <details open={isWrong || undefined}>
      <summary>Time-outs, priority, webhook</summary>
      <div class="row top">
        {fields.map(([field, label, hint, placeholder]) => (
          <TextField
            key={field}
            class={field === 'webhook' ? '' : 'short'}
            label={label}
            hint={hint}
            placeholder={placeholder}
            problem={problemOf(problems, field)}
            value={terms[field]}
            onText={(text) => onTerms({ [field]: text })}
          />
        ))}
      </div>
      <Option checked={terms.isLowPriority} onCheck={(isLowPriority) => onTerms({ isLowPriority })}>
        Low priority: after all other jobs
      </Option>
    </details>
  );
}

/** A job that was just submitted, until it is done. */
function FollowedJob({ id }: { id: string }): JSX.Element {
  const now = useNow(useService().aheadMs, 1_000);
  const { data: job, refused, refresh } = useJob(id);
  const took = job === undefined ? null : executionWords(job, now);
  return (
    <section class="followed stack" aria-label="The job you submitted">
      <div class="row">
        <span role="status">
          {job === undefined ? (
            (refused?.message ?? 'Submitted.')
          ) : (
            <Mark tone={statusWords(job.status).tone}>{statusWords(job.status).word}</Mark>
          )}
        </span>
        {job !== undefined && (
          <small>
            waited {delayWords(job, now)}
            {took !== null && ` · ${took}`}
          </small>
        )}
        <a class="hint" href={to.job(id)}>
          All about job {id}
        </a>
        {job !== undefined && <JobActions job={job} onDone={refresh} />}
      </div>
      {job !== undefined && job.error !== null && <LongText label="Error" text={job.error} isBad />}
      {job !== undefined && <JobPictures job={job} />}
    </section>
  );
}
