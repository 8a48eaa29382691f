/** A service in the words of a test: what it answers to each operation of a worker, in turn; requests to wait stay open. */
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

/** What a request that is held open gets: nothing. */
export const held: Script = () => undefined;

export const reported = answerJson({ drain: false, jobs: [], runs: null });

export interface ScriptedService extends ScriptedServer {
  /** Of this operation, in the order in which they came. */
  of(operation: string): ReceivedRequest[];
  /** Its jobs end with the test. */
  client(say: (text: string) => void): ServiceClient;
}

/** `job` is given once. Operations that are left out are answered as the service does. */
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
