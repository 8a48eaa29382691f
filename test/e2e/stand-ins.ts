/**
 * Services for tests, which end with the test. Each is the same stand-in with another behaviour of its jobs.
 */
import sharp from 'sharp';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { sendJson, type Fields } from '../faults/answers.ts';
import { HttpService, type HttpPlan } from '../fakes/http-service.ts';
import { answerHonestly, type Meet } from '../fakes/job-server.ts';
import type { JobsOptions } from '../fakes/service-jobs.ts';
import { listenOnLoopback } from './listen-on-loopback.ts';

interface StandInOptions extends Partial<JobsOptions> {
  /** Returns the behaviour of a job. By default, jobs complete at once with a black picture. */
  plan?: (input: JsonObject) => Partial<HttpPlan>;
  meet?: Meet;
}

export async function startStandIn({ plan, ...options }: StandInOptions = {}): Promise<HttpService> {
  const black = [{ rendered_image: await blackPicture(), seed: 1 }];
  const instant: HttpPlan = { queueMs: 0, executionMs: 0, end: () => completed(black) };
  const service = new HttpService({
    plan: (input) => ({ ...instant, ...plan?.(input) }),
    // Results never expire, so the outcome does not depend on the speed of the machine.
    retentionMs: Infinity,
    ...options,
  });
  service.url = await listenOnLoopback(service.server);
  return service;
}

/** Starts a service in which every job completes at once with the same output. */
export function startInstantService(output: unknown): Promise<HttpService> {
  return startStandIn({ plan: () => ({ end: () => completed(output) }) });
}

/**
 * Starts a service in which every job returns a black picture of 64×48 pixels, `takesMs` after its
 * submission.
 */
export function startSlowService(takesMs: number): Promise<HttpService> {
  return startStandIn({ plan: () => ({ executionMs: takesMs }) });
}

/**
 * Starts a service that completes the `first` jobs at once and holds the others until `release`. Later jobs
 * complete at once.
 */
export async function startHeldStandIn({ first = 0, plan = {} }: HeldOptions = {}): Promise<HeldStandIn> {
  let free = first;
  const service = await startStandIn({
    plan: () => ({ ...plan, ...(free-- > 0 ? {} : { executionMs: Infinity }) }),
  });
  const release = (): void => {
    free = Infinity;
    for (const job of service.jobs.all) job.completesAt = Math.min(job.completesAt, Date.now());
  };
  return Object.assign(service, { release });
}

interface HeldOptions {
  first?: number;
  plan?: Partial<HttpPlan>;
}

export type HeldStandIn = HttpService & { release: () => void };

/** Starts a service that accepts every job, completes none until told to, and cancels none. */
export function startPatientService(): Promise<HttpService> {
  return startStandIn({
    plan: () => ({ queueMs: Infinity }),
    meet: (asked) =>
      asked.operation === 'cancel'
        ? sendJson(asked.response, { id: asked.jobId, status: 'IN_QUEUE' }, 405)
        : answerHonestly(asked),
  });
}

export function completed(output: unknown): Fields {
  return { status: 'COMPLETED', output };
}

/** Returns a black PNG of 64×48 pixels as base64. */
export async function blackPicture(): Promise<string> {
  const black = sharp({ create: { width: 64, height: 48, channels: 3, background: '#000' } });
  return (await black.png().toBuffer()).toString('base64');
}
