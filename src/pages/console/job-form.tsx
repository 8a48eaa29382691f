/** Submits a job to an endpoint, and shows what comes of it. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ask, Refused, troubleWords, type Problem } from './ask.ts';
import { Field, TextField, useFirstProblem } from './field.tsx';
import { FollowedJob } from './followed-job.tsx';
import { fieldsOf, inputOf, readInput, type InputFields, type JobInput, type Read } from './job-input.ts';
import { useService } from './service.ts';
import { Tabs } from './tabs.tsx';

type Way = 'fields' | 'json';

const ways = [
  ['fields', 'Scene'],
  ['json', 'JSON'],
] as const;

interface Typed {
  way: Way;
  fields: InputFields;
  /** Keys of the input that have no field. */
  others: JobInput;
  text: string;
}

const nothingTyped: Typed = {
  way: 'fields',
  fields: { scene: '', seed: '', width: '', height: '' },
  others: {},
  text: '',
};

export function JobForm({ endpointId }: { endpointId: string }): JSX.Element {
  const { refresh } = useService();
  const [typed, setTyped] = useState(nothingTyped);
  const [problems, setProblems] = useState<Problem[]>([]);
  const [submitted, setSubmitted] = useState<string>();
  const [isBusy, setIsBusy] = useState(false);
  const form = useFirstProblem(problems);
  const read = (): Read<JobInput> =>
    typed.way === 'json' ? readInput(typed.text) : inputOf(typed.fields, typed.others);
  const submit = async (): Promise<void> => {
    const input = read();
    if ('problems' in input) return setProblems(input.problems);
    setIsBusy(true);
    setProblems([]);
    try {
      const path = `endpoints/${encodeURIComponent(endpointId)}/jobs`;
      setSubmitted((await ask<{ id: string }>('POST', path, { input: input.value })).id);
      void refresh();
    } catch (error) {
      setProblems(problemsIn(error));
    } finally {
      setIsBusy(false);
    }
  };
  const turn = (way: Way): void => {
    if (way === typed.way) return;
    const next = turned(typed, way);
    if ('problems' in next) setProblems(next.problems);
    else {
      setProblems([]);
      setTyped(next.value);
    }
  };
  const problemOf = (field: string): string => problems.find((each) => each.field === field)?.text ?? '';
  return (
    <>
      <form
        ref={form}
        class="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <Tabs label="How the input is given" tabs={ways} chosen={typed.way} onChoose={turn}>
          {typed.way === 'fields' ? (
            <SceneFields
              fields={typed.fields}
              problemOf={problemOf}
              onFields={(change) => setTyped({ ...typed, fields: { ...typed.fields, ...change } })}
            />
          ) : (
            <Field label="Input" hint="The whole input of the job, an object." problem={problemOf('json')}>
              {(attributes) => (
                <textarea
                  {...attributes}
                  class="code"
                  rows={8}
                  spellcheck={false}
                  value={typed.text}
                  onInput={(event) => setTyped({ ...typed, text: event.currentTarget.value })}
                />
              )}
            </Field>
          )}
        </Tabs>
        {problemOf('') !== '' && (
          <p class="problem problems" role="alert" tabIndex={-1}>
            {problemOf('')}
          </p>
        )}
        <div class="buttons">
          <button type="submit" class="primary" disabled={isBusy}>
            Submit job
          </button>
        </div>
      </form>
      {submitted !== undefined && <FollowedJob key={submitted} id={submitted} />}
    </>
  );
}

/** Beside a field where one is named, else before the button. */
function problemsIn(error: unknown): Problem[] {
  const known = error instanceof Refused ? error.problems : [];
  const fields = known.map(({ field, text }) => ({ field: field.replace(/^input\./, ''), text }));
  const placed = fields.filter(({ field }) => field in nothingTyped.fields);
  return placed.length > 0 ? placed : [{ field: '', text: troubleWords(error) }];
}

/** What was typed in one way, for the other. */
function turned(typed: Typed, way: Way): Read<Typed> {
  if (way === 'fields') {
    const input = readInput(typed.text);
    return 'problems' in input ? input : { value: { ...typed, ...fieldsOf(input.value), way } };
  }
  const input = inputOf(typed.fields, typed.others);
  const value = 'value' in input ? input.value : { ...typed.others, ...filled(typed.fields) };
  return { value: { ...typed, way, text: JSON.stringify(value, null, 2) } };
}

function filled(fields: InputFields): JobInput {
  const named = Object.entries({ ...fields, scene: fields.scene || 'A lighthouse on a cliff at dusk' });
  return Object.fromEntries(named.filter(([, text]) => text !== ''));
}

interface SceneProps {
  fields: InputFields;
  problemOf(field: string): string;
  onFields(change: Partial<InputFields>): void;
}

function SceneFields({ fields, problemOf, onFields }: SceneProps): JSX.Element {
  return (
    <>
      <Field label="Scene" hint="What is to be seen, in words." problem={problemOf('scene')}>
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
            class="short"
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
