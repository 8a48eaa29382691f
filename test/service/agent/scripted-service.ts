/**
 * A fake service that answers each operation of a worker with scripts, in turn. Requests for a job stay open.
 */
import { onTestFinished } from 'vitest';
import { ServiceClient } from '../../../src/service/agent/service-client.ts';
import {
  answerJson,
  inTurn,
  type ReceivedRequest,
  type Script,
  scriptedServer,
  type ScriptedServer,
} from '../../fakes/scripted-server.ts';

/** Leaves a request without an answer. */
export const held: Script = () => undefined;

export const reported = answerJson({ drain: false, jobs: [], runs: null });

export interface ScriptedService extends ScriptedServer {
  /** Requests of this operation, in the order of arrival. */
  of(operation: string): ReceivedRequest[];
  /** Creates a client of this service. It is stopped at the end of the test. */
  client(say: (text: string) => void): ServiceClient;
}

/** Starts the service. `job` is given out once. Operations without scripts get the usual answers. */
export async function scriptedService(
  scripts: Record<string, Script[]>,
  job: object | null = { id: 'j1', input: {} },
): Promise<ScriptedService> {
  const all = new Map<string, Script>([
    ['job-take', inTurn(...(job === null ? [] : [answerJson(job)]), held)],
    ['job-stop', held],
    ['job-done', answerJson({ accepted: true })],
    ['job-stream', answerJson({ accepted: true })],
    ['report', reported],
    ['ping', answerJson({})],
    ...Object.entries(scripts).map(([operation, turns]) => [operation, inTurn(...turns)] as const),
  ]);
  const server = await scriptedServer((socket, request) => all.get(operationOf(request))?.(socket, request));
  return {
    ...server,
    of: (operation) => server.requests.filter((request) => operationOf(request) === operation),
    client: (say) => {
      const client = new ServiceClient(
        { url: server.url, endpointId: 'e', workerId: 'w', workerKey: 'k' },
        say,
        { firstPauseMs: 1 },
      );
      onTestFinished(() => client.close());
      return client;
    },
  };
}

function operationOf({ path }: ReceivedRequest): string {
  return path.split(/[/?]/)[3] ?? '';
}
