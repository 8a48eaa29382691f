/** `nightrender plan`: what a run would do, cost and take; it sends nothing, writes nothing into the batch and takes no lock. */
import { ByteSemaphore } from '../lib/limits/byte-semaphore.ts';
import type { Config } from '../runner/config/config.ts';
import type { Problem } from '../lib/yaml/problem.ts';
import { endings, type EndingKind } from '../runner/core/ending.ts';
import type { Stop } from '../runner/pipeline/stop.ts';
import { printPlan } from '../terminal/print-plan.ts';
import { beginChoicesOf, partOf, partOptions, beginOptions } from './begin-options.ts';
import { openRecord, sharedAddressOf } from './batch-record.ts';
import { configuredArguments, configuredRun } from './command-arguments.ts';
import { notWritable } from './explain-blocked-path.ts';
import { planOnCopy, type PlanOptions } from './plan-on-copy.ts';
import { shownLists, shownPath } from './shown-path.ts';
import { withSignals, StoppedEarly } from './signals.ts';
import { program } from './version.ts';
import { HttpRenderService } from '../runner/client/http-render-service.ts';
import type { Failure } from '../runner/core/failure.ts';
import type { EndpointCheck } from '../runner/core/plan.ts';
import type { HealthReply, RenderService } from '../runner/pipeline/ports.ts';
import type { LoadedCommand } from './command.ts';
import { onConfig } from './on-config.ts';
import { common } from './exit-codes.ts';
import { fileIn } from './option-values.ts';

export const planCommand: LoadedCommand = {
  purpose: `Checks what a run would check and shows what it would do: new, edited, done and failed scenes, the first requests in full, file names, and cost and time from earlier runs of this batch. Sends nothing, writes nothing, takes no lock; works during a run. Needs room for a copy of the checkpoint in the folder for temporary files.`,
  shared: ['manifest', 'output', 'concurrency', 'skip-bad-rows', 'allow-fewer', 'json'],
  options: {
    ...partOptions,
    ...beginOptions,
    check: {
      type: 'boolean',
      describe: 'ask the service whether key and endpoint are right; starts no job',
    },
    requests: {
      type: 'string',
      requiresArg: true,
      describe: 'number of requests to show (default: 3)',
    },
  },
  examples: [
    ['$0 plan pipeline.yaml', 'before the night'],
    ['$0 plan pipeline.yaml --check', 'the key and the endpoint, too'],
    ['$0 plan pipeline.yaml --limit 20', 'what a preview of 20 scenes would do'],
    ['$0 plan pipeline.yaml --json', 'for a script: one JSON object'],
  ],
  exits: {
    ...common,
    complete: 'a run could begin',
    'wrong-use': endings['wrong-use'].means,
    halted: 'with --check: the service gave no usable answer',
    'not-allowed': `with --check: ${endings['not-allowed'].means}`,
    'output-unwritable': 'the plan was shown, but a run could not write',
    interrupted: endings.interrupted.means,
    terminated: endings.terminated.means,
  },
  work: (argv) => plan(fileIn(argv), argv),
};

/** Resolves to the exit code: that of a run which could not begin, and 0 where it could. */
export function plan(file: string, argv: Record<string, unknown>): Promise<number> {
  const readOptions = (problems: Problem[]): PlanOptions => ({
    part: partOf(argv, problems),
    requests: requestsOf(argv, problems),
    isChecked: argv['check'] === true,
    ...beginChoicesOf(argv, problems),
  });
  const isChecked = argv['check'] === true;
  return onConfig(
    file,
    argv,
    readOptions,
    (config, options) => withSignals((stop) => planConfig(file, config, options, isChecked, stop)),
    isChecked,
  );
}

async function planConfig(
  file: string,
  config: Config,
  options: PlanOptions,
  isChecked: boolean,
  stop: Stop,
): Promise<number> {
  const { dir } = config.output;
  const batch = await unlessStopped(stop, async () => {
    const record = await openRecord(dir, sharedAddressOf(config), options.isFresh);
    try {
      return await planOnCopy(file, config, options, stop.draining, record);
    } finally {
      await record.close();
    }
  });
  const check = isChecked ? await unlessStopped(stop, () => checkEndpoint(config, stop.draining)) : null;
  const obstacle = notWritable(dir) ?? null;
  const ending = endingOf(check?.ending, obstacle);
  printPlan(
    {
      ...batch,
      program,
      file,
      commandArguments: configuredArguments(file, config),
      runArguments: configuredRun(file, config),
      manifest: shownLists(config, file),
      endpoint: config.endpoint,
      dir,
      shownDir: shownPath(dir),
      files: config.output.files.map(({ label, kind }) => ({ label, kind })),
      asked: options.part ?? null,
      warnings: config.warnings,
      check,
      obstacle,
      exitCode: endings[ending].exitCode,
    },
    config.terminal.json,
  );
  return endings[ending].exitCode;
}

function endingOf(checked: EndingKind | undefined, obstacle: string | null): EndingKind {
  if (checked !== undefined && checked !== 'complete') return checked;
  return obstacle === null ? 'complete' : 'output-unwritable';
}

async function unlessStopped<T>(stop: Stop, work: () => Promise<T | undefined>): Promise<T> {
  try {
    const result = await work();
    if (stop.ending === undefined && result !== undefined) return result;
  } catch (error) {
    if (stop.ending === undefined) throw error;
  }
  throw new StoppedEarly(
    stop.ending ?? { kind: 'bug', text: 'The plan was not finished' },
    'Nothing was sent or changed.',
  );
}

const maxRequests = 1_000;

function requestsOf(argv: Record<string, unknown>, problems: Problem[]): number {
  const text = argv['requests'] ?? '3';
  const count = typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : -1;
  if (count >= 0 && count <= maxRequests) return count;
  const expected = `expected how many requests are shown, a whole number from 0 to ${maxRequests}`;
  problems.push({ where: '--requests', text: `is ${JSON.stringify(text)}; ${expected}` });
  return 0;
}

/** No service gives out such an id. */
const impossibleJob = 'nightrender-asks-whether-this-endpoint-is-there';

/** `signal` cuts it. */
async function checkEndpoint(config: Config, signal: AbortSignal): Promise<EndpointCheck> {
  const { endpoint, apiKey = '' } = config;
  if (endpoint.baseUrl === 'local')
    return { ending: 'complete', text: 'the local service starts with the run' };
  const service = new HttpRenderService({
    memory: new ByteSemaphore(config.limits.memoryBytes),
    connectionOf: ({ baseUrl }) => ({ url: baseUrl, apiKey }),
    requestTimeoutMs: config.timeouts.requestMs,
    maxBodyBytes: config.limits.bodyBytes,
    imagePath: undefined,
  });
  try {
    const health = await service.health(endpoint, signal);
    return await judge(health, service, config, signal);
  } finally {
    await service.close();
  }
}

async function judge(
  health: HealthReply,
  service: RenderService,
  { endpoint }: Config,
  signal: AbortSignal,
): Promise<EndpointCheck> {
  switch (health.kind) {
    case 'answers': {
      const { workers } = health.health ?? {};
      return { ending: 'complete', text: 'key and endpoint are accepted', ...(workers && { workers }) };
    }
    case 'failure':
      return refused(health.failure);
    case 'unknown': {
      const reply = await service.status(endpoint, impossibleJob, signal);
      // Some refuse such an id as none rather than as that of no job; keys and accounts have kinds of their own.
      const isRefusedId = reply.kind === 'failure' && / was answered 4\d\d: /.test(reply.failure.text);
      if (reply.kind === 'failure' && !isRefusedId) return refused(reply.failure);
      // Where an endpoint is not there, services mostly say that; of a missing job, they never mention the endpoint.
      const said = `${health.text} ${reply.kind === 'missing' ? reply.text : ''}`;
      return noSuchEndpoint.test(said)
        ? {
            ending: 'not-allowed',
            text: `the service does not know the endpoint ${endpoint.id} (404)${knownIn(said)}; see \`endpoint.id\``,
          }
        : {
            ending: 'complete',
            text: 'it answers and accepts the key; a wrong `endpoint.id` would show only with the first submission',
          };
    }
  }
}

const noSuchEndpoint =
  /endpoint not found|no such endpoint|unknown endpoint|endpoint \S* ?(does not exist|not found)/i;

/** Some services name the endpoints that they have. */
function knownIn(said: string): string {
  const [known] = /there (?:is|are) [\w, -]+/.exec(said) ?? [];
  return known === undefined ? '' : `: ${known.trim()}`;
}

function refused({ kind, text }: Failure): EndpointCheck {
  if (kind === 'key-refused' || kind === 'account-unusable') return { ending: 'not-allowed', text };
  if (kind === 'overloaded')
    return {
      ending: 'complete',
      text: `${text}: it is reachable, but the key could not be checked`,
    };
  return {
    ending: 'halted',
    text: `no usable answer: ${text}; a run would keep trying for \`halt.unreachable\``,
  };
}
