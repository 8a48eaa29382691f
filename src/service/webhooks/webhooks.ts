/** Sends webhooks of ended jobs, and retries them with growing pauses while their jobs are kept. */
import { isIP } from 'node:net';
import { Readable } from 'node:stream';
import { type Agent, request } from 'undici';
import { type Internet, publicAddresses, publicLookup, isPublicAddress } from '../../lib/net/addresses.ts';
import { proxiedAgent } from '../../lib/net/proxied-agent.ts';
import { proxyFor, type ProxyRules, proxyUrl } from '../../lib/net/addresses.ts';
import { withTimeLimit } from '../../lib/limits.ts';
import { oneLine } from '../../lib/text/format.ts';
import {
  closeFilesOf,
  type FiledText,
  type Text,
  byteCountOf,
  isFiled,
  piecesOf,
} from '../../lib/files/filed-text.ts';
import type { JobStore } from '../jobs/job-store.ts';
import type { WebhookSecrets } from './webhook-secrets.ts';
import { type DueWebhook, prepareWebhookStatements } from '../jobs/job-statements.ts';
import { statusText } from '../jobs/job-reads.ts';
import { createHmac } from 'node:crypto';

/** Bounds of the pause before the next try. The pause equals the time since the job ended. */
const waitsMs = { min: 10_000, max: 60 * 60_000 };

const pollEveryMs = 500;
const queuesAtOnce = 2_000;
/** Due webhooks read from a queue at once. More than a queue sends concurrently, so some are not yet being sent. */
const maxDuePerQueue = 8;
/** Number of due webhooks that are postponed together if their host is unreachable. */
const postponedAtOnce = 500;
const reportEveryMs = 5_000;

export class Webhooks {
  readonly #parts;
  readonly #sql: ReturnType<typeof prepareWebhookStatements>;
  readonly #stop = new AbortController();
  readonly #timers: NodeJS.Timeout[];
  /** Last queue of the latest poll. The next poll continues after it. */
  #polledUpTo = '';
  readonly #slots = new WebhookSlots();
  readonly #sender: WebhookSender;
  /** Webhooks being sent, by job number. */
  readonly #sending = new Map<number, Promise<void>>();
  #problems: string[] = [];

  constructor(
    parts: WebhookTargets & {
      store: JobStore;
      secrets: Pick<WebhookSecrets, 'of'>;
      retentionMs: number;
      onProblem: (text: string) => void;
      /** Clock of `JobClock`, epoch ms. */
      now: () => number;
    },
  ) {
    this.#parts = parts;
    this.#sender = new WebhookSender(parts);
    this.#sql = prepareWebhookStatements(parts.store.file.db);
    this.#timers = [
      setInterval(() => this.#poll(), pollEveryMs).unref(),
      setInterval(() => this.#reportProblems(), reportEveryMs).unref(),
    ];
    this.#poll();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.all(this.#sending.values());
    await this.#sender.close();
    this.#reportProblems();
  }

  /** Starts due webhooks. The queue that has waited longest gets a slot first. */
  #poll(): void {
    this.#attempt(() => {
      const queues = this.#sql.queues.all({ after: this.#polledUpTo, max: queuesAtOnce });
      this.#polledUpTo = queues.length < queuesAtOnce ? '' : (queues.at(-1)?.queue ?? '');
      const now = this.#parts.now();
      const due = queues.filter(({ dueAt }) => dueAt <= now).toSorted((a, b) => a.dueAt - b.dueAt);
      for (const { queue } of due) this.#pollQueue(queue);
    });
  }

  #pollQueue(queue: string): void {
    if (!this.#slots.hasRoom(queue)) return;
    for (const webhook of this.#sql.due.all({ queue, now: this.#parts.now(), max: maxDuePerQueue })) {
      if (this.#sending.has(webhook.job)) continue;
      const release = this.#slots.acquire(webhook);
      if (release === undefined) return;
      this.#sending.set(webhook.job, this.#begin(webhook, release));
    }
  }

  #attempt(work: () => void): void {
    if (this.#stop.signal.aborted) return;
    try {
      work();
    } catch (error) {
      this.#parts.onProblem(`webhooks cannot be sent: ${String(error)}`);
    }
  }

  async #begin(webhook: DueWebhook, release: (hasAnswered?: boolean) => void): Promise<void> {
    try {
      release(await this.#send(webhook));
      this.#sending.delete(webhook.job);
      this.#attempt(() => this.#pollQueue(webhook.queue));
    } catch (error) {
      release();
      this.#sending.delete(webhook.job);
      this.#problems.push(`the webhook of job ${webhook.id} cannot be sent: ${String(error)}`);
    }
  }

  /** Sends a webhook, recorded before as a crash may follow. True if answered, undefined if not sent. */
  async #send(webhook: DueWebhook): Promise<boolean | undefined> {
    const { secrets, now, store } = this.#parts;
    const { job, id, tries, url, queue, keyId, endedAt, dueAt: wasDueAt } = webhook;
    const body = await this.#bodyOf(webhook);
    try {
      const dueAt = nextTryAt(now(), endedAt);
      const begun = await store.file.commit.write(() =>
        this.#sql.try.run({ job, tries, endedAt, wasDueAt, dueAt }),
      );
      // There is no body if the retention of the job is over.
      if (begun.changes === 0 || body === undefined || this.#stop.signal.aborted) return undefined;
      const message = { id: `${id}-${endedAt}`, nowMs: Date.now(), body };
      const headers = await signedHeaders(secrets.of(keyId), message);
      const { why, ...end } = await this.#sender.send(url, { body, headers }, this.#stop.signal);
      const tried = { ...webhook, tries: tries + 1, dueAt: end.isFinal === true ? Infinity : dueAt };
      if (why === undefined) await store.file.commit.write(() => this.#sql.delivered.run(tried));
      else if (!this.#stop.signal.aborted) await store.file.commit.write(() => this.#fail(tried, why));
      if (why !== undefined && end.isUnreachable === true) await this.#postpone(queue, why);
      return end.hasAnswered;
    } finally {
      await closeFilesOf(body);
    }
  }

  /** Postpones a queue whose host is unreachable. Each webhook counts as tried, with its own pause. */
  async #postpone(queue: string, why: string): Promise<void> {
    const { store, now } = this.#parts;
    await store.file.commit.write(() => {
      const at = now();
      const due = this.#sql.due.all({ queue, now: at, max: postponedAtOnce });
      for (const { dueAt: wasDueAt, ...webhook } of due) {
        if (this.#sending.has(webhook.job)) continue;
        const dueAt = nextTryAt(at, webhook.endedAt);
        this.#sql.try.run({ ...webhook, wasDueAt, dueAt });
        this.#fail({ ...webhook, tries: webhook.tries + 1, dueAt }, why);
      }
    });
  }

  /** Stores a failed try. Call this inside a transaction. `dueAt` is the time of the next try. */
  #fail({ job, id, tries, url, endedAt, dueAt }: DueWebhook, why: string): void {
    const isOver = dueAt >= endedAt + this.#parts.retentionMs;
    const { changes } = this.#sql.failed.run({ job, tries, endedAt, why, dueAt: isOver ? null : dueAt });
    if (!isOver || changes === 0) return;
    const count = tries === 1 ? '1 try' : `${tries} tries`;
    this.#problems.push(
      `the webhook of job ${id} to ${new URL(url).host} was given up after ${count}, and can be sent again in the console: ${why}`,
    );
  }

  /** Reports all problems in one message, because many webhooks fail at once. */
  #reportProblems(): void {
    const [first, ...others] = this.#problems;
    this.#problems = [];
    if (first === undefined) return;
    this.#parts.onProblem(others.length === 0 ? first : `${first} (and ${others.length} webhooks more)`);
  }

  /** Returns the whole job with its input; undefined if its retention is over. */
  async #bodyOf({ endpointId, id, url }: DueWebhook): Promise<Text | FiledText | undefined> {
    const { store } = this.#parts;
    const job = store.reads.find(endpointId, id);
    const opened = job && (await store.reads.open(job));
    const input = opened && (await store.reads.inputOf(id));
    if (opened !== undefined && input !== undefined) return statusText(opened, input, url);
    await closeFilesOf(opened && opened.payload !== null ? [opened.payload] : undefined);
    return undefined;
  }
}

/**
 * Returns the headers that identify and sign a message, with one signature for each secret. `id` is the same in
 * every try. `nowMs` is the time of this try (system clock, epoch ms), which receivers check.
 */
async function signedHeaders(
  secrets: Buffer[],
  { id, nowMs, body }: { id: string; nowMs: number; body: Text | FiledText },
): Promise<Record<string, string>> {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const hmacs = secrets.map((secret) => createHmac('sha256', secret).update(`${id}.${timestamp}.`));
  for await (const piece of piecesOf(isFiled(body) ? body : [body]))
    for (const hmac of hmacs) hmac.update(piece);
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': hmacs.map((hmac) => `v1,${hmac.digest('base64')}`).join(' '),
  };
}

function nextTryAt(now: number, endedAt: number): number {
  const { min, max } = waitsMs;
  return Math.floor(now) + Math.min(max, Math.max(min, Math.floor(now) - endedAt));
}

interface WebhookTargets {
  hasPrivate: boolean;
  /** Looks up host names, if webhooks may only go to the internet. */
  internet?: Internet;
  /** URL of a proxy. Undefined if webhooks use none. */
  proxy?: string | undefined;
}

interface Try {
  /** Error of the try; undefined if it succeeded. */
  why?: string;
  /** Undefined if nothing was sent. */
  hasAnswered?: boolean;
  /** True if no connection to the host was possible. */
  isUnreachable?: boolean;
  /** True if no further try should be made. */
  isFinal?: boolean;
}

const timeoutMs = 15_000;
const connectMs = 5_000;

class WebhookSender {
  readonly #hasPrivate: boolean;
  readonly #internet: Internet | undefined;
  readonly #proxies: ProxyRules;
  readonly #agent: Agent;
  readonly #connectionErrors = new WeakSet<Error>();

  constructor({ hasPrivate, internet, proxy }: WebhookTargets) {
    this.#hasPrivate = hasPrivate;
    this.#internet = internet;
    const url = proxy === undefined ? undefined : proxyUrl(proxy);
    this.#proxies = { http: url, https: url, except: [], isForAll: false };
    this.#agent = proxiedAgent(this.#proxies, {
      connect: { timeout: connectMs, ...(!hasPrivate && { lookup: publicLookup(internet) }) },
    });
    this.#agent.on('connectionError', (_origin, _targets, error) => this.#connectionErrors.add(error));
  }

  async send(
    url: string,
    { body: text, headers }: { body: Text | FiledText; headers: Record<string, string> },
    stop: AbortSignal,
  ): Promise<Try> {
    if (!this.#hasPrivate && isPrivateTarget(url))
      return { why: 'webhooks to this machine or its network are not allowed', isFinal: true };
    const post = async (signal: AbortSignal): Promise<number> => {
      // A proxy resolves names itself.
      if (!this.#hasPrivate && proxyFor(new URL(url), this.#proxies) !== undefined)
        await publicAddresses(new URL(url).hostname, this.#internet);
      const { statusCode, body } = await request(url, {
        method: 'POST',
        headers: {
          ...headers,
          'Content-Type': 'application/json',
          'Content-Length': String(byteCountOf(text)),
        },
        body: isFiled(text) ? Readable.from(piecesOf(text)) : text,
        signal,
        dispatcher: this.#agent,
      });
      await body.dump();
      return statusCode;
    };
    try {
      const statusCode = await withTimeLimit(timeoutMs, stop, post);
      if (statusCode >= 200 && statusCode < 300) return { hasAnswered: true };
      // 410 Gone: the receiver wants no more webhooks.
      return { hasAnswered: true, why: `it answered ${statusCode}`, isFinal: statusCode === 410 };
    } catch (error) {
      const isUnreachable = error instanceof Error && this.#connectionErrors.has(error);
      return { hasAnswered: false, why: oneLine(String(error)) ?? 'no reason', isUnreachable };
    }
  }

  /** Ends running requests. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

/** True if the URL's host is a private IP address or localhost. False for other names, which are checked after they are resolved. Throws for an invalid URL. */
export function isPrivateTarget(url: string): boolean {
  const host = new URL(url).hostname.replace(/^\[(.*)\]$|\.$/, '$1');
  if (isIP(host) !== 0) return !isPublicAddress(host);
  return /(^|\.)localhost$/.test(host);
}

interface WebhookLoad {
  /** Receiver and key, in the form of `queueOf`. */
  queue: string;
  /** Memory that it needs while it is sent. */
  bytes: number;
}

/** State of a queue's receiver: how the latest try went, or `untried` since the service started or for long. */
type QueueState = 'answering' | 'untried' | 'silent';

const limits = { webhooks: 1_024, bytes: 64 * 1024 * 1024 };

/** Fraction of `limits` that queues of this state and worse ones may use together. */
const shares: Record<QueueState, number> = { answering: 1, untried: 3 / 4, silent: 1 / 4 };

/** States from worst to best. */
const states: readonly QueueState[] = ['silent', 'untried', 'answering'];

/** Maximum concurrent webhooks of a queue; 1 unless it answers, or hanging hosts would take all slots. */
const maxPerQueue: Record<QueueState, number> = { answering: 4, untried: 1, silent: 1 };

/** Maximum number of queues whose state is remembered. The oldest state is forgotten first. */
const maxQueues = 10_000;

/** Limits concurrent webhooks: of one queue, to silent hosts, and in total. */
export class WebhookSlots {
  readonly #states = new Map<string, QueueState>();
  readonly #passing = new Map<string, number>();
  readonly #taken: Record<QueueState, { webhooks: number; bytes: number }> = {
    answering: { webhooks: 0, bytes: 0 },
    untried: { webhooks: 0, bytes: 0 },
    silent: { webhooks: 0, bytes: 0 },
  };

  /** True if a small webhook of this queue could start now. */
  hasRoom(queue: string): boolean {
    const state = this.#states.get(queue) ?? 'untried';
    return (this.#passing.get(queue) ?? 0) < maxPerQueue[state] && this.#fits(state, 0);
  }

  /** Takes a slot. Returns a function that releases it, or undefined if there is no slot. */
  acquire({ queue, bytes }: WebhookLoad): ((hasAnswered: boolean | undefined) => void) | undefined {
    const state = this.#states.get(queue) ?? 'untried';
    if (!this.hasRoom(queue) || !this.#fits(state, bytes)) return undefined;
    this.#passing.set(queue, (this.#passing.get(queue) ?? 0) + 1);
    const taken = this.#taken[state];
    taken.webhooks += 1;
    taken.bytes += bytes;
    return (hasAnswered) => {
      taken.webhooks -= 1;
      taken.bytes -= bytes;
      this.#release(queue);
      if (hasAnswered !== undefined) this.#note(queue, hasAnswered ? 'answering' : 'silent');
    };
  }

  /** True if another webhook fits. A webhook larger than the limit is sent alone. */
  #fits(state: QueueState, bytes: number): boolean {
    return states.slice(states.indexOf(state)).every((each) => {
      const taken = this.#takenUpTo(each);
      const fits = taken.bytes === 0 || taken.bytes + bytes <= shares[each] * limits.bytes;
      return fits && taken.webhooks < shares[each] * limits.webhooks;
    });
  }

  /** Returns the use by queues of this state and worse ones. */
  #takenUpTo(state: QueueState): { webhooks: number; bytes: number } {
    const lower = states.slice(0, states.indexOf(state) + 1).map((each) => this.#taken[each]);
    return {
      webhooks: lower.reduce((sum, { webhooks }) => sum + webhooks, 0),
      bytes: lower.reduce((sum, { bytes }) => sum + bytes, 0),
    };
  }

  #release(queue: string): void {
    const passing = (this.#passing.get(queue) ?? 1) - 1;
    if (passing === 0) this.#passing.delete(queue);
    else this.#passing.set(queue, passing);
  }

  #note(queue: string, state: QueueState): void {
    this.#states.delete(queue);
    this.#states.set(queue, state);
    const [first] = this.#states.keys();
    if (this.#states.size > maxQueues && first !== undefined) this.#states.delete(first);
  }
}
