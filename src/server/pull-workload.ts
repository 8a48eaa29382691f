/** What is started for an endpoint and then fetches its jobs itself, as workers elsewhere do. */

export interface PullWorkload {
  name: string;
  /** Rejects with a text for people where none can be started (no tool for containers, an image that cannot be had). */
  startContainer(context: PullContext): Promise<PullWorker>;
}

export interface PullContext {
  /** `[A-Za-z0-9_-]+`. */
  workerId: string;
  /** How it reaches the service, its key among them: what `workerEnvironment` gives. */
  pullEnvironment: Readonly<Record<string, string>>;
  /** Told of each line that the worker writes for people, in their order, without its line break. */
  log(line: string): void;
  /** Aborts a start that is no longer wanted. */
  signal?: AbortSignal;
}

export interface PullWorker {
  /** Resolves, with the reason in words, once nothing of it runs any more. */
  readonly ended: Promise<string>;
  /** Ends it, by force after a while; resolves when nothing of it runs any more. Never rejects. */
  stop(): Promise<void>;
}
