/** A service behind a proxy that does wrong to its clients, by the faults that a test names. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { HealthResponse } from '../../src/protocol/messages.ts';
import { healthPath } from '../../src/protocol/paths.ts';
import { listenOnLoopback } from '../e2e/listen-on-loopback.ts';
import { noise } from '../runner/images/pictures.ts';
import { ask, endpointId, instantWorkload, openService } from '../service/service-harness.ts';
import { type Fields, sendJson } from './answers.ts';
import { chance } from './chance.ts';
import type { RequestFault } from './request-faults.ts';

interface Faults {
  /** Of the first submission. */
  submit?: RequestFault | undefined;
  /** Of the first look at a job. */
  status?: RequestFault | undefined;
  /** How the first job ends in the place of its picture, as the fields of a status answer. */
  end?: (picture: Buffer) => Fields;
}

interface FaultyService {
  url: string;
  /** How many jobs were taken on. */
  accepted: () => Promise<number>;
  /** Once no job waits or runs. */
  idle: () => Promise<void>;
}

/** Its worker is done with every job at once. It ends with the test. */
export async function faultyService(faults: Faults): Promise<FaultyService> {
  const picture = await noise(48, 32).png().toBuffer();
  const output = [{ rendered_image: picture.toString('base64'), seed: 4 }];
  const { url } = await openService({ workload: instantWorkload(() => output) });
  const proxy = new FaultyProxy(url, faults, picture);
  const server = createServer((request, response) => {
    // Who gives up breaks off in the midst of a request.
    proxy.answer(request, response).catch(() => response.destroy());
  });
  const jobs = async () => ((await ask(url, healthPath('v2', endpointId))).json as HealthResponse).jobs;
  return {
    url: await listenOnLoopback(server),
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

class FaultyProxy {
  readonly #url: string;
  readonly #faults: Faults;
  readonly #picture: Buffer;
  #firstJob: unknown;

  constructor(url: string, faults: Faults, picture: Buffer) {
    this.#url = url;
    this.#faults = { ...faults };
    this.#picture = picture;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const fault = this.#faultOf(request.url ?? '');
    const body = await buffer(request);
    const answering = { response, random: chance(7), elsewhere: 'https://elsewhere.invalid' };
    if (fault !== undefined && 'instead' in fault) return fault.instead(answering);
    const { status, fields } = await this.#askService(request, body);
    if (fault === undefined) sendJson(response, fields, status);
    else fault.after(answering, fields);
  }

  /** Each is met once. */
  #faultOf(path: string): RequestFault | undefined {
    const place = path.endsWith('/run') ? 'submit' : 'status';
    const fault = this.#faults[place];
    this.#faults[place] = undefined;
    return fault;
  }

  async #askService(
    { url = '', method = '', headers }: IncomingMessage,
    body: Buffer,
  ): Promise<{ status: number; fields: Fields }> {
    const reply = await fetch(this.#url + url, {
      method,
      headers: { authorization: headers.authorization ?? '' },
      body: body.length === 0 ? null : new Uint8Array(body),
    });
    const fields = (await reply.json()) as Fields;
    this.#firstJob ??= fields['id'];
    const { status } = reply;
    if (this.#faults.end === undefined || fields['status'] !== 'COMPLETED' || fields['id'] !== this.#firstJob)
      return { status, fields };
    const { output: _output, ...others } = fields;
    return { status, fields: { ...others, ...this.#faults.end(this.#picture) } };
  }
}
