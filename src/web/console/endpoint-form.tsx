/** The form that creates or edits an endpoint. Its fields come from the schema that the service validates with. */
import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { EndpointView, FieldSchema, WorkloadForm } from '../../protocol/console-data.ts';
import { idOfName, runPath } from '../../protocol/paths.ts';
import { counted } from '../shared/number-words.ts';
import { ask, untilKnown, usePolled } from './ask.ts';
import { Card, NothingHere, Waiting } from './pieces.tsx';
import { to, useEndpoint, useService } from './route.ts';
import {
  isSection,
  problemAt,
  sectionOf,
  withKey,
  workloadIn,
  type Keys,
  type PartProps,
} from './endpoint-draft.ts';
import { sectionInputs, WorkloadChoice } from './endpoint-inputs.tsx';
import { Form, OtherProblems, useSending, Coded, labelOf, sentence, TypedField } from './form.tsx';

export function NewPage(): JSX.Element {
  const arrive = useArrival();
  return (
    <>
      <h1>New endpoint</h1>
      <EndpointForm
        keys={useService().fields.begun}
        isNew
        action="Create endpoint"
        back={to.overview}
        onSave={async (form) => arrive(await ask<EndpointView>('POST', 'endpoints', form), 'created')}
      />
    </>
  );
}

/**
 * Returns a function that shows an endpoint's page with a message, once the overview contains the endpoint. If the user
 * has gone to another page meanwhile, that page shows the message.
 */
function useArrival(): (endpoint: EndpointView, done: string) => Promise<void> {
  const { refresh, say } = useService();
  const isHere = useRef(true);
  useLayoutEffect(
    () => () => {
      isHere.current = false;
    },
    [],
  );
  return async ({ settings: { id, name } }, done) => {
    await refresh();
    const place = isHere.current ? to.endpoint(id) : location.hash;
    say(`Endpoint “${name}” is ${done}.`, place);
    location.hash = place;
  };
}

export function EditPage({ id }: { id: string }): JSX.Element {
  const arrive = useArrival();
  const { overview } = useService();
  const opened = useEndpoint(id);
  const path = `endpoints/${encodeURIComponent(id)}`;
  // The form keeps the endpoint as it was when it was opened, so that nothing overwrites what the user types.
  const form = usePolled<Keys>(`${path}/form`, untilKnown);
  if (opened === undefined)
    return <NothingHere title={`Endpoint ${id}`} text="There is no such endpoint." back={to.overview} />;
  if (opened.origin === 'file')
    return (
      <NothingHere
        title={opened.settings.name}
        text={
          overview.file === null
            ? 'This is the default endpoint of a service without a file.'
            : `Edit this endpoint in ${overview.file}.`
        }
        back={to.endpoint(id)}
      />
    );
  return (
    <>
      <h1>
        Edit <bdi>{opened.settings.name}</bdi>
      </h1>
      <Waiting polled={form} />
      {form.data !== undefined && (
        <EndpointForm
          keys={form.data}
          isNew={false}
          action="Save changes"
          back={to.endpoint(id)}
          onSave={async (keys) => arrive(await ask<EndpointView>('PUT', path, keys), 'changed')}
        />
      )}
    </>
  );
}

interface Props {
  keys: Keys;
  isNew: boolean;
  /** Text of the submit button. */
  action: string;
  /** Link of the cancel button. */
  back: string;
  /** Rejects with the problems that the service found. */
  onSave(endpoint: Keys): Promise<void>;
}

function EndpointForm({ keys: first, isNew, action, back, onSave }: Props): JSX.Element {
  const { workloads } = useService().fields;
  const [{ keys, workload }, setState] = useState({ keys: first, workload: workloadIn(workloads, first) });
  const sending = useSending(() => onSave(endpointToSend(keys, workload)));
  const { problems, isBusy } = sending;
  const part: PartProps = {
    keys,
    workload,
    problems,
    onChange: (change, chosen) =>
      setState((before) => ({
        keys: { ...before.keys, ...change },
        workload: chosen ?? before.workload,
      })),
  };
  const shown = new Set(['name', 'id', workload.key, ...shownKeys(workload)]);
  return (
    <Form sending={sending} class="stack wide">
      <OtherProblems
        texts={problems.filter(({ field }) => !shown.has(field.split('.')[0] ?? '')).map(({ text }) => text)}
      />
      <WorkloadChoice {...part} />
      <Names {...part} isNew={isNew} />
      {workload.note !== undefined && <p class="message calm">{workload.note}</p>}
      {workload.cards.map((card) => (
        <KeysCard key={card.title} {...part} {...card} />
      ))}
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

/** Returns the keys to send. The service reads their texts, and finds all problems. */
function endpointToSend(keys: Keys, workload: WorkloadForm): Keys {
  const { key, values, cards } = workload;
  const schemas = Object.fromEntries(cards.flatMap(({ fields }) => fields));
  // An empty object lets the service report each missing field.
  const empty = schemas[key]?.properties === undefined ? '' : {};
  const chosen = values === undefined ? (keys[key] ?? empty) : keys[key];
  const given: Keys = { ...keys, [key]: chosen };
  return Object.fromEntries(['name', 'id', key, ...shownKeys(workload)].map((name) => [name, given[name]]));
}

function shownKeys({ cards }: WorkloadForm): string[] {
  return cards.flatMap(({ fields }) => fields.map(([key]) => key));
}

function KeysCard({ title, isFolded, fields, ...part }: PartProps & WorkloadForm['cards'][number]) {
  if (fields.length === 0) return null;
  const fieldsOfCard = (
    <div class="fields">
      {fields.map(([name, schema]) => (
        <KeyFields key={name} {...part} name={name} schema={schema} />
      ))}
    </div>
  );
  if (!isFolded) return <Card title={title}>{fieldsOfCard}</Card>;
  const isWrong = fields.some(([name]) => problemAt(part.problems, name) !== '');
  const isSet = fields.flatMap(([name, schema]) => settingWords(name, schema, part.keys[name]));
  return (
    <details class="card fold" open={isWrong || undefined}>
      <summary>
        <h2>{title}</h2> <small>{isSet.join(' · ') || 'Nothing set'}</small>
      </summary>
      {fieldsOfCard}
    </details>
  );
}

/** Says what is set in a folded card. Texts of several lines, such as variables, are only counted. */
function settingWords(path: string, schema: FieldSchema, value: unknown): string[] {
  if (isSection(value))
    return Object.entries(value).flatMap(([key, inner]) =>
      settingWords(`${path}.${key}`, schema.properties?.[key] ?? {}, inner),
    );
  if (value === true) return [labelOf(path, schema)];
  if (typeof value !== 'string' || value === '') return [];
  const isLong = schema.input?.rows !== undefined;
  return [`${labelOf(path, schema)}: ${isLong ? counted(value.trim().split('\n').length, 'line') : value}`];
}

function KeyFields({ name, ...part }: PartProps & { name: string; schema: FieldSchema }): JSX.Element {
  const { keys, schema, problems, onChange } = part;
  const Input = sectionInputs[name];
  if (Input !== undefined) return <Input {...part} />;
  const fieldOf = (path: string, each: FieldSchema, value: unknown, onValue: (value: unknown) => void) => (
    <TypedField
      key={path}
      path={path}
      schema={each}
      value={value}
      problem={problemAt(problems, path)}
      onValue={onValue}
    />
  );
  if (schema.properties === undefined)
    return fieldOf(name, schema, keys[name], (value) => onChange({ [name]: value }));
  const section = sectionOf(keys[name]);
  const ofAll = problems.filter(({ field }) => field === name).map(({ text }) => text);
  return (
    <>
      <p class="hint whole">
        <Coded text={sentence(schema.description)} />
      </p>
      <OtherProblems texts={ofAll} />
      {Object.entries(schema.properties).map(([key, each]) =>
        fieldOf(`${name}.${key}`, each, section[key], (value) =>
          onChange({ [name]: withKey(section, key, value) }),
        ),
      )}
    </>
  );
}

function Names({ isNew, ...part }: PartProps & { isNew: boolean }): JSX.Element {
  const { keys, problems, onChange } = part;
  const [isIdTyped, setIsIdTyped] = useState(false);
  const { fields } = useService();
  const id = typeof keys['id'] === 'string' ? keys['id'] : '';
  return (
    <Card title="Name and address">
      <div class="fields">
        <TypedField
          path="name"
          schema={fields.name}
          value={keys['name']}
          problem={problemAt(problems, 'name')}
          onValue={(value) =>
            onChange({
              name: value,
              ...(isNew && !isIdTyped && { id: typeof value === 'string' ? idOfName(value) : undefined }),
            })
          }
        />
        {isNew ? (
          <TypedField
            path="id"
            schema={{
              ...fields.id,
              description:
                id === '' ? 'Part of its URL' : `Part of its URL: ${location.origin}${runPath('v2', id)}`,
              examples: ['as the name'],
            }}
            value={keys['id']}
            problem={problemAt(problems, 'id')}
            onValue={(value) => {
              setIsIdTyped(value !== undefined);
              onChange({ id: value });
            }}
          />
        ) : (
          <p class="field">
            <span>Id</span>
            <code>{id}</code>
            <span class="problem">{problemAt(problems, 'id')}</span>
          </p>
        )}
      </div>
    </Card>
  );
}
