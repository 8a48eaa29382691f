/** Pipeline of a batch: manifest → plan → submit → poll → save → report. */
import type { Submitted } from '../core/attempt.ts';
import { lackingText } from '../core/picture.ts';
import { endpointChange, PlanRefused } from '../core/batch-plan.ts';
import { quarantine } from '../core/retry-policy.ts';
import { adopt, assertNoUnknownPictures } from './adopt.ts';
import {
  type BatchResult,
  InterimReports,
  PictureWatch,
  type Progress,
  reportBatch,
} from './report-batch.ts';
import { JobSlots } from './job-slots.ts';
import { workWithOthers, finishMoves, finishWriting, settleIntended, takeUpIntended } from './recover.ts';
import type { ManifestScenes, Ports } from './ports.ts';
import { createRun, type Run } from './run-parts.ts';
import type { PipelineConfig } from './pipeline-config.ts';
import { settleWithoutPicture } from './settle.ts';
import type { Stop } from './stop.ts';

/**
 * Starts or resumes a batch and works on it until every scene is saved or given up, or `stop` is requested.
 * Without a manifest, only jobs in flight are collected and the scenes stay as they are. That is the case if
 * `stop` came while the manifest was being read. Throws only for a bug or, after paid jobs are collected,
 * `PlanRefused`.
 */
export async function runBatch(
  manifest: ManifestScenes | undefined,
  ports: Ports,
  config: PipelineConfig,
  stop: Stop,
): Promise<BatchResult> {
  const run = createRun(ports, config, stop);
  const slots = new JobSlots(run);
  const interim = new InterimReports(ports, stop);
  const pictures = new PictureWatch(ports, stop);
  const progress: Progress = {
    isPlanned: false,
    isIdle: false,
    refusal: undefined,
    resumed: 0,
    hasLeft: false,
    missing: undefined,
  };
  try {
    const unanswered = await finishLastRun(run);
    // manifest → plan
    await plan(run, manifest, progress);
    if (progress.isPlanned) {
      interim.begin(config.report.every);
      pictures.begin();
    }
    const { inFlight, intended } = await recover(run, unanswered, progress);
    await run.budget.load(ports.checkpoint);
    void watchHealth(run);
    void workWithOthers(run, slots);
    // Jobs of earlier runs: poll → save
    await slots.resume(inFlight);
    // Submissions that earlier runs may have sent: submit → poll → save
    await slots.sendAgain(intended);
    await ports.file?.assertSound();
    // Waiting scenes: submit → poll → save
    if (progress.refusal === undefined) await slots.renderWaiting();
  } catch (thrown) {
    stop.forThrown(thrown);
  }
  await slots.finish();
  run.holds.end();
  progress.hasLeft = slots.hasLeft;
  await interim.end();
  if (progress.isPlanned) progress.missing = await pictures.end(run.reportAbandoned);
  // → report
  return reportBatch(run, progress);
}

/** Finishes what the last run began. Returns the number of submissions that may have been sent and whose answer is unknown. */
async function finishLastRun(run: Run): Promise<number> {
  const { checkpoint, images, answers } = run.ports;
  await finishMoves(checkpoint, images, run.stop);
  await finishWriting(checkpoint, images, run.stop);
  await answers.sweep((attempts) => checkpoint.inFlightAmong(attempts));
  return settleIntended(run);
}

/** Compares the manifest. If the user has to decide first, paid jobs are still collected. */
async function plan(run: Run, manifest: ManifestScenes | undefined, progress: Progress): Promise<void> {
  try {
    await compare(run, manifest, progress);
  } catch (thrown) {
    if (!(thrown instanceof PlanRefused)) throw thrown;
    progress.isPlanned = false;
    progress.refusal = thrown;
  }
}

/** Compares the manifest with the checkpoint. A stop before the end leaves the scenes unchanged. */
async function compare(run: Run, manifest: ManifestScenes | undefined, progress: Progress): Promise<void> {
  const { ports, config, stop } = run;
  const { checkpoint, images, emit } = ports;
  const planned = manifest && (await checkpoint.reconcile(manifest, stop.draining, config.part));
  progress.isPlanned = planned !== undefined;
  // The comparison may have decided to rename pictures.
  await finishMoves(checkpoint, images, stop);
  if (planned === undefined) return;
  const { unknownPictures = 'ask' } = config;
  if (unknownPictures === 'adopt') await adopt(ports, config, stop);
  if (unknownPictures === 'ask') await assertNoUnknownPictures(checkpoint, images, config);
  const { part, ...counts } = await checkpoint.counts();
  emit({ type: 'plan-made', ...planned, counts, ...(part && { part }) });
  const { added, changed, withdrawn } = planned;
  const { waiting } = part ?? counts;
  progress.isIdle = added + changed + withdrawn + waiting + counts.active === 0;
  const lacking = lackingText(await checkpoint.lackingFiles());
  if (lacking !== undefined) emit({ type: 'warning', text: lacking });
  if (counts.saved === 0 || counts.waiting === 0) return;
  const text = endpointChange(await checkpoint.madeAt(), counts, config.endpoint);
  if (text !== undefined) emit({ type: 'warning', text });
}

interface Recovered {
  inFlight: Submitted[];
  intended: Awaited<ReturnType<typeof takeUpIntended>>;
}

/** Returns the attempts to resume. Scenes that were in progress during too many crashes are given up. */
async function recover(run: Run, unanswered: number, progress: Progress): Promise<Recovered> {
  const { checkpoint, emit } = run.ports;
  const intended = await takeUpIntended(run);
  const open = await checkpoint.openAttempts();
  const inFlight = open.filter(({ crashes }) => quarantine(crashes) === undefined);
  const resumed = inFlight.length + intended.length;
  if (unanswered + resumed > 0) emit({ type: 'recovered', unanswered, inFlight: resumed });
  for (const attempt of open) {
    const failure = quarantine(attempt.crashes);
    if (failure !== undefined) await settleWithoutPicture(run, attempt, 'failed', failure);
  }
  progress.resumed = resumed;
  if (unanswered + open.length + intended.length > 0) progress.isIdle = false;
  const { refusal } = progress;
  if (refusal !== undefined && resumed > 0)
    run.stop.request('drain', { kind: 'wrong-use', text: refusal.message });
  return { inFlight, intended };
}

/** Wait before the first health request, in ms. By then the first jobs are submitted, and a short run has ended. */
const firstMs = 3_000;

/** Interval of health requests, in ms. */
const healthEveryMs = 30_000;

async function watchHealth(run: Run): Promise<void> {
  const { kind, description } = run.config.service;
  if (kind === 'described' && description?.health === undefined) return;
  try {
    await reportHealth(run);
  } catch (thrown) {
    run.stop.forThrown(thrown);
  }
}

/** Emits the health until the run is over, or the service has no health request. A failed request changes nothing. */
async function reportHealth(run: Run): Promise<void> {
  const { clock, emit } = run.ports;
  await clock.sleep(firstMs, run.over);
  while (!run.over.aborted) {
    const reply = await run.liveness.ask(run.config.endpoint);
    if (reply === undefined || reply.kind === 'unknown' || run.over.aborted) return;
    if (reply.kind === 'answers' && reply.health !== undefined)
      emit({ type: 'service-health', ...reply.health });
    await clock.sleep(healthEveryMs, run.over);
  }
}
