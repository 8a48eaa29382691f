/** `GET /metrics` in the text format of Prometheus (prometheus.io/docs/instrumenting/exposition_formats). */
import type { HttpResponse } from '../../lib/http/http-response.ts';
import { Histogram } from '../jobs/job-history.ts';
import type { JobStore } from '../jobs/job-store.ts';
import type { Endpoint } from '../workers/endpoints.ts';

type Labels = Record<string, string>;

export class Metrics {
  readonly #store: JobStore;
  readonly #loopDelay: LoopDelay;
  /** Clock of `JobClock`, epoch ms. */
  readonly #now: () => number;
  readonly #answers = new Map<string, number>();

  constructor(store: JobStore, now: () => number, loopDelay: LoopDelay) {
    this.#store = store;
    this.#loopDelay = loopDelay;
    this.#now = now;
  }

  count(operation: string, status: number): void {
    const key = `${operation} ${status}`;
    this.#answers.set(key, (this.#answers.get(key) ?? 0) + 1);
  }

  /** Returns the metrics. Reads a few rows for each endpoint, independent of the number of jobs. */
  answer(endpoints: readonly Endpoint[]): HttpResponse {
    const body = [
      ...metric(
        'jobs',
        'gauge',
        'Jobs by status; those that have ended stay counted.',
        endpoints.flatMap((endpoint) => this.#jobsOf(endpoint)),
      ),
      ...metric(
        'queue_oldest_seconds',
        'gauge',
        'Seconds that the next job has waited; 0 if none waits.',
        endpoints.map(({ id }) => line({ endpoint: id }, this.#waitedSeconds(id))),
      ),
      ...this.#histogram('delay', 'Time that ended jobs waited for a worker.', endpoints),
      ...this.#histogram('execution', 'Time that ended jobs spent in a worker.', endpoints),
      ...metric(
        'endpoint_paused',
        'gauge',
        '1 if workers get no jobs.',
        endpoints.map(({ id }) => line({ endpoint: id }, this.#store.reads.isPaused(id) ? 1 : 0)),
      ),
      ...metric('workers', 'gauge', 'Workers by state.', endpoints.flatMap(workersOf)),
      ...metric(
        'http_requests_total',
        'counter',
        'Answered requests by operation and status code.',
        [...this.#answers].map(([key, count]) => {
          const [operation = '', code = ''] = key.split(' ');
          return line({ operation, code }, count);
        }),
      ),
      ...metric(
        'event_loop_delay_seconds',
        'histogram',
        'Delay of due work in the service, sampled every 50 ms.',
        bucketsOf({}, this.#loopDelay.histogram),
      ),
    ];
    const headers = { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' };
    return { status: 200, headers, body: `${body.join('\n')}\n` };
  }

  #jobsOf({ id }: Endpoint): Sample[] {
    const { retried: _retried, ...states } = this.#store.reads.tally(id);
    return Object.entries(states).map(([status, jobs]) => line({ endpoint: id, status }, jobs));
  }

  #waitedSeconds(endpointId: string): number {
    const since = this.#store.reads.nextQueuedAt(endpointId);
    return since === undefined ? 0 : Math.max(0, this.#now() - since) / 1_000;
  }

  #histogram(which: 'delay' | 'execution', help: string, endpoints: readonly Endpoint[]): string[] {
    const samples = endpoints.flatMap(({ id }) =>
      bucketsOf({ endpoint: id }, this.#store.durations.of(id)[which]),
    );
    return metric(`job_${which}_seconds`, 'histogram', help, samples);
  }
}

type Sample = { suffix?: string; labels: Labels; value: number };

function line(labels: Labels, value: number, suffix = ''): Sample {
  return { suffix, labels, value };
}

function metric(name: string, type: string, help: string, samples: Sample[]): string[] {
  const full = `nightrender_${name}`;
  return [
    `# HELP ${full} ${help}`,
    `# TYPE ${full} ${type}`,
    ...samples.map(({ suffix = '', labels, value }) => `${full}${suffix}{${labelText(labels)}} ${value}`),
  ];
}

function labelText(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value.replaceAll(/["\\\n]/g, escaped)}"`)
    .join(',');
}

function escaped(character: string): string {
  return character === '\n' ? String.raw`\n` : `\\${character}`;
}

function bucketsOf(labels: Labels, { buckets, count, sumSeconds }: Histogram): Sample[] {
  return [
    ...buckets.map(([le, below]) => line({ ...labels, le: String(le) }, below, '_bucket')),
    line({ ...labels, le: '+Inf' }, count, '_bucket'),
    line(labels, sumSeconds, '_sum'),
    line(labels, count, '_count'),
  ];
}

function workersOf({ id, workers }: Endpoint): Sample[] {
  const counts = new Map<string, number>();
  for (const { state } of workers) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].map(([state, count]) => line({ endpoint: id, state }, count));
}

/** Upper bounds of the buckets, in seconds. */
const loopDelaySeconds = [0.01, 0.05, 0.1, 0.2, 0.5, 1, 5, 30] as const;

const everyMs = 50;

export class LoopDelay {
  /** Delays since the start, measured every 50 ms. A longer block counts once, with its full length. */
  readonly histogram = new Histogram(loopDelaySeconds);
  readonly #timer: NodeJS.Timeout;
  #lastAt = performance.now();

  constructor() {
    this.#timer = setInterval(() => this.#note(), everyMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #note(): void {
    const now = performance.now();
    this.histogram.add((now - this.#lastAt - everyMs) / 1_000);
    this.#lastAt = now;
  }
}
