/** Sends the webhooks of ended jobs: up to three tries, which continue over restarts. */
import { Readable } from 'node:stream';
import { Agent, request } from 'undici';
import { statusBody } from '../http/http-response.ts';
import {
  closeFilesOf,
  type FiledText,
  type Text,
  byteCountOf,
  isFiled,
  piecesOf,
} from '../jobs/filed-text.ts';
import type { JobStore } from '../jobs/job-store.ts';
import { WebhookSlots } from './webhook-slots.ts';
import { type DueWebhook, prepareWebhookStatements } from './webhook-statements.ts';
import { oneLine } from '../../lib/text/format.ts';
import { type Internet, publicLookup, isPublicAddress } from '../../lib/net/addresses.ts';
import { isIP } from 'node:net';

export interface WebhooksParts extends WebhookTargets {
  store: JobStore;
  onProblem: (text: string) => void;
  /** That of `JobClock`, epoch ms. */
  now: () => number;
}

/** Between the tries; after the last there is none. */
const pausesMs = [10_000, 60_000];

const pollEveryMs = 500;
const pollSize = 500;

const beforeAll = { dueAt: 0, job: 0 };

export class Webhooks {
  readonly #parts: WebhooksParts;
  readonly #sql: ReturnType<typeof prepareWebhookStatements>;
  readonly #stop = new AbortController();
  readonly #timer: NodeJS.Timeout;
  /** The last one polled; later ones come next, so that many for one host do not starve others. */
  #polledUpTo = beforeAll;
  readonly #slots = new WebhookSlots();
  readonly #sender: WebhookSender;
  /** By job. */
  readonly #sending = new Map<number, Promise<void>>();

  constructor(parts: WebhooksParts) {
    this.#parts = parts;
    this.#sender = new WebhookSender(parts);
    this.#sql = prepareWebhookStatements(parts.store.file.db);
    this.#timer = setInterval(() => this.#poll(), pollEveryMs).unref();
    this.#poll();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    clearInterval(this.#timer);
    await Promise.all(this.#sending.values());
    await this.#sender.close();
  }

  #poll(): void {
    if (this.#stop.signal.aborted || this.#slots.isFull) return;
    try {
      const due = this.#sql.due.all({ now: this.#parts.now(), max: pollSize, ...this.#polledUpTo });
      const last = due.at(-1);
      this.#polledUpTo =
        due.length < pollSize || last === undefined ? beforeAll : { dueAt: last.dueAt, job: last.job };
      for (const webhook of due) this.#beginWhereRoom(webhook);
    } catch (error) {
      this.#parts.onProblem(`webhooks cannot be sent: ${String(error)}`);
    }
  }

  #beginWhereRoom(webhook: DueWebhook): void {
    if (this.#sending.has(webhook.job)) return;
    const release = this.#slots.acquire({ host: new URL(webhook.url).host, bytes: webhook.bytes });
    if (release !== undefined) this.#sending.set(webhook.job, this.#begin(webhook, release));
  }

  async #begin(webhook: DueWebhook, release: (hasAnswered?: boolean) => void): Promise<void> {
    try {
      release(await this.#send(webhook));
      this.#sending.delete(webhook.job);
      this.#poll();
    } catch (error) {
      release();
      this.#sending.delete(webhook.job);
      this.#parts.onProblem(`the webhook of job ${webhook.id} cannot be sent: ${String(error)}`);
    }
  }

  /**
   * Resolves to whether its host answered, undefined where it was not asked. A try counts before it is made: one that
   * the service does not live to see the end of was one.
   */
  async #send(webhook: DueWebhook): Promise<boolean | undefined> {
    const { commit } = this.#parts.store.file;
    const body = await this.#bodyOf(webhook);
    const { job, tries, url, dueAt: wasDueAt } = webhook;
    const pauseMs = pausesMs[tries];
    const dueAt = pauseMs === undefined ? null : Math.floor(this.#parts.now()) + pauseMs;
    try {
      const begun = await commit.write(() => this.#sql.postpone.run({ job, tries, wasDueAt, dueAt }));
      if (begun.changes === 0 || this.#stop.signal.aborted) return undefined;
      const { why, hasAnswered } =
        body === undefined ? nothingToSend : await this.#sender.send(url, body, this.#stop.signal);
      if (why === undefined)
        await commit.write(() => this.#sql.silence.run({ job, tries: tries + 1, dueAt }));
      else if (dueAt === null && !this.#stop.signal.aborted) this.#giveUp(webhook, new URL(url).host, why);
      return hasAnswered;
    } finally {
      await closeFilesOf(body);
    }
  }

  #giveUp({ id, tries }: DueWebhook, host: string, why: string): void {
    this.#parts.onProblem(`the webhook of job ${id} to ${host} failed after ${tries + 1} tries: ${why}`);
  }

  /** The whole job with its input; undefined where its time is over. */
  async #bodyOf({ endpointId, id, url }: DueWebhook): Promise<Text | FiledText | undefined> {
    const { store } = this.#parts;
    const job = store.reads.find(endpointId, id);
    const opened = job && (await store.reads.open(job));
    const input = opened && (await store.reads.inputOf(id));
    if (opened !== undefined && input !== undefined) return statusBody(opened, input, url);
    await closeFilesOf(opened && opened.payload !== null ? [opened.payload] : undefined);
    return undefined;
  }
}

const nothingToSend: Try = {};

/** Whom webhooks may lead to. */
interface WebhookTargets {
  /** Whether they may lead to this machine and its network. */
  hasPrivate: boolean;
  /** Where names are looked up that may lead to the internet only. */
  internet?: Internet;
}

/** The result of a try. */
interface Try {
  /** Why it failed; undefined where it succeeded. */
  why?: string;
  /** Undefined where the host was not asked. */
  hasAnswered?: boolean;
}

const timeoutMs = 15_000;
const connectMs = 5_000;

class WebhookSender {
  readonly #hasPrivate: boolean;
  readonly #agent: Agent;

  constructor({ hasPrivate, internet }: WebhookTargets) {
    this.#hasPrivate = hasPrivate;
    this.#agent = new Agent({
      connect: { timeout: connectMs, ...(!hasPrivate && { lookup: publicLookup(internet) }) },
    });
  }

  async send(url: string, text: Text | FiledText, stop: AbortSignal): Promise<Try> {
    if (!this.#hasPrivate && isPrivateTarget(url))
      return { why: 'webhooks to this machine or its network are not allowed' };
    try {
      const { statusCode, body } = await request(url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'Content-Length': String(byteCountOf(text)) },
        body: isFiled(text) ? Readable.from(piecesOf(text)) : text,
        signal: AbortSignal.any([stop, AbortSignal.timeout(timeoutMs)]),
        dispatcher: this.#agent,
      });
      await body.dump();
      const isAccepted = statusCode >= 200 && statusCode < 300;
      return { hasAnswered: true, ...(!isAccepted && { why: `it answered ${statusCode}` }) };
    } catch (error) {
      return { hasAnswered: false, why: oneLine(String(error)) ?? 'no reason' };
    }
  }

  /** Those that are on their way end. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

/** As far as the URL itself tells: what a name stands for shows when it is connected to. */
export function isPrivateTarget(url: string): boolean {
  const host = new URL(url).hostname.replace(/^\[(.*)\]$|\.$/, '$1');
  if (isIP(host) !== 0) return !isPublicAddress(host);
  return /(^|\.)localhost$/.test(host);
}
