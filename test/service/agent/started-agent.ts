/** Starts a remote worker that asks a scripted service. It ends with the test, or when told to. */
import { onTestFinished } from 'vitest';
import { type AgentOptions, runAgent } from '../../../src/service/agent/agent.ts';
import type { ScriptedService } from './scripted-service.ts';

export const machine = { host: 'attic', cores: 1, memoryBytes: 1, gpus: [] };

export function startAgent(
  service: ScriptedService,
  workload: AgentOptions['workload'],
  options: Partial<Pick<AgentOptions, 'idleMs' | 'machine'>> = {},
) {
  const said: string[] = [];
  const [drain, leave] = [new AbortController(), new AbortController()];
  const onEvent = (text: string): void => void said.push(text);
  const ended = runAgent({
    client: service.client(onEvent),
    workerId: 'w',
    workload,
    machine: () => Promise.resolve(machine),
    idleMs: undefined,
    recycleJobs: undefined,
    drain: drain.signal,
    leave: leave.signal,
    onEvent,
    ...options,
  });
  ended.catch(() => undefined);
  onTestFinished(() => leave.abort());
  return { said, drain, leave, ended };
}
