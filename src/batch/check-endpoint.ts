/** `nightrender plan --check`: checks whether the service accepts key and endpoint, without starting a job. */
import { ByteSemaphore } from '../lib/limits/byte-semaphore.ts';
import { isJsonObject } from '../lib/text/json.ts';
import type { Connection } from '../runner/client/http-service.ts';
import { formatDuration } from '../lib/text/format.ts';
import type { Config } from '../runner/config/config.ts';
import type { Failure } from '../runner/core/failure.ts';
import type { Endpoint } from '../runner/core/attempt.ts';
import type { EndpointCheck, FirstRequest } from '../runner/core/plan.ts';
import type { ServiceDescription } from '../runner/core/service-description.ts';
import { openService } from './service-client.ts';
import type { HealthReply, RenderService } from '../runner/pipeline/ports.ts';

/** An id that no service uses. */
const impossibleJob = 'nightrender-asks-whether-this-endpoint-is-there';

/** Checks the endpoint. `signal` cancels the check. */
export async function checkEndpoint(
  config: Config,
  signal: AbortSignal,
  first?: FirstRequest,
): Promise<EndpointCheck> {
  const { endpoint, apiKey = '' } = config;
  if (endpoint.baseUrl === 'local')
    return { ending: 'complete', text: 'the local service starts with the run' };
  const connectionOf = ({ baseUrl }: Endpoint): Connection => ({ url: baseUrl, apiKey });
  const memory = new ByteSemaphore(config.limits.memory);
  const { service: spoken } = config;
  const service = openService(config, connectionOf, memory);
  try {
    if (spoken.kind === 'comfyui') {
      const input = isJsonObject(first?.body) ? first.body : {};
      return judgeWorkflow(await service.problems(endpoint, input, signal));
    }
    const health = await service.health(endpoint, signal);
    if (spoken.kind === 'described')
      return { ...judgeDescribed(health, spoken.description), reads: readingOf(spoken.description) };
    return await judge(health, service, config, signal);
  } finally {
    await service.close();
  }
}

function judgeWorkflow(problems: string[] | Failure): EndpointCheck {
  if (!Array.isArray(problems)) return refused(problems);
  return problems.length === 0
    ? {
        ending: 'complete',
        text: 'ComfyUI answers and has every node and model of the workflow; its inputs, links and outputs are right',
      }
    : {
        ending: 'not-allowed',
        text: `ComfyUI would make no picture of this workflow: ${problems.join('; ')}`,
      };
}

function judgeDescribed(health: HealthReply, { check }: ServiceDescription): EndpointCheck {
  switch (health.kind) {
    case 'answers': {
      const { workers } = health.health ?? {};
      return { ending: 'complete', text: 'address, key and id are accepted', ...(workers && { workers }) };
    }
    case 'failure':
      return refused(health.failure);
    case 'unknown':
      if (health.isUnasked === true)
        return { ending: 'complete', text: `${health.text}, so nothing was asked` };
      // Without a check, nothing shows whether the id is right.
      return check === undefined
        ? { ending: 'complete', text: `${health.text}: it is reachable, but key and id could not be checked` }
        : { ending: 'not-allowed', text: `${health.text}; see \`endpoint.id\`` };
  }
}

/** Describes where a run reads each value of the service's answers. */
function readingOf({ submit, status, result, failed, cancel, find, keepsMs }: ServiceDescription): string[] {
  const words = Object.entries(status.map).map(([word, meaning]) => `${word} is ${meaning}`);
  const kept = submit.keep.length === 0 ? '' : `, with ${submit.keep.join(', ')}`;
  const place =
    result.pictures.length === 0 ? 'where workers mostly put them' : `at ${result.pictures.join(' or ')}`;
  return [
    `a job's id at ${submit.job} of what a submission brings${kept}`,
    `its status by ${status.method} ${status.url}, at ${status.at}: ${words.join(', ')}, all else is waiting`,
    `pictures ${place} of ${result.output === '' ? '' : `${result.output} of `}${result.request === undefined ? 'that answer' : `${result.request.method} ${result.request.url}`}`,
    `why it failed at ${failed}`,
    cancel === undefined ? 'no way to cancel a job' : `cancelled by ${cancel.method} ${cancel.url}`,
    find === undefined
      ? 'no list of jobs: a submission whose answer is lost counts as unanswered'
      : `lost submissions in ${find.items} of ${find.method} ${find.url}`,
    `results are kept for ${formatDuration(keepsMs)}`,
  ];
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
      const reply = await service.status({ endpoint, jobId: impossibleJob }, signal);
      // Some services reject the id as malformed instead of unknown. Keys and accounts have failure kinds of
      // their own.
      const isRefusedId = reply.kind === 'failure' && / was answered 4\d\d: /.test(reply.failure.text);
      if (reply.kind === 'failure' && !isRefusedId) return refused(reply.failure);
      // A service usually says if the endpoint does not exist. It never mentions the endpoint for a missing
      // job.
      const said = `${health.text} ${reply.kind === 'missing' ? reply.text : ''}`;
      return noSuchEndpoint.test(said)
        ? {
            ending: 'not-allowed',
            text: `the service does not know the endpoint ${endpoint.id} (404)${knownIn(said)}; see \`endpoint.id\``,
          }
        : {
            ending: 'complete',
            text: 'it answers and accepts the key; a wrong `endpoint.id` shows only at the first submission',
          };
    }
  }
}

const noSuchEndpoint =
  /endpoint not found|no such endpoint|unknown endpoint|endpoint \S* ?(does not exist|not found)/i;

/** Returns the existing endpoints if the service names them. */
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
