/** Tells those who asked for it that a job has ended: one try and two more, each over restarts of the service. */
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { statusBody } from './answer.ts';
import type { JobBook } from './job-book.ts';
import type { ResultFiles } from './result-files.ts';
import { type DueWebhook, prepareWebhookStatements } from './webhook-statements.ts';

export interface WebhooksParts {
  book: JobBook;
  files: ResultFiles;
  onTrouble: (text: string) => void;
  /** Wall clock, epoch ms. */
  now: () => number;
}

/** Between the tries; after the last there is none. */
const pausesMs = [10_000, 60_000];

const lookEveryMs = 500;
const timeoutMs = 15_000;
const atOnce = 16;

export class Webhooks {
  readonly #parts: WebhooksParts;
  readonly #sql: ReturnType<typeof prepareWebhookStatements>;
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;

  constructor(parts: WebhooksParts) {
    this.#parts = parts;
    this.#sql = prepareWebhookStatements(parts.book.file.db);
    this.#done = this.#work();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  async #work(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        const due = this.#sql.due.all({ now: this.#parts.now(), max: atOnce });
        await Promise.all(due.map((webhook) => this.#tell(webhook)));
        if (due.length > 0) continue;
      } catch (error) {
        if (!signal.aborted) this.#parts.onTrouble(`webhooks cannot be sent: ${String(error)}`);
      }
      await sleep(lookEveryMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #tell(webhook: DueWebhook): Promise<void> {
    const why = await this.#send(webhook);
    if (this.#stop.signal.aborted) return;
    const { job, tries, url } = webhook;
    const pauseMs = why === undefined ? undefined : pausesMs[tries];
    const dueAt = pauseMs === undefined ? null : Math.floor(this.#parts.now()) + pauseMs;
    if (why !== undefined && dueAt === null)
      this.#parts.onTrouble(
        `the webhook of job ${webhook.id} at ${new URL(url).host} was not heard in ${tries + 1} tries: ${why}`,
      );
    await this.#parts.book.file.commit.write(() => this.#sql.postpone.run({ job, dueAt, tries: tries + 1 }));
  }

  /** Undefined where it was heard, otherwise why not. */
  async #send({ id, endpointId, url }: DueWebhook): Promise<string | undefined> {
    const body = await this.#bodyOf(endpointId, id);
    if (body === undefined) return undefined;
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(timeoutMs)]);
    try {
      const headers = { 'Content-Type': 'application/json' };
      const answer = await request(url, { method: 'POST', headers, body, signal });
      await answer.body.dump();
      const isHeard = answer.statusCode >= 200 && answer.statusCode < 300;
      return isHeard ? undefined : `it answered ${answer.statusCode}`;
    } catch (error) {
      return String(error);
    }
  }

  /** The whole job with its input; undefined where its time is over. */
  async #bodyOf(endpointId: string, id: string): Promise<string | Buffer | undefined> {
    const { book, files } = this.#parts;
    const job = book.find(endpointId, id);
    const input = this.#sql.input.get(id)?.input;
    if (job === undefined || input === undefined) return undefined;
    if (job.outputFile === null) return statusBody(job, input);
    const payload = await files.read(job.outputFile);
    return payload === undefined ? undefined : statusBody({ ...job, payload }, input);
  }
}
