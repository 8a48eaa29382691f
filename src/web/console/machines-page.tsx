/** The machines that workers run on: what each has, does and did. */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { EndpointView, MachineView, WorkerView } from '../../protocol/console-data.ts';
import { useNow } from '../shared/hooks.ts';
import { byteWords, counted, durationWords } from '../shared/number-words.ts';
import { LongText } from '../shared/text.tsx';
import { ask } from './ask.ts';
import { deathWords, workerStates } from './endpoint-words.ts';
import { Mark } from './pieces.tsx';
import { Question } from './question.tsx';
import { to } from './route.ts';
import { useService } from './service.ts';

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
  /** As its latest report has it; undefined where none of its workers reports. */
  facts: MachineView | undefined;
  workers: PlacedWorker[];
}

/** Public workers report no machine: each stands under its own id. */
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
  const death = deathWords(worker, now);
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
      <p>It takes no more jobs, finishes what it is at, and ends. Start it again on its machine.</p>
    </Question>
  );
}
