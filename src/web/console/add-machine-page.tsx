/** Adding a machine: a key for its worker, the command with everything filled in, and its first sign of life. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { EndpointView, KeyForm, KeyView } from '../../protocol/console-data.ts';
import { Select } from '../shared/choices.tsx';
import { Copyable } from '../shared/text.tsx';
import { ask } from './ask.ts';
import { joinWords } from './command-words.ts';
import { Field, TextField } from './field.tsx';
import { Form, OtherProblems, problemOf, useSending } from './form.tsx';
import { Card, Mark } from './pieces.tsx';
import { to } from './route.ts';
import { useService } from './service.ts';

/** What the worker is to run: what its owner types, not what the service names. */
interface Wanted {
  endpoint: string;
  name: string;
  allow: string;
}

interface Made {
  wanted: Wanted;
  key: string;
  /** The workers that were there before. */
  known: ReadonlySet<string>;
}

export function AddMachinePage(): JSX.Element {
  const { endpoints } = useService().overview;
  const [made, setMade] = useState<Made>();
  if (endpoints.length === 0)
    return (
      <>
        <h1>Add a machine</h1>
        <p>
          A machine works for an endpoint. <a href={to.new}>Create one first</a>.
        </p>
      </>
    );
  return (
    <>
      <h1>Add a machine</h1>
      <div class="stack wide">
        {made === undefined ? <Choose endpoints={endpoints} onMade={setMade} /> : <Start made={made} />}
      </div>
    </>
  );
}

function Choose({ endpoints, onMade }: { endpoints: EndpointView[]; onMade(made: Made): void }): JSX.Element {
  const first = endpoints.find(({ settings }) => settings.remote === true) ?? endpoints[0];
  const [wanted, setWanted] = useState<Wanted>({
    endpoint: first?.settings.id ?? '',
    name: '',
    allow: allowed(first),
  });
  const sending = useSending(async () => {
    if (wanted.name.trim() === '') return [{ field: 'name', text: 'Give the machine a name.' }];
    const form: KeyForm = { name: wanted.name.trim(), kind: 'worker', endpoints: [wanted.endpoint] };
    const { key } = await ask<{ key: string; view: KeyView }>('POST', 'keys', form);
    const workers = endpoints.find(({ settings }) => settings.id === wanted.endpoint)?.workers ?? [];
    return onMade({ wanted, key, known: new Set(workers.map(({ id }) => id)) });
  });
  const { problems, isBusy } = sending;
  return (
    <Card title="1. What it is for">
      <Form sending={sending}>
        <TextField
          label="Name of the machine"
          hint="Its key is called this. Revoke the key, and the machine is out."
          problem={problemOf(problems, 'name')}
          value={wanted.name}
          onText={(name) => setWanted({ ...wanted, name })}
        />
        <Field
          label="Endpoint"
          hint="The key is good for no other."
          problem={problemOf(problems, 'endpoints')}
        >
          {(attributes) => (
            <Select
              attributes={attributes}
              options={endpoints.map(({ settings }) => [settings.id, settings.name] as const)}
              chosen={wanted.endpoint}
              onChoose={(id) => {
                const chosen = endpoints.find(({ settings }) => settings.id === id);
                setWanted({ ...wanted, endpoint: id, allow: allowed(chosen) });
              }}
            />
          )}
        </Field>
        <TextField
          label="It runs"
          hint="scene, command:./worker.py or image:registry/name. Its owner decides: nothing else is run there."
          problem={problemOf(problems, 'allow')}
          value={wanted.allow}
          onText={(allow) => setWanted({ ...wanted, allow })}
        />
        <OtherProblems
          texts={problems
            .filter(({ field }) => !/^(name|endpoints|allow)\b/.test(field))
            .map(({ text }) => text)}
        />
        <p>
          <button type="submit" class="primary" aria-disabled={isBusy}>
            Create its key and command
          </button>
        </p>
      </Form>
    </Card>
  );
}

/** What fits the endpoint, as `nightrender work --allow` takes it. */
function allowed(endpoint: EndpointView | undefined): string {
  const { quickDeploy, image, command } = endpoint?.settings ?? {};
  if (quickDeploy === 'painter') return 'painter';
  if (image !== undefined) return `image:${image}`;
  return command === undefined ? 'scene' : `command:${joinWords(command)}`;
}

function Start({ made: { wanted, key, known } }: { made: Made }): JSX.Element {
  const { overview } = useService();
  const address = location.origin;
  const words = ['nightrender', 'work', address, '--endpoint', wanted.endpoint, '--allow', wanted.allow];
  if (address.startsWith('http:') && !isLoopback(address)) words.push('--insecure');
  const endpoint = overview.endpoints.find(({ settings }) => settings.id === wanted.endpoint);
  const arrived = endpoint?.workers.find(({ id, kind }) => kind === 'remote' && !known.has(id));
  return (
    <>
      <Card title="2. Start the worker there">
        <p>
          On the machine, with Node 20 or later and nightrender installed. The key is shown only now; the
          service stores a digest.
        </p>
        <Copyable label="On the machine" text={`export NIGHTRENDER_WORKER_KEY=${key}\n${joinWords(words)}`} />
        <p class="hint">
          With several GPUs start one for each, with <code>--gpu 0</code>, <code>--gpu 1</code> and so on.
        </p>
      </Card>
      <Card title="3. Its first sign of life">
        <div role="status">
          {arrived === undefined ? (
            <Mark tone="wait">Waiting for “{wanted.name}” …</Mark>
          ) : (
            <div class="stack">
              <Mark tone="good">
                It is here: <bdi>{arrived.machine?.host ?? arrived.id}</bdi>
              </Mark>
              <p>
                <a class="button primary" href={to.machines}>
                  See all machines
                </a>
              </p>
            </div>
          )}
        </div>
      </Card>
    </>
  );
}

function isLoopback(address: string): boolean {
  return /^https?:\/\/(localhost|127\.|\[::1\])/.test(address);
}
