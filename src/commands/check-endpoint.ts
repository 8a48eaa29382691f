/** `nightrender plan --check`: whether the service accepts key and endpoint; no job is started. */
import { ByteSemaphore } from '../lib/limits/byte-semaphore.ts';
import { HttpRenderService } from '../runner/client/http-render-service.ts';
import type { Config } from '../runner/config/config.ts';
import type { Failure } from '../runner/core/failure.ts';
import type { EndpointCheck } from '../runner/core/plan.ts';
import type { HealthReply, RenderService } from '../runner/pipeline/ports.ts';

/** No service gives out such an id. */
const impossibleJob = 'nightrender-asks-whether-this-endpoint-is-there';

/** `signal` cuts it. */
export async function checkEndpoint(config: Config, signal: AbortSignal): Promise<EndpointCheck> {
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
      const reply = await service.status({ endpoint, jobId: impossibleJob }, signal);
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
