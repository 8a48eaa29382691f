/** Adds a key, and shows it the only time it can be seen. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { KeyForm as Form, KeyView } from '../console-data.ts';
import { ask, Refused, troubleWords, type Problem } from './ask.ts';
import { Copyable } from './copyable.tsx';
import { Dialog } from './dialog.tsx';
import { Field, TextField, useFirstProblem } from './field.tsx';
import { useService } from './service.ts';

const kinds = {
  client: 'client: submits jobs and reads their results',
  worker: 'worker: takes jobs and hands in results',
  admin: 'admin: everything, this console too',
} as const;

const nothingTyped: Form = { name: '', kind: 'client', endpoints: null };

export function KeyForm({ onAdded }: { onAdded(): Promise<void> }): JSX.Element {
  const [typed, setTyped] = useState(nothingTyped);
  const [problems, setProblems] = useState<Problem[]>([]);
  const [isBusy, setIsBusy] = useState(false);
  const [added, setAdded] = useState<{ key: string; view: KeyView }>();
  const form = useFirstProblem(problems);
  const add = async (): Promise<void> => {
    if (typed.endpoints?.length === 0)
      return setProblems([{ field: 'endpoints', text: 'Choose at least one endpoint.' }]);
    setIsBusy(true);
    setProblems([]);
    try {
      setAdded(await ask<{ key: string; view: KeyView }>('POST', 'keys', typed));
      setTyped(nothingTyped);
      void onAdded();
    } catch (error) {
      const known = error instanceof Refused ? error.problems : [];
      setProblems(known.length > 0 ? known : [{ field: '', text: troubleWords(error) }]);
    } finally {
      setIsBusy(false);
    }
  };
  const problemOf = (field: string): string =>
    problems.find((each) => each.field === field || each.field.startsWith(`${field}.`))?.text ?? '';
  const other = problems.find(({ field }) => !/^(name|kind|endpoints)\b/.test(field));
  return (
    <>
      <form
        ref={form}
        class="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        <TextField
          label="Name"
          hint="Who or what uses it."
          problem={problemOf('name')}
          value={typed.name}
          onText={(name) => setTyped({ ...typed, name })}
        />
        <Field label="Kind" problem={problemOf('kind')}>
          {(attributes) => (
            <select
              {...attributes}
              value={typed.kind}
              onChange={(event) => setTyped({ ...typed, kind: event.currentTarget.value as Form['kind'] })}
            >
              {Object.entries(kinds).map(([kind, words]) => (
                <option key={kind} value={kind}>
                  {words}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Scope
          chosen={typed.endpoints}
          problem={problemOf('endpoints')}
          onChoose={(endpoints) => setTyped({ ...typed, endpoints })}
        />
        {other !== undefined && (
          <p class="problem problems" role="alert" tabIndex={-1}>
            {other.text}
          </p>
        )}
        <div class="buttons">
          <button type="submit" class="primary" disabled={isBusy}>
            Add key
          </button>
        </div>
      </form>
      {added !== undefined && <NewKey added={added} onClose={() => setAdded(undefined)} />}
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
      <legend>Good for</legend>
      <label class="option">
        <input type="radio" name="scope" checked={chosen === null} onChange={() => onChoose(null)} /> all
        endpoints
      </label>
      <label class="option">
        <input
          type="radio"
          name="scope"
          checked={chosen !== null}
          aria-invalid={problem !== ''}
          onChange={() => onChoose([])}
        />{' '}
        only these
      </label>
      {chosen !== null && (
        <div class="scope">
          {endpoints.map(({ settings: { id, name } }) => (
            <label key={id} class="option">
              <input
                type="checkbox"
                checked={chosen.includes(id)}
                onChange={(event) => toggle(id, event.currentTarget.checked)}
              />{' '}
              <bdi>{name}</bdi>
            </label>
          ))}
        </div>
      )}
      <p id="scope-problem" class="problem">
        {problem}
      </p>
    </fieldset>
  );
}

function NewKey({ added, onClose }: { added: { key: string; view: KeyView }; onClose(): void }): JSX.Element {
  return (
    <Dialog
      title={
        <>
          Key “<bdi>{added.view.name}</bdi>” is made
        </>
      }
    >
      <p>Copy it now: it is shown this once, and the service keeps only what is needed to recognise it.</p>
      <Copyable label="The new key" text={added.key} />
      <div class="buttons end">
        <button type="button" class="primary" onClick={onClose}>
          I have copied it
        </button>
      </div>
    </Dialog>
  );
}
