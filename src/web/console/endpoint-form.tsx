/** Creating an endpoint, and changing one, in a form made of the schema that the service checks it by: a key without an input of its own gets one by its type. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { EndpointView, FieldSchema } from '../../protocol/console-data.ts';
import { ask } from './ask.ts';
import { NothingHere, Card } from './pieces.tsx';
import { to } from './route.ts';
import { useEndpoint, useService } from './service.ts';
import {
  formOf,
  idFromName,
  problemAt,
  sectionOf,
  usedKeys,
  withKey,
  workloadKeyOf,
  type Draft,
  type PartProps,
} from './endpoint-draft.ts';
import { ClusterFields, GpuFields, WorkersFields, WorkloadChoice } from './endpoint-inputs.tsx';
import { Coded } from './field.tsx';
import { Form, OtherProblems, useSending } from './form.tsx';
import { sentence, TypedField } from './typed-field.tsx';

export function NewPage(): JSX.Element {
  const arrive = useArrival();
  const { id: _, name: _name, ...begun } = useService().schema.default;
  return (
    <>
      <h1>New endpoint</h1>
      <EndpointForm
        draft={begun}
        isNew
        action="Create endpoint"
        back={to.overview}
        onSave={async (form) => arrive(await ask<EndpointView>('POST', 'endpoints', form), 'created')}
      />
    </>
  );
}

/** Goes to the page of an endpoint once there is something to be shown of it. */
function useArrival(): (endpoint: EndpointView, done: string) => Promise<void> {
  const { refresh, say } = useService();
  return async ({ settings: { id, name } }, done) => {
    await refresh();
    say(`Endpoint “${name}” is ${done}.`, to.endpoint(id));
    location.hash = to.endpoint(id);
  };
}

export function EditPage({ id }: { id: string }): JSX.Element {
  const arrive = useArrival();
  const { overview } = useService();
  const endpoint = useEndpoint(id);
  // What is typed is not taken away by what the service tells meanwhile.
  const [opened] = useState(endpoint);
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
      <EndpointForm
        draft={opened.settings}
        isNew={false}
        action="Save changes"
        back={to.endpoint(id)}
        onSave={async (form) =>
          arrive(await ask<EndpointView>('PUT', `endpoints/${encodeURIComponent(id)}`, form), 'changed')
        }
      />
    </>
  );
}

interface Props {
  draft: Draft;
  isNew: boolean;
  /** What is done, on the button. */
  action: string;
  /** Where it is left for. */
  back: string;
  /** Rejects with what the service has against it. */
  onSave(form: Draft): Promise<void>;
}

/** In which card a key is; the last one has those that are in none. */
const cards: [title: string, keys: string[]][] = [
  [
    'Workload',
    [
      'blender',
      'image',
      'arguments',
      'network',
      'serviceUrl',
      'capabilities',
      'command',
      'cwd',
      'module',
      'comfyui',
    ],
  ],
  ['Workers and GPU', ['workers', 'quickStart', 'gpu', 'on', 'memory', 'cpus']],
  ['Limits of jobs', ['executionTimeout', 'ttl', 'retries', 'maxQueued']],
  ['Replacing workers', ['recycle', 'stall']],
  ['Environment', ['environment']],
  ['More', []],
];

/** In a card, or above all. */
const placed = new Set([...cards.flatMap(([, keys]) => keys), 'name', 'id', 'quickDeploy', 'remote']);

const inputs: Record<string, (part: PartProps) => JSX.Element> = {
  workers: WorkersFields,
  on: ClusterFields,
  gpu: GpuFields,
};

function EndpointForm({ draft: first, isNew, action, back, onSave }: Props): JSX.Element {
  const { schema } = useService();
  const [{ draft, kind }, setState] = useState({ draft: first, kind: workloadKeyOf(first) });
  const sending = useSending(async () => {
    const read = formOf({ draft, kind, schema });
    return Array.isArray(read) ? read : onSave(read);
  });
  const { problems, isBusy } = sending;
  const keys = usedKeys(schema, draft, kind);
  const part: PartProps = {
    draft,
    kind,
    schema,
    problems,
    onChange: (change, chosen) =>
      setState((before) => ({ draft: { ...before.draft, ...change }, kind: chosen ?? before.kind })),
  };
  const others = keys.filter((key) => !placed.has(key));
  return (
    <Form sending={sending} class="stack wide">
      <OtherProblems
        texts={problems
          .filter(({ field }) => !keys.includes(field.split('.')[0] ?? ''))
          .map(({ text }) => text)}
      />
      <WorkloadChoice {...part} />
      <Names {...part} isNew={isNew} />
      {kind === 'remote' && (
        <p class="message calm">
          The service starts no workers for this endpoint. Once it is created, its page shows what a worker
          elsewhere needs to pull jobs.
        </p>
      )}
      {cards.map(([title, ofCard]) => (
        <KeysCard
          key={title}
          {...part}
          title={title}
          keys={ofCard.length === 0 ? others : ofCard.filter((key) => keys.includes(key))}
        />
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

function KeysCard({ title, keys, ...part }: PartProps & { title: string; keys: string[] }) {
  if (keys.length === 0) return null;
  return (
    <Card title={title}>
      <div class="fields">
        {keys.map((name) => (
          <KeyFields key={name} {...part} name={name} />
        ))}
      </div>
    </Card>
  );
}

/** What is typed for a key, or for those that it holds. */
function KeyFields({ name, ...part }: PartProps & { name: string }): JSX.Element {
  const { draft, problems, onChange } = part;
  const { [name]: schema = {} } = part.schema.properties ?? {};
  const Input = inputs[name];
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
    return fieldOf(name, schema, draft[name], (value) => onChange({ [name]: value }));
  const section = sectionOf(draft[name]);
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

/** What an endpoint is called. */
function Names({ isNew, ...part }: PartProps & { isNew: boolean }): JSX.Element {
  const { draft, schema, problems, onChange } = part;
  const [isIdTyped, setIsIdTyped] = useState(false);
  const url = useService().overview.url.replace(/\/+$/, '');
  const id = typeof draft['id'] === 'string' ? draft['id'] : '';
  const { name, id: idSchema } = schema.properties ?? {};
  return (
    <Card title="Name and address">
      <div class="fields">
        <TypedField
          path="name"
          schema={name ?? {}}
          value={draft['name']}
          problem={problemAt(problems, 'name')}
          onValue={(value) =>
            onChange({
              name: value,
              ...(isNew && !isIdTyped && { id: idFromName(value) || undefined }),
            })
          }
        />
        {isNew ? (
          <TypedField
            path="id"
            schema={{
              ...idSchema,
              description: `Part of its URL: ${url}/v2/${id === '' ? '…' : id}/run`,
              examples: ['as the name'],
            }}
            value={draft['id']}
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
