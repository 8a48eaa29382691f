/** A form that adds a key, and a dialog that shows the new key once. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { KeyForm as NewKeyForm, KeyView } from '../../protocol/console-data.ts';
import { Select } from '../shared/choices.tsx';
import { Dialog } from '../shared/dialog.tsx';
import { Copyable } from '../shared/text.tsx';
import { ask } from './ask.ts';
import { Form, OtherProblems, problemOf, useSending, Field, Option, TextField } from './form.tsx';
import { useService } from './route.ts';

const kinds = {
  client: 'Submits jobs and reads results.',
  worker: 'Takes jobs and returns results.',
  admin: 'Does what clients do, and signs in to this console.',
} as const;

const kindOptions = (Object.keys(kinds) as (keyof typeof kinds)[]).map((kind) => [kind, kind] as const);

const limits = [
  ['requestsPerSecond', 'Requests a second', '20'],
  ['maxQueued', 'Jobs in the queue', '1000'],
  ['maxQueuedBytes', 'Size of their inputs', '100MB'],
  ['maxHeld', 'Requests at once', '50'],
] as const;

/** Fields in the collapsed part of the form. */
const terms = new Set<string>(['quota', 'price', ...limits.map(([limit]) => limit)]);

const noLimits = { requestsPerSecond: '', maxQueued: '', maxQueuedBytes: '', maxHeld: '' };
const noTerms = { quota: '', price: '', ownJobs: false, readOnly: false, ...noLimits };
const nothingTyped: NewKeyForm = { name: '', kind: 'client', endpoints: null, ...noTerms, expires: '' };

export function KeyForm({ onAdded }: { onAdded(): Promise<void> }): JSX.Element {
  const [typed, setTyped] = useState(nothingTyped);
  const [added, setAdded] = useState<{ key: string; view: KeyView }>();
  const sending = useSending(async () => {
    if (typed.endpoints?.length === 0) return [{ field: 'endpoints', text: 'Choose at least one endpoint.' }];
    setAdded(await ask<{ key: string; view: KeyView }>('POST', 'keys', typed));
    // If the user typed while the service answered, the form keeps all its text.
    setTyped((now) => (now === typed ? nothingTyped : now));
    return void onAdded();
  });
  const { problems, isBusy } = sending;
  const onType = (change: Partial<NewKeyForm>): void => setTyped({ ...typed, ...change });
  const others = problems.filter(
    ({ field }) => !/^(name|kind|endpoints|expires)\b/.test(field) && !terms.has(field),
  );
  const isWrong = problems.some(({ field }) => terms.has(field));
  return (
    <>
      <Form sending={sending}>
        <TextField
          label="Name"
          hint="Who or what uses it."
          problem={problemOf(problems, 'name')}
          value={typed.name}
          onText={(name) => onType({ name })}
        />
        <Field label="Kind" hint={kinds[typed.kind]} problem={problemOf(problems, 'kind')}>
          {(attributes) => (
            <Select
              attributes={attributes}
              options={kindOptions}
              chosen={typed.kind}
              onChoose={(kind) => onType({ kind, ...noTerms })}
            />
          )}
        </Field>
        <Scope
          chosen={typed.endpoints}
          problem={problemOf(problems, 'endpoints')}
          onChoose={(endpoints) => onType({ endpoints })}
        />
        <TextField
          label="Expires after"
          hint="How long it is valid. Leave it empty for no limit."
          placeholder="90d"
          problem={problemOf(problems, 'expires')}
          value={typed.expires ?? ''}
          onText={(expires) => onType({ expires })}
        />
        {typed.kind !== 'worker' && (
          <Option checked={typed.readOnly === true} onCheck={(readOnly) => onType({ readOnly })}>
            read-only: it sees everything and changes nothing
          </Option>
        )}
        {typed.kind === 'client' && (
          <>
            <Option checked={typed.ownJobs === true} onCheck={(ownJobs) => onType({ ownJobs })}>
              its own jobs only: it cannot see, cancel or retry those of other keys
            </Option>
            <details open={isWrong || undefined}>
              <summary>Quota, price and limits</summary>
              <TextField
                label="Quota"
                hint="Execution time a day. Leave it empty for no limit."
                placeholder="10h"
                problem={problemOf(problems, 'quota')}
                value={typed.quota ?? ''}
                onText={(quota) => onType({ quota })}
              />
              <TextField
                label="Price"
                hint="USD for a second of execution. Leave it empty for none."
                placeholder="0.0004"
                inputMode="decimal"
                problem={problemOf(problems, 'price')}
                value={typed.price ?? ''}
                onText={(price) => onType({ price })}
              />
              {limits.map(([limit, label, placeholder]) => (
                <TextField
                  key={limit}
                  label={label}
                  hint="Maximum. Leave it empty for no limit."
                  placeholder={placeholder}
                  problem={problemOf(problems, limit)}
                  value={typed[limit] ?? ''}
                  onText={(text) => onType({ [limit]: text })}
                />
              ))}
            </details>
          </>
        )}
        <OtherProblems texts={others.map(({ text }) => text)} />
        <p>
          <button type="submit" class="primary" aria-disabled={isBusy}>
            Add key
          </button>
        </p>
      </Form>
      {added !== undefined && <NewKey added={added} what="was created" onClose={() => setAdded(undefined)} />}
    </>
  );
}

interface ScopeProps {
  chosen: string[] | null;
  problem: string;
  onChoose(endpoints: string[] | null): void;
}

function Scope({ chosen, problem, onChoose }: ScopeProps): JSX.Element {
  const { endpoints } = useService().overview;
  const toggle = (id: string, isOn: boolean): void =>
    onChoose([...(chosen ?? []).filter((each) => each !== id), ...(isOn ? [id] : [])]);
  return (
    <fieldset aria-describedby="scope-problem">
      <legend>Endpoints</legend>
      <Option type="radio" name="scope" checked={chosen === null} onCheck={() => onChoose(null)}>
        all endpoints
      </Option>
      <Option
        type="radio"
        name="scope"
        aria-invalid={problem !== ''}
        checked={chosen !== null}
        onCheck={() => onChoose([])}
      >
        only these
      </Option>
      {chosen !== null && (
        <div class="scope">
          {endpoints.map(({ settings: { id, name } }) => (
            <Option key={id} checked={chosen.includes(id)} onCheck={(isOn) => toggle(id, isOn)}>
              <bdi>{name}</bdi>
            </Option>
          ))}
        </div>
      )}
      <p id="scope-problem" class="problem">
        {problem}
      </p>
    </fieldset>
  );
}

interface NewKeyProps {
  added: { key: string; view: KeyView };
  /** End of the title, such as `was created`. */
  what: string;
  onClose(): void;
}

export function NewKey({ added, what, onClose }: NewKeyProps): JSX.Element {
  return (
    <Dialog
      title={
        <>
          Key “<bdi>{added.view.name}</bdi>” {what}
        </>
      }
    >
      <p>Copy it now: it is shown only once. The service stores a digest.</p>
      <Copyable label="The new key" text={added.key} />
      <div class="row end">
        <button type="button" class="primary" onClick={onClose}>
          I have copied it
        </button>
      </div>
    </Dialog>
  );
}
