/** Signs that an endpoint exists. Without one, a 404 may mean that the endpoint is gone and not the job. */
import type { Endpoint } from '../core/attempt.ts';
import type { Clock, HealthReply } from './ports.ts';

type Ask = (endpoint: Endpoint) => Promise<HealthReply | undefined>;

export class EndpointLiveness {
  readonly #clock: Pick<Clock, 'elapsed'>;
  readonly #askHealth: Ask;
  /** Time of the last sign of each endpoint, in monotonic ms. */
  readonly #signs = new Map<string, number>();
  /** Times at which the status, and the result, of a job was last read at each endpoint. */
  readonly #read = { status: new Map<string, number>(), result: new Map<string, number>() };
  /** Endpoints that have reported their health in this run. */
  readonly #healthy = new Set<string>();
  readonly #asking = new Map<string, Promise<unknown>>();
  readonly #next = new Map<string, Promise<HealthReply | undefined>>();

  /** `askHealth` resolves to undefined if the run is left. */
  constructor(clock: Pick<Clock, 'elapsed'>, askHealth: Ask) {
    this.#clock = clock;
    this.#askHealth = askHealth;
  }

  /** Records that the endpoint knew one of its jobs. */
  addStatus(endpoint: Endpoint): void {
    this.add(endpoint);
    this.#read.status.set(keyOf(endpoint), this.#clock.elapsed());
  }

  /** Records that the endpoint returned the result of one of its jobs. */
  addResult(endpoint: Endpoint): void {
    this.#read.result.set(keyOf(endpoint), this.#clock.elapsed());
  }

  wasReadSince(what: 'status' | 'result', endpoint: Endpoint, elapsed: number): boolean {
    return (this.#read[what].get(keyOf(endpoint)) ?? -Infinity) >= elapsed;
  }

  /** Records that the endpoint accepted a job or reported its health. */
  add(endpoint: Endpoint): void {
    this.#signs.set(keyOf(endpoint), this.#clock.elapsed());
  }

  hasSignSince(endpoint: Endpoint, elapsed: number): boolean {
    return (this.#signs.get(keyOf(endpoint)) ?? -Infinity) >= elapsed;
  }

  hasHealth(endpoint: Endpoint): boolean {
    return this.#healthy.has(keyOf(endpoint));
  }

  /**
   * Requests the endpoint's health with a request that begins after this call. Concurrent callers share the
   * next request.
   */
  ask(endpoint: Endpoint): ReturnType<Ask> {
    const key = keyOf(endpoint);
    const planned = this.#next.get(key);
    if (planned !== undefined) return planned;
    const next = (this.#asking.get(key) ?? Promise.resolve()).then(() => {
      this.#next.delete(key);
      const asked = this.#askNow(endpoint);
      this.#asking.set(key, asked);
      return asked;
    });
    this.#next.set(key, next);
    return next;
  }

  async #askNow(endpoint: Endpoint): ReturnType<Ask> {
    const reply = await this.#askHealth(endpoint);
    if (reply?.kind === 'answers') {
      this.add(endpoint);
      this.#healthy.add(keyOf(endpoint));
    }
    return reply;
  }
}

function keyOf({ baseUrl, id, version }: Endpoint): string {
  return `${baseUrl} ${version} ${id}`;
}
