/** Creates the objects that the steps of one run share. */
import { setMaxListeners } from 'node:events';
import { Access, EndpointLiveness } from './access.ts';
import { Budget, Deadline, Repeats } from './submission-limits.ts';
import type { PipelineConfig } from './pipeline-config.ts';
import { FirstRefusals, HaltMonitor, Reachability } from './halt-monitor.ts';
import { Holds, JobsInFlight, SharedIds } from './jobs-in-flight.ts';
import { RefusalCount } from '../core/request-rate.ts';
import { pricingOf } from '../core/spending.ts';
import { PictureNames } from './picture-names.ts';
import { PollScheduler } from './poll-scheduler.ts';
import { RateLimiter } from './rate-limiter.ts';
import type { Clock, Ports } from './ports.ts';
import { StatsRecorder } from './stats-recorder.ts';
import type { Stop } from './stop.ts';

/** Rate that job services allow for `/cancel`. */
const cancelRate = { atOnce: 20, perTenSeconds: 100 };

/** Time in ms for the report after the grace period: enough for some ten thousand scenes. */
const reportMs = 500;

export type Run = ReturnType<typeof createRun>;

export function createRun(ports: Ports, config: PipelineConfig, stop: Stop) {
  const { clock, random, service, checkpoint } = ports;
  const { rate, limits, shutdown } = config;
  const over = new AbortController();
  const abandoned = abortAfter(shutdown.grace, stop, clock, over.signal);
  const jobs = new JobsInFlight();
  const limiters = {
    submit: new RateLimiter(rate.submit, clock),
    // Pauses are limited, because a finished result may be deleted during one.
    status: new RateLimiter(rate.status, clock, config.retry.longestWait),
    cancel: new RateLimiter(cancelRate, clock, config.retry.longestWait),
  };
  const liveness = new EndpointLiveness(clock, (endpoint) =>
    limiters.status.pass(stop.leaving, () => service.health(endpoint, abandoned)),
  );
  const { refused: refusedMs } = config.halt;
  const access = new Access({ clock, emit: ports.emit, stop, over: over.signal, liveness, refusedMs });
  const reachability = new Reachability(config.retry, () => clock.elapsed(), random);
  return {
    ports,
    config,
    stop,
    jobs,
    limiters,
    refusals: new RefusalCount(),
    access,
    reachability,
    /** Aborts when the grace period of a leaving run ends, which cancels requests in progress. */
    abandoned,
    /** Aborts a little later, which cancels the report of a very large batch. */
    reportAbandoned: abortAfter(shutdown.grace + reportMs, stop, clock, over.signal),
    /** Aborts when no job is in flight and the report is written. */
    over: over.signal,
    end: () => over.abort(),
    names: new PictureNames(checkpoint, config),
    stats: new StatsRecorder(
      config.concurrency,
      clock,
      () => limiters.submit.isPaused,
      config.maxConcurrency,
    ),
    liveness,
    repeats: new Repeats(clock, (endpoint) => liveness.ask(endpoint)),
    deadline: new Deadline(limits, clock, random),
    pollScheduler: new PollScheduler(config.polling, clock, random, stop),
    budget: new Budget(limits, pricingOf(config), random),
    holds: new Holds(ports, config, stop, abandoned),
    firstRefusals: new FirstRefusals(checkpoint, stop),
    halts: new HaltMonitor(config.halt, stop, reachability, clock, abandoned),
    sharedIds: new SharedIds(stop),
  };
}

/** Returns a signal that aborts `ms` after the request to leave, or as soon as the run is `over`, if that is earlier. */
function abortAfter(ms: number, stop: Stop, clock: Clock, over: AbortSignal): AbortSignal {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  const abortLater = (): Promise<void> => clock.sleep(ms, over).then(() => controller.abort());
  stop.leaving.addEventListener('abort', () => void abortLater(), { once: true });
  return controller.signal;
}
