/** A service with faults on, whose worker is done with every job at once. */
import { FaultPlan, type MetFault } from '../../../src/service/faults/fault-plan.ts';
import type { FaultPlace, FaultSettings, ScriptedFault } from '../../../src/service/faults/fault-settings.ts';
import type { HealthResponse } from '../../../src/protocol/messages.ts';
import { healthPath } from '../../../src/protocol/paths.ts';
import { clientOf, type TestClient } from '../../runner/client/client.ts';
import { noise } from '../../runner/images/pictures.ts';
import {
  ask,
  endpointId,
  instantWorkload,
  key,
  openService,
  type TestServiceOptions,
} from '../service-harness.ts';

export const pictureSide = { width: 48, height: 32 };

export interface FaultyService {
  url: string;
  met: MetFault[];
  troubles: string[];
  /** How many jobs were taken on. */
  accepted: () => Promise<number>;
  /** Once no job waits or runs. */
  idle: () => Promise<void>;
  /** Of the faults. */
  clock: { nowMs: number };
  close: () => Promise<void>;
}

export const noFaults: FaultSettings = {
  seed: 7,
  rates: { submit: new Map(), status: new Map(), job: new Map(), everything: new Map() },
  script: [],
  lateMs: 60,
  slowMs: 60_000,
  freshMs: 10_000,
};

export function scripted(at: FaultPlace, fault: string, more: Partial<ScriptedFault> = {}): ScriptedFault {
  return { at, fault, nth: null, job: null, match: null, fromMs: 0, untilMs: Infinity, ...more };
}

export const first = { nth: { first: 1, last: 1 } };

/** Ends with the test. */
export async function faultyService(
  settings: Partial<FaultSettings>,
  options: TestServiceOptions = {},
): Promise<FaultyService> {
  const clock = { nowMs: 0 };
  const met: MetFault[] = [];
  const faults = new FaultPlan({
    ...noFaults,
    ...settings,
    now: () => clock.nowMs,
    onMet: (each) => met.push(each),
  });
  const output = await honestOutput();
  const { url, troubles, close } = await openService({
    workload: instantWorkload(() => output),
    faults,
    ...options,
  });
  const jobs = async (): Promise<HealthResponse['jobs']> =>
    ((await ask(url, healthPath('v2', endpointId))).json as HealthResponse).jobs;
  return {
    url,
    met,
    troubles,
    clock,
    close,
    accepted: async () => {
      const { completed, failed, inProgress, inQueue } = await jobs();
      return completed + failed + inProgress + inQueue;
    },
    idle: async () => {
      for (;;) {
        const { inProgress, inQueue } = await jobs();
        if (inProgress + inQueue === 0) return;
      }
    },
  };
}

/** The runner's, which waits shortly for what never comes. */
export function impatientClient({ url }: FaultyService): TestClient {
  return clientOf(url, { apiKey: key, requestTimeoutMs: 1_500 });
}

async function honestOutput(): Promise<unknown> {
  const png = await noise(pictureSide.width, pictureSide.height).png().toBuffer();
  return [{ rendered_image: png.toString('base64'), seed: 4 }];
}
