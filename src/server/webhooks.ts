/** Tells those who asked for it that a job has ended: one try and two more, each over restarts of the service. */
import { Readable } from 'node:stream';
import { request } from 'undici';
import { statusBody } from './answer.ts';
import type { FaultPlan } from './faults/fault-plan.ts';
import {
  byteCountOf,
  closeFilesOf,
  type FiledText,
  isFiled,
  piecesOf,
  type Text,
  wholeOf,
} from './filed-text.ts';
import type { JobBook } from './job-book.ts';
import type { ResultFiles } from './result-files.ts';
import { type DueWebhook, prepareWebhookStatements } from './webhook-statements.ts';

export interface WebhooksParts {
  book: JobBook;
  files: ResultFiles;
  onTrouble: (text: string) => void;
  /** Wall clock, epoch ms. */
  now: () => number;
  /** What goes wrong on purpose; undefined where nothing does. */
  faults?: FaultPlan | undefined;
}

/** Between the tries; after the last there is none. */
const pausesMs = [10_000, 60_000];

const lookEveryMs = 500;
const timeoutMs = 15_000;
const atOnce = 32;
/** A host that hangs keeps nobody else from being told. */
const atOnceToOneHost = 4;
const lookedAt = 500;

const beforeAll = { dueAt: 0, job: 0 };

export class Webhooks {
  readonly #parts: WebhooksParts;
  readonly #sql: ReturnType<typeof prepareWebhookStatements>;
  readonly #stop = new AbortController();
  readonly #timer: NodeJS.Timeout;
  /** What was looked at last; those behind it come next, so that many for one host hide nobody else's. */
  #lookedUpTo = beforeAll;
  /** By job. */
  readonly #telling = new Map<number, { host: string; done: Promise<void> }>();

  constructor(parts: WebhooksParts) {
    this.#parts = parts;
    this.#sql = prepareWebhookStatements(parts.book.file.db);
    this.#timer = setInterval(() => this.#look(), lookEveryMs).unref();
    this.#look();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    clearInterval(this.#timer);
    await Promise.all([...this.#telling.values()].map(({ done }) => done));
  }

  #look(): void {
    if (this.#stop.signal.aborted || this.#telling.size >= atOnce) return;
    try {
      const due = this.#sql.due.all({ now: this.#parts.now(), max: lookedAt, ...this.#lookedUpTo });
      const last = due.at(-1);
      this.#lookedUpTo =
        due.length < lookedAt || last === undefined ? beforeAll : { dueAt: last.dueAt, job: last.job };
      for (const webhook of due) {
        const { host } = new URL(webhook.url);
        if (this.#hasRoom(webhook, host))
          this.#telling.set(webhook.job, { host, done: this.#begin(webhook) });
      }
    } catch (error) {
      this.#parts.onTrouble(`webhooks cannot be sent: ${String(error)}`);
    }
  }

  #hasRoom({ job }: DueWebhook, host: string): boolean {
    const toHost = [...this.#telling.values()].filter((other) => other.host === host).length;
    return !this.#telling.has(job) && this.#telling.size < atOnce && toHost < atOnceToOneHost;
  }

  async #begin(webhook: DueWebhook): Promise<void> {
    try {
      await this.#tell(webhook);
      this.#telling.delete(webhook.job);
      this.#look();
    } catch (error) {
      this.#telling.delete(webhook.job);
      this.#parts.onTrouble(`the webhook of job ${webhook.id} cannot be sent: ${String(error)}`);
    }
  }

  async #tell(webhook: DueWebhook): Promise<void> {
    const { faults } = this.#parts;
    const honest = await this.#bodyOf(webhook);
    if (honest === undefined || faults?.isToldAtEnd(webhook.id) !== true)
      return await this.#tellThat(webhook, honest);
    const body = faults.toldAtEnd(webhook.id, await wholeOf(honest));
    if (body === undefined) await this.#putOff(webhook);
    else await this.#tellThat(webhook, body);
  }

  async #putOff({ job, dueAt: wasDueAt }: DueWebhook): Promise<void> {
    const dueAt = Math.floor(this.#parts.now()) + lookEveryMs;
    await this.#parts.book.file.commit.write(() => this.#sql.putOff.run({ job, wasDueAt, dueAt }));
  }

  /** A try counts before it is made: one that the service does not live to see the end of was one. */
  async #tellThat(webhook: DueWebhook, body: Text | FiledText | undefined): Promise<void> {
    const { commit } = this.#parts.book.file;
    const { job, tries, url, dueAt: wasDueAt } = webhook;
    const pauseMs = pausesMs[tries];
    const dueAt = pauseMs === undefined ? null : Math.floor(this.#parts.now()) + pauseMs;
    try {
      const begun = await commit.write(() => this.#sql.postpone.run({ job, tries, wasDueAt, dueAt }));
      if (begun.changes === 0 || this.#stop.signal.aborted) return;
      const why = body === undefined ? undefined : await this.#send(url, body);
      if (why === undefined)
        await commit.write(() => this.#sql.silence.run({ job, tries: tries + 1, dueAt }));
      else if (dueAt === null && !this.#stop.signal.aborted) this.#giveUp(webhook, new URL(url).host, why);
    } finally {
      await closeFilesOf(body);
    }
  }

  #giveUp({ id, tries }: DueWebhook, host: string, why: string): void {
    this.#parts.onTrouble(`the webhook of job ${id} at ${host} was not heard in ${tries + 1} tries: ${why}`);
  }

  /** Undefined where it was heard, otherwise why not. */
  async #send(url: string, text: Text | FiledText): Promise<string | undefined> {
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(timeoutMs)]);
    try {
      const headers = { 'Content-Type': 'application/json', 'Content-Length': String(byteCountOf(text)) };
      const body = isFiled(text) ? Readable.from(piecesOf(text)) : text;
      const answer = await request(url, { method: 'POST', headers, body, signal });
      await answer.body.dump();
      const isHeard = answer.statusCode >= 200 && answer.statusCode < 300;
      return isHeard ? undefined : `it answered ${answer.statusCode}`;
    } catch (error) {
      return String(error);
    }
  }

  /** The whole job with its input; undefined where its time is over. */
  async #bodyOf({ endpointId, id }: DueWebhook): Promise<Text | FiledText | undefined> {
    const { book, files } = this.#parts;
    const job = book.find(endpointId, id);
    const input = this.#sql.input.get(id)?.input;
    if (job === undefined || input === undefined) return undefined;
    if (job.outputFile === null) return statusBody(job, input);
    const payload = await files.open(job.outputFile);
    return payload === undefined ? undefined : statusBody({ ...job, payload }, input);
  }
}
