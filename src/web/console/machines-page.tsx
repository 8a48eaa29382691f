/** The machines that workers run on: their hardware, state and work, and a guide to add one. */
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { EndpointView, MachineView, WorkerView, KeyForm, KeyView } from '../../protocol/console-data.ts';
import { useNow } from '../shared/hooks.ts';
import { byteWords, counted, durationWords } from '../shared/number-words.ts';
import { LongText, Copyable } from '../shared/text.tsx';
import { ask } from './ask.ts';
import { workerEndWords, workerStates } from './endpoint-words.ts';
import { Mark, Card } from './pieces.tsx';
import { Form, OtherProblems, problemOf, Question, useSending, Field, TextField } from './form.tsx';
import { to, useService } from './route.ts';
import { workloadIn } from './endpoint-draft.ts';
import { Select } from '../shared/choices.tsx';

export function MachinesPage(): JSX.Element {
  const { endpoints } = useService().overview;
  const machines = useMemo(() => machinesOf(endpoints), [endpoints]);
  return (
    <>
      <div class="row">
        <h1>Machines</h1>
        <a class="button primary" href={to.addMachine}>
          Add a machine
        </a>
      </div>
      {machines.length === 0 && (
        <p class="soft">
          No worker is running. The workers of this machine start when a job arrives; add a machine to have
          more.
        </p>
      )}
      <ul class="cards">
        {machines.map((machine) => (
          <li key={machine.name}>
            <MachineCard machine={machine} />
          </li>
        ))}
      </ul>
    </>
  );
}

interface PlacedWorker {
  endpoint: string;
  worker: WorkerView;
}

interface Machine {
  name: string;
  /** From the latest report; undefined if none of its workers reports. */
  facts: MachineView | undefined;
  workers: PlacedWorker[];
}

/** Groups workers by machine. Workers of the public SDK don't report their machine, so each stands alone. */
function machinesOf(endpoints: EndpointView[]): Machine[] {
  const machines = new Map<string, Machine>();
  for (const { settings, workers } of endpoints)
    for (const worker of workers) {
      const name = worker.machine?.host ?? (worker.kind === 'own' ? 'This machine' : worker.id);
      const machine = machines.get(name) ?? { name, facts: undefined, workers: [] };
      machine.facts = worker.machine ?? machine.facts;
      machine.workers.push({ endpoint: settings.id, worker });
      machines.set(name, machine);
    }
  return [...machines.values()];
}

function MachineCard({ machine: { name, facts, workers } }: { machine: Machine }): JSX.Element {
  const jobsDone = workers.reduce((sum, { worker }) => sum + worker.jobsDone, 0);
  const busyMs = workers.reduce((sum, { worker }) => sum + worker.busyMs, 0);
  return (
    <article class="card stack" aria-label={name}>
      <h2>
        <bdi>{name}</bdi>
      </h2>
      {facts !== undefined && (
        <p class="hint">
          {counted(facts.cores, 'core')} · {byteWords(facts.memoryBytes)} memory
          {facts.gpus.length === 0 && ' · no GPU found'}
        </p>
      )}
      {facts !== undefined && facts.gpus.length > 0 && (
        <ul class="list">
          {facts.gpus.map((gpu) => (
            <li key={gpu.index}>
              <bdi>{gpu.name}</bdi>
              <p class="hint">
                GPU {gpu.index} · {byteWords(gpu.usedMemoryBytes)} of {byteWords(gpu.memoryBytes)} used ·{' '}
                {gpu.celsius} °C · driver {gpu.driver}
              </p>
            </li>
          ))}
        </ul>
      )}
      <ul class="list">
        {workers.map((placed) => (
          <li key={`${placed.endpoint} ${placed.worker.id}`}>
            <MachineWorker {...placed} />
          </li>
        ))}
      </ul>
      <p class="hint">
        {jobsDone === 0
          ? 'No job done yet.'
          : `${counted(jobsDone, 'job')} done in ${durationWords(busyMs)} of work since these workers connected.`}
      </p>
    </article>
  );
}

function MachineWorker({ endpoint, worker }: PlacedWorker): JSX.Element {
  const now = useNow(useService().aheadMs, 1_000);
  const { id, kind, state, workload, since, lastSeenAt, isDraining, log } = worker;
  const { tone, word } = workerStates[state];
  const death = workerEndWords(worker, now);
  const facts = [
    workload,
    `for ${durationWords(Math.max(0, now - since))}`,
    kind === 'remote' ? `heard ${durationWords(Math.max(0, now - lastSeenAt))} ago` : null,
  ];
  return (
    <div class="stack">
      <div class="row">
        <span class="name">
          {isDraining ? <Mark tone="wait">draining</Mark> : <Mark tone={tone}>{word}</Mark>}{' '}
          <a href={to.endpoint(endpoint)}>
            <bdi>{endpoint}</bdi>
          </a>
        </span>
        {worker.machine !== null && !isDraining && <Drain endpoint={endpoint} id={id} />}
      </div>
      <details>
        <summary>
          <bdi>{id}</bdi> <small>{facts.filter((fact) => fact !== null).join(' · ')}</small>
        </summary>
        {log.length === 0 ? (
          <p class="hint">
            {kind === 'remote' && worker.machine === null
              ? 'Public workers keep their log on their machine.'
              : 'No output yet.'}
          </p>
        ) : (
          <LongText label={`Log of worker ${id}`} text={log.join('\n')} />
        )}
      </details>
      {death !== null && <p class="death">{death}</p>}
    </div>
  );
}

function Drain({ endpoint, id }: { endpoint: string; id: string }): JSX.Element {
  const { refresh, say } = useService();
  const drain = async (): Promise<void> => {
    await ask('POST', `endpoints/${encodeURIComponent(endpoint)}/workers/${encodeURIComponent(id)}/drain`);
    say(`Worker ${id} finishes its job and ends.`);
    void refresh();
  };
  return (
    <Question
      button="Drain"
      label={`Drain worker ${id}`}
      isSmall
      question="Drain worker"
      name={id}
      action="Drain it"
      onYes={drain}
    >
      <p>It takes no more jobs, finishes its present one, and ends. Start it again on its machine.</p>
    </Question>
  );
}

/** Choices for the new worker. The machine's owner types what it may run; the service cannot choose it. */
interface Wanted {
  endpoint: string;
  name: string;
  allow: string;
}

interface Made {
  wanted: Wanted;
  key: string;
  /** Ids of workers that existed before the machine was added. */
  known: ReadonlySet<string>;
}

/** Creates a key, shows the command to copy, and waits until the worker connects. */
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
  const { workloads } = useService().fields;
  const first = endpoints.find((each) => workloadIn(workloads, each.settings).isElsewhere) ?? endpoints[0];
  const [wanted, setWanted] = useState<Wanted>({
    endpoint: first?.settings.id ?? '',
    name: '',
    allow: first?.allow ?? '',
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
          hint="The machine’s key gets this name. If you revoke the key, the machine gets no more jobs."
          problem={problemOf(problems, 'name')}
          value={wanted.name}
          onText={(name) => setWanted({ ...wanted, name })}
        />
        <Field
          label="Endpoint"
          hint="The key works for this endpoint only."
          problem={problemOf(problems, 'endpoints')}
        >
          {(attributes) => (
            <Select
              attributes={attributes}
              options={endpoints.map(({ settings }) => [settings.id, settings.name] as const)}
              chosen={wanted.endpoint}
              onChoose={(id) => {
                const chosen = endpoints.find(({ settings }) => settings.id === id);
                setWanted({ ...wanted, endpoint: id, allow: chosen?.allow ?? '' });
              }}
            />
          )}
        </Field>
        <TextField
          label="It runs"
          hint="scene, command:./worker.py or image:registry/name. The worker runs nothing else, whatever the endpoint asks for."
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
          Install {overview.program} there, with Node 20.19 or later, in the folder of the program. Manual:{' '}
          <a href="help/start">start</a>.
        </p>
        <Copyable label="Installation" text="npm ci && npm install --global ." />
        <p>Then start the worker on the machine. The key is shown only now; the service stores a digest.</p>
        <Copyable
          label="On the machine"
          text={`export NIGHTRENDER_WORKER_KEY=${key}\n${words.map(shellWord).join(' ')}`}
        />
        <p class="hint">
          With several GPUs start one for each, with <code>--gpu 0</code>, <code>--gpu 1</code> and so on.
        </p>
      </Card>
      <Card title="3. Wait until it connects">
        <div role="status">
          {arrived === undefined ? (
            <Mark tone="wait">Waiting for “{wanted.name}” …</Mark>
          ) : (
            <div class="stack">
              <Mark tone="good">
                Connected: <bdi>{arrived.machine?.host ?? arrived.id}</bdi>
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

function shellWord(word: string): string {
  return /^[\w./:@%+,=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
