/** A service without a fault of its own, wired to a fault plan as the local service is: every job is done at once. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { FaultPlan, type MetFault } from '../../../src/server/faults/fault-plan.ts';
import type { FaultPlace, FaultSettings, ScriptedFault } from '../../../src/server/faults/fault-settings.ts';
import type { HonestAnswer } from '../../../src/server/faults/request-fault.ts';
import { noise } from '../../images/pictures.ts';

export const pictureSide = { width: 48, height: 32 };

export interface FaultyService {
  url: string;
  plan: FaultPlan;
  met: MetFault[];
  /** How many jobs were taken on. */
  accepted: () => number;
  clock: { nowMs: number };
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

/** Ends with the test; `keepsOutcomes` where what the book can hold is written down there. */
export async function faultyService(
  settings: Partial<FaultSettings>,
  { keepsOutcomes = true } = {},
): Promise<FaultyService> {
  const clock = { nowMs: 0 };
  const met: MetFault[] = [];
  const plan = new FaultPlan({
    ...noFaults,
    ...settings,
    now: () => clock.nowMs,
    onMet: (each) => met.push(each),
  });
  const book = new HonestBook(plan, await honestOutput(), keepsOutcomes);
  const server = createServer((request, response) => void serve(plan, book, request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, plan, met, accepted: () => book.count, clock };
}

async function serve(
  plan: FaultPlan,
  book: HonestBook,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const fault = plan.answer(request);
  if (fault?.isInstead === true) return fault.send(response);
  const answer = plan.told(request, await book.answer(request));
  if (fault !== undefined) return fault.send(response, answer);
  response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
}

class HonestBook {
  readonly #plan: FaultPlan;
  readonly #output: string;
  readonly #keepsOutcomes: boolean;
  readonly #outcomes = new Map<string, Outcome>();

  constructor(plan: FaultPlan, output: string, keepsOutcomes: boolean) {
    this.#plan = plan;
    this.#output = output;
    this.#keepsOutcomes = keepsOutcomes;
  }

  get count(): number {
    return this.#outcomes.size;
  }

  async answer(request: IncomingMessage): Promise<HonestAnswer> {
    const [, , , operation, id = ''] = (request.url ?? '').split('/');
    if (operation === 'run') return this.#accept(await bodyOf(request));
    const outcome = this.#outcomes.get(id);
    if (operation === 'health') return { status: 200, body: '{"jobs":{},"workers":{}}' };
    if (outcome === undefined) return { status: 404, body: '{"error":"job not found"}' };
    const { state, output, error } = outcome;
    if (operation === 'cancel') return { status: 200, body: JSON.stringify({ id, status: state }) };
    const fields = `"delayTime":1,"executionTime":2,"id":"${id}","status":"${state}"`;
    const end = output === undefined ? `"error":${JSON.stringify(error)}` : `"output":${output}`;
    return { status: 200, body: `{${fields},${end}}` };
  }

  #accept(body: string): HonestAnswer {
    const id = `00000000-0000-4000-8000-${String(this.#outcomes.size + 1).padStart(12, '0')}`;
    this.#plan.accepted(id, JSON.stringify((JSON.parse(body) as { input: unknown }).input));
    const honest = { state: 'COMPLETED', output: this.#output } as const;
    this.#outcomes.set(id, this.#keepsOutcomes ? this.#plan.outcome(id, honest) : honest);
    return { status: 200, body: JSON.stringify({ id, status: 'IN_QUEUE' }) };
  }
}

interface Outcome {
  state: string;
  output?: string;
  error?: string;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

async function honestOutput(): Promise<string> {
  const png = await noise(pictureSide.width, pictureSide.height).png().toBuffer();
  return JSON.stringify([{ rendered_image: png.toString('base64'), seed: 4 }]);
}
