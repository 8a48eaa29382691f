/** The console's requests about webhooks that failed. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BulkCount, FailedWebhooks } from '../../protocol/console-data.ts';
import { type HttpResponse, emptyResponse, jsonResponse, refusal } from '../http/http-response.ts';
import { prepareWebhookStatements } from '../webhooks/webhook-statements.ts';
import type { ConsoleRequest } from './console-request.ts';
import type { EndpointRequestsParts } from './endpoint-requests.ts';

const maxShown = 50;

/** So many changes share a commit. */
const changesAtOnce = 500;

export class WebhookRequests {
  readonly #parts: Pick<EndpointRequestsParts, 'store' | 'now'>;
  readonly #sql: ReturnType<typeof prepareWebhookStatements>;

  constructor(parts: Pick<EndpointRequestsParts, 'store' | 'now'>) {
    this.#parts = parts;
    this.#sql = prepareWebhookStatements(parts.store.file.db);
  }

  /** The rest of an address may be a secret of its receiver: only the host is shown. */
  list(): HttpResponse {
    const { failed = 0, waiting = 0 } = this.#sql.countFailed.get() ?? {};
    const webhooks = this.#sql.allFailed.all(maxShown).map(({ id, url, ...webhook }) => {
      return { ...webhook, job: id, host: new URL(url).host };
    });
    return jsonResponse({ givenUp: failed - waiting, waiting, webhooks } satisfies FailedWebhooks);
  }

  async sendAgain({ id }: ConsoleRequest): Promise<HttpResponse> {
    const due = { now: this.#now(), id };
    const { changes } = await this.#parts.store.file.commit.write(() => this.#sql.sendAgain.run(due));
    return changes === 0 ? refusal(404, 'no webhook of this job has failed') : emptyResponse;
  }

  /** All that were given up. */
  async sendAllAgain(): Promise<HttpResponse> {
    let jobs = 0;
    for (let after = 0; ; await nextTurn()) {
      const some = { now: this.#now(), after, max: changesAtOnce };
      const sent = await this.#parts.store.file.commit.write(() => this.#sql.sendSomeAgain.all(some));
      jobs += sent.length;
      if (sent.length < changesAtOnce) return jsonResponse({ jobs, isMore: false } satisfies BulkCount);
      after = Math.max(...sent.map(({ job }) => job));
    }
  }

  #now(): number {
    return Math.floor(this.#parts.now());
  }
}
