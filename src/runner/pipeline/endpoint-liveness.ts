/** Signs that an endpoint is there: without one, a 404 may be the endpoint's and not the job's. */
import type { Endpoint } from '../core/attempt.ts';
import type { Clock, HealthReply } from './ports.ts';

type Ask = (endpoint: Endpoint) => Promise<HealthReply | undefined>;

export class EndpointLiveness {
  readonly #clock: Pick<Clock, 'elapsed'>;
  readonly #askHealth: Ask;
  /** When each endpoint last gave a sign (monotonic ms). */
  readonly #signs = new Map<string, number>();
  /** When a job's status was last read there. */
  readonly #statuses = new Map<string, number>();
  readonly #asking = new Map<string, Promise<unknown>>();
  readonly #next = new Map<string, Promise<HealthReply | undefined>>();

  /** `askHealth` resolves to undefined where the run is left. */
  constructor(clock: Pick<Clock, 'elapsed'>, askHealth: Ask) {
    this.#clock = clock;
    this.#askHealth = askHealth;
  }

  /** The endpoint knew one of its jobs. */
  addStatus(endpoint: Endpoint): void {
    this.add(endpoint);
    this.#statuses.set(keyOf(endpoint), this.#clock.elapsed());
  }

  wasStatusReadSince(endpoint: Endpoint, elapsed: number): boolean {
    return (this.#statuses.get(keyOf(endpoint)) ?? -Infinity) >= elapsed;
  }

  /** The endpoint took a new job, or reported its health. */
  add(endpoint: Endpoint): void {
    this.#signs.set(keyOf(endpoint), this.#clock.elapsed());
  }

  hasSignSince(endpoint: Endpoint, elapsed: number): boolean {
    return (this.#signs.get(keyOf(endpoint)) ?? -Infinity) >= elapsed;
  }

  /** Asks for the endpoint's health by a request that begins after this call; who asks meanwhile shares the next one. */
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
    if (reply?.kind === 'answers') this.add(endpoint);
    return reply;
  }
}

function keyOf({ baseUrl, id, version }: Endpoint): string {
  return `${baseUrl} ${version} ${id}`;
}
