/** Creates what the steps of one run share; each step declares the part of it that it uses. */
import { setMaxListeners } from 'node:events';
import { Access } from './access.ts';
import { Budget } from './budget.ts';
import { Deadline } from './deadline.ts';
import { EndpointLiveness } from './endpoint-liveness.ts';
import { FirstRefusals } from './first-refusals.ts';
import { HaltMonitor } from './halt-monitor.ts';
import { Holds } from './holds.ts';
import { JobsInFlight } from './jobs-in-flight.ts';
import { pricingOf } from '../core/spending.ts';
import { PictureNames } from './picture-names.ts';
import { PollScheduler } from './poll-scheduler.ts';
import type { Clock, Ports } from './ports.ts';
import { Reachability } from './reachability.ts';
import { Repeats } from './repeats.ts';
import { RequestThrottle } from './request-throttle.ts';
import type { PipelineConfig } from './pipeline-config.ts';
import { SharedIds } from './shared-ids.ts';
import { StatsRecorder } from './stats-recorder.ts';
import type { Stop } from './stop.ts';

/** What services of this kind allow for `/cancel`. */
const cancelRate = { atOnce: 20, perTenSeconds: 100 };

/** The report has this long beyond the grace: some ten thousand scenes. */
const reportMs = 500;

export type Run = ReturnType<typeof startRun>;

export function startRun(ports: Ports, config: PipelineConfig, stop: Stop) {
  const { clock, random, service, checkpoint } = ports;
  const { rate, limits, shutdown } = config;
  const over = new AbortController();
  const abandoned = abortAfter(shutdown.grace, stop, clock, over.signal);
  const jobs = new JobsInFlight();
  const throttles = {
    submit: new RequestThrottle(rate.submit, clock, () => jobs.held),
    status: new RequestThrottle(rate.status, clock),
    cancel: new RequestThrottle(cancelRate, clock),
  };
  const liveness = new EndpointLiveness(clock, (endpoint) =>
    throttles.status.pass(stop.leaving, () => service.health(endpoint, abandoned)),
  );
  const { refused: refusedMs } = config.halt;
  const access = new Access({ clock, emit: ports.emit, stop, over: over.signal, liveness, refusedMs });
  const reachability = new Reachability(config.retry, () => clock.elapsed(), random);
  return {
    ports,
    config,
    stop,
    jobs,
    throttles,
    access,
    reachability,
    /** Aborts when the grace of a leaving run is over: requests in progress are cut. */
    abandoned,
    /** Aborts a moment later: the report of a very large batch is cut. */
    hurried: abortAfter(shutdown.grace + reportMs, stop, clock, over.signal),
    /** Aborts when nothing is in flight any more and the report is written. */
    over: over.signal,
    end: () => over.abort(),
    names: new PictureNames(checkpoint, config),
    stats: new StatsRecorder(config.concurrency, clock, {
      submit: () => throttles.submit.isSlowed,
      status: () => throttles.status.isSlowed,
    }),
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

/** Counted from the request to leave, until the run is `over`. */
function abortAfter(ms: number, stop: Stop, clock: Clock, over: AbortSignal): AbortSignal {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  const abortLater = (): Promise<void> => clock.sleep(ms, over).then(() => controller.abort());
  stop.leaving.addEventListener('abort', () => void abortLater(), { once: true });
  return controller.signal;
}
