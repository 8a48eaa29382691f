/** The page of one endpoint: a job form, its jobs, its workers, and how to use it. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { EndpointView, WorkerView, WorkloadForm } from '../../protocol/console-data.ts';
import { runPath, runSyncPath, workerAddresses } from '../../protocol/paths.ts';
import { counted, countWords, durationWords } from '../shared/number-words.ts';
import { ask } from './ask.ts';
import { gpuWords, endpointState, workerEndWords, workerCounts, workerStates } from './endpoint-words.ts';
import { Question, useSending } from './form.tsx';
import { History, JobCounts } from './overview-page.tsx';
import { JobForm } from './job-form.tsx';
import { JobList } from './job-list.tsx';
import { Card, Mark, NothingHere } from './pieces.tsx';
import { to, useEndpoint, useService, useWorkload } from './route.ts';
import { Choices } from '../shared/choices.tsx';
import { Copyable, LongText } from '../shared/text.tsx';
import { useNow } from '../shared/hooks.ts';

export function EndpointPage({ id }: { id: string }): JSX.Element {
  const endpoint = useEndpoint(id);
  if (endpoint === undefined)
    return <NothingHere title={`Endpoint ${id}`} text="There is no such endpoint." back={to.overview} />;
  return (
    <>
      <Head endpoint={endpoint} />
      <div class="columns">
        <div class="stack wide">
          <Card title="Submit a job">
            <JobForm key={id} endpoint={endpoint} />
          </Card>
        </div>
        <div class="stack wide">
          <Card title="Workers">
            <Workers endpoint={endpoint} />
          </Card>
          <Card title="Use it">
            <UseIt endpoint={endpoint} />
          </Card>
        </div>
      </div>
      <History endpoint={id} />
      <JobList endpoint={id} />
    </>
  );
}

function Head({ endpoint }: { endpoint: EndpointView }): JSX.Element {
  const { settings, origin, trouble, runs } = endpoint;
  const { overview } = useService();
  const { workload } = useWorkload(endpoint);
  const { tone, word } = endpointState(endpoint, workload);
  const gpu = gpuWords(endpoint, workload, overview);
  return (
    <div class="stack">
      <div class="row">
        <h1>
          <bdi>{settings.name}</bdi>
        </h1>
        <div class="row">
          <Pause endpoint={endpoint} />
          {origin === 'console' && (
            <>
              <a class="button" href={to.edit(settings.id)}>
                Edit
              </a>
              <Remove endpoint={endpoint} />
            </>
          )}
        </div>
      </div>
      <p class="soft">
        <Mark tone={tone}>{word}</Mark> · <code>{settings.id}</code> · <bdi>{runs}</bdi>
        {gpu !== null && (
          <>
            {' · '}
            <bdi>{gpu}</bdi>
          </>
        )}
      </p>
      {origin === 'file' && (
        <p class="soft">
          {overview.file === null ? (
            <>
              A service that starts without a file has this endpoint. <code>nightrender init --service</code>{' '}
              writes a file, in which you choose the endpoints yourself.
            </>
          ) : (
            <>
              It is defined in <bdi>{overview.file}</bdi>: edit that file, then restart the service.
            </>
          )}
        </p>
      )}
      {trouble !== null && <p class="message bad">{trouble}</p>}
      <JobCounts endpoint={endpoint} />
    </div>
  );
}

/** Pauses or resumes an endpoint. It needs no confirmation, because running jobs continue and nothing is lost. */
function Pause({ endpoint: { settings, isPaused } }: { endpoint: EndpointView }): JSX.Element {
  const { refresh, say } = useService();
  const sending = useSending(async () => {
    await ask('POST', `endpoints/${encodeURIComponent(settings.id)}/${isPaused ? 'resume' : 'pause'}`);
    say(
      isPaused
        ? `Endpoint “${settings.name}” takes jobs again.`
        : `Endpoint “${settings.name}” is paused: new jobs wait, running ones continue.`,
    );
    void refresh();
  });
  return (
    <button type="button" aria-disabled={sending.isBusy} onClick={() => sending.send()}>
      {isPaused ? 'Resume' : 'Pause'}
    </button>
  );
}

function Remove({ endpoint: { settings, jobs } }: { endpoint: EndpointView }): JSX.Element {
  const { refresh, say } = useService();
  const remove = async (): Promise<void> => {
    await ask('DELETE', `endpoints/${encodeURIComponent(settings.id)}`);
    say(`Endpoint “${settings.name}” is removed.`, to.overview);
    location.hash = to.overview;
    void refresh();
  };
  return (
    <Question
      button="Remove"
      question="Remove endpoint"
      name={settings.name}
      action="Remove it"
      onYes={remove}
    >
      <p>
        Programs that submit to <code>{runPath('v2', settings.id)}</code> get 404 from then on.
      </p>
      {jobs.inQueue + jobs.inProgress > 0 && (
        <p>
          It has {counted(jobs.inQueue, 'job')} in the queue and {jobs.inProgress} in progress.
        </p>
      )}
    </Question>
  );
}

type Way = 'curl' | 'python' | 'javascript' | 'yaml' | 'worker';

/** Code to copy for programs that use the endpoint, with the address that this browser uses. */
function UseIt({ endpoint }: { endpoint: EndpointView }): JSX.Element {
  const [way, setWay] = useState<Way>('curl');
  const { workload, card } = useWorkload(endpoint);
  const options: [Way, string][] = [
    ['curl', 'curl'],
    ['python', 'Python'],
    ['javascript', 'JavaScript'],
    ['yaml', 'pipeline.yaml'],
    ...(workload.isElsewhere ? [['worker', 'Worker'] satisfies [Way, string]] : []),
  ];
  const { label, lines } = ways[way];
  const input = inputText(card?.example ?? anyExample);
  const at = { base: location.origin, id: endpoint.settings.id, input };
  return (
    <>
      <Choices label="Language" options={options} chosen={way} onChoose={setWay} />
      <Copyable key={way} label={label} text={lines(at).join('\n')} />
      <p class="hint">
        {way === 'worker' ? (
          <>
            <code>NIGHTRENDER_WORKER_KEY</code> is a key of the kind <em>worker</em>. The last line makes a
            folder of the worker’s own: releases 1.7.13 to 1.9.0 hang if they share one. Start the program by
            its full path.
          </>
        ) : (
          <>
            Put one of your <a href="#/keys">keys</a> into the environment variable{' '}
            <code>NIGHTRENDER_API_KEY</code>.
          </>
        )}
      </p>
    </>
  );
}

/** Returns JSON that is valid in Python and JavaScript: examples have no `true`, `null` or `'`. */
function inputText(input: Record<string, unknown>): string {
  return JSON.stringify(input, null, 1)
    .replaceAll(/(?<=[{[])\n *|\n *(?=[}\]])/g, '')
    .replaceAll(/\n */g, ' ');
}

const anyExample = { prompt: 'A lighthouse on a cliff at dusk' };

interface At {
  base: string;
  id: string;
  input: string;
}

/** Texts to copy. Those in a language submit a job and print its state and result once it has ended, or after 90 s. */
const ways: Record<Way, { label: string; lines: (at: At) => string[] }> = {
  curl: {
    label: 'In a terminal',
    lines: ({ base, id, input }) => [
      `curl -X POST '${base}${runSyncPath('v2', id)}' \\`,
      `  -H "Authorization: Bearer $NIGHTRENDER_API_KEY" \\`,
      `  -H 'Content-Type: application/json' \\`,
      `  -d '{"input": ${input}}'`,
    ],
  },
  python: {
    label: 'In Python, without packages',
    lines: ({ base, id, input }) => [
      'import json, os, urllib.request',
      '',
      'request = urllib.request.Request(',
      `    "${base}${runSyncPath('v2', id)}",`,
      `    data=json.dumps({"input": ${input}}).encode(),`,
      '    headers={',
      `        "Authorization": f"Bearer {os.environ['NIGHTRENDER_API_KEY']}",`,
      '        "Content-Type": "application/json",',
      '    },',
      ')',
      'job = json.load(urllib.request.urlopen(request))',
      'print(job["status"], str(job.get("output", job.get("error")))[:200])',
    ],
  },
  javascript: {
    label: 'In JavaScript (Node 20 and later, as a module)',
    lines: ({ base, id, input }) => [
      `const response = await fetch("${base}${runSyncPath('v2', id)}", {`,
      '  method: "POST",',
      '  headers: {',
      '    Authorization: `Bearer ${process.env.NIGHTRENDER_API_KEY}`,',
      '    "Content-Type": "application/json",',
      '  },',
      `  body: JSON.stringify({ input: ${input} }),`,
      '});',
      'const job = await response.json();',
      'console.log(job.status, JSON.stringify(job.output ?? job.error)?.slice(0, 200));',
    ],
  },
  yaml: {
    label: 'In pipeline.yaml',
    lines: ({ base, id }) => [
      'endpoint:',
      `  baseUrl: ${base}`,
      `  id: ${id}`,
      '  apiKey: ${NIGHTRENDER_API_KEY}',
    ],
  },
  // Variables of the open-source worker SDK, which fills in `$ID` and `$RUNPOD_POD_ID`.
  worker: {
    label: 'For workers elsewhere',
    lines: ({ base, id }) => [
      `export RUNPOD_ENDPOINT_ID='${id}'`,
      `export RUNPOD_POD_ID="$(hostname)-gpu$(echo "\${CUDA_VISIBLE_DEVICES:-any}" | tr , .)-$$"`,
      `export RUNPOD_AI_API_KEY="$NIGHTRENDER_WORKER_KEY"`,
      ...Object.entries(workerAddresses(base, id, 'any')).map(([name, url]) => `export ${name}='${url}'`),
      `export RUNPOD_SKIP_AUTO_SYSTEM_CHECKS=true`,
      `cd "$(mktemp -d)"`,
    ],
  },
};

const fewWorkers = 12;

/** Lines of log shown below a worker that ended, without opening it. */
const lastWords = 4;

function Workers({ endpoint }: { endpoint: EndpointView }): JSX.Element {
  const { workers, settings } = endpoint;
  const { workload } = useWorkload(endpoint);
  const now = useNow(useService().aheadMs, 1_000);
  const [state, setState] = useState<WorkerView['state']>();
  const [hasAll, setHasAll] = useState(false);
  const chosen = workers.filter((worker) => state === undefined || worker.state === state);
  const shown = hasAll ? chosen : chosen.slice(0, fewWorkers);
  if (workers.length === 0) return <p class="soft">{absence(settings, workload)}</p>;
  return (
    <>
      <Choices
        label="Which workers"
        options={[
          [undefined, `all ${countWords(workers.length)}`],
          ...workerCounts(workers).map(
            ([each, count]) => [each, `${countWords(count)} ${workerStates[each].word}`] as const,
          ),
        ]}
        chosen={state}
        onChoose={setState}
      />
      <ul class="list workers">
        {shown.map((worker) => (
          <li key={worker.id}>
            <OneWorker worker={worker} now={now} />
          </li>
        ))}
      </ul>
      {chosen.length > fewWorkers && (
        <button type="button" onClick={() => setHasAll(!hasAll)}>
          {hasAll ? 'Show fewer' : `Show all ${countWords(chosen.length)}`}
        </button>
      )}
    </>
  );
}

function absence({ quickStart }: EndpointView['settings'], { isElsewhere }: WorkloadForm): string {
  if (isElsewhere) return 'No worker has connected yet. “Use it” shows how to start one.';
  return quickStart === true ? 'None.' : 'None; they start when a job arrives.';
}

function OneWorker({ worker, now }: { worker: WorkerView; now: number }): JSX.Element {
  const [isOpen, setIsOpen] = useState(false);
  const { id, state, kind, gpu, since, lastSeenAt, log } = worker;
  const { tone, word } = workerStates[state];
  const death = workerEndWords(worker, now);
  const facts = [
    `for ${durationWords(Math.max(0, now - since))}`,
    gpu,
    kind === 'remote' ? `elsewhere, last seen ${durationWords(Math.max(0, now - lastSeenAt))} ago` : null,
  ];
  return (
    <>
      <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
        <summary>
          <Mark tone={tone}>{word}</Mark> <bdi>{id}</bdi>{' '}
          <small>{facts.filter((fact) => fact !== null).join(' · ')}</small>
        </summary>
        {isOpen && <OpenWorker worker={worker} />}
      </details>
      {death !== null && (
        <div class="death">
          <p>{death}</p>
          {!isOpen && log.length > 0 && <pre>{log.slice(-lastWords).join('\n')}</pre>}
        </div>
      )}
    </>
  );
}

function OpenWorker({ worker: { id, jobIds, log } }: { worker: WorkerView }): JSX.Element {
  return (
    <div class="stack">
      {jobIds.length > 0 && (
        <p class="hint">
          at{' '}
          {jobIds.map((job) => (
            <a key={job} href={to.job(job)}>
              {job}{' '}
            </a>
          ))}
        </p>
      )}
      {log.length === 0 ? (
        <p class="hint">No output yet.</p>
      ) : (
        <LongText label={`Log of worker ${id}`} text={log.join('\n')} />
      )}
    </div>
  );
}
