/** `plan --check`: whether the service knows the key and the endpoint, asked in a way that starts nothing. */
import { HttpRenderService } from '../runner/client/http-render-service.ts';
import { Memory } from '../runner/client/memory.ts';
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
    return { ending: 'complete', text: 'the local service starts with the run: there is nobody to ask' };
  const service = new HttpRenderService({
    memory: new Memory(config.limits.memoryBytes),
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
      return { ending: 'complete', text: 'it knows the key and the endpoint', ...(workers && { workers }) };
    }
    case 'failure':
      return refused(health.failure);
    case 'unknown': {
      const reply = await service.status(endpoint, impossibleJob, signal);
      // Some refuse such an id as none rather than as that of no job; keys and accounts have kinds of their own.
      const isRefusedId = reply.kind === 'failure' && / was answered 4\d\d: /.test(reply.failure.text);
      if (reply.kind === 'failure' && !isRefusedId) return refused(reply.failure);
      // Where an endpoint is not there, services mostly say so; of a job that is not, they never speak of the endpoint.
      const said = `${health.text} ${reply.kind === 'missing' ? reply.text : ''}`;
      return noSuchEndpoint.test(said)
        ? {
            ending: 'not-allowed',
            text: `the service does not know the endpoint ${endpoint.id} (404); see \`endpoint.id\``,
          }
        : {
            ending: 'complete',
            text: 'it answers and does not refuse the key; it tells nothing of the endpoint, so that a wrong `endpoint.id` shows with the first submission',
          };
    }
  }
}

const noSuchEndpoint =
  /endpoint not found|no such endpoint|unknown endpoint|endpoint \S* ?(does not exist|not found)/i;

function refused({ kind, text }: Failure): EndpointCheck {
  if (kind === 'key-refused' || kind === 'account-unusable') return { ending: 'not-allowed', text };
  if (kind === 'overloaded')
    return {
      ending: 'complete',
      text: `${text}: it is there, and whether the key is right could not be asked`,
    };
  return {
    ending: 'halted',
    text: `no useful answer came: ${text}; a run would keep trying for \`halt.unreachable\``,
  };
}
