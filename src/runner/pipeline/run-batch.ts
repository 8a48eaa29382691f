/** The road of a batch: from the scenes of a manifest to pictures and a report. */
import type { SubmittedAttempt } from '../core/attempt.ts';
import type { Ending } from '../core/ending.ts';
import { adopt, assertNoUnknownPictures } from './adopt.ts';
import { quarantine } from '../core/quarantine.ts';
import { InterimReports } from './interim-reports.ts';
import { JobSlots } from './job-slots.ts';
import { endpointChange, ListCutOff, UnknownPictures } from '../core/plan.ts';
import type { RunStats } from '../core/run-stats.ts';
import type { SceneCounts } from '../core/scene.ts';
import type { Cost } from '../core/spending.ts';
import { missingText, PictureWatch } from './picture-watch.ts';
import type { ManifestScenes, MissingPictures } from './ports.ts';
import { finishMoves, finishWriting, settleIntended } from './recover.ts';
import { Run, type Ports } from './run.ts';
import type { BatchSettings } from './settings.ts';
import { settleWithoutPicture } from './settle.ts';
import type { Stop } from './stop.ts';

export interface BatchResult {
  ending: Ending;
  counts: SceneCounts;
  /** Of the scenes that a preview was to render; undefined where all of the batch was. */
  part: SceneCounts | undefined;
  /** The folder of the result files; undefined where they are what they were before. */
  report: string | undefined;
  /** Undefined where nobody said what the work costs. */
  cost: Cost | undefined;
  stats: RunStats;
  /** Saved pictures that are missing or have another size; 0 also where nobody looked. */
  missingPictures: number;
}

/**
 * Starts or continues a batch and works on it until every scene is saved or given up, or `stop` says so. Without a
 * manifest, as when `stop` came while it was being read, what is in flight is collected and the batch stays what it is.
 * Throws only for a bug, and `ListCutOff` and `UnknownPictures` once what was paid for is collected.
 */
export async function runBatch(
  manifest: ManifestScenes | undefined,
  ports: Ports,
  settings: BatchSettings,
  stop: Stop,
): Promise<BatchResult> {
  const run = new Run(ports, settings, stop);
  const lanes = new JobSlots(run);
  const interim = new InterimReports(run);
  const pictures = new PictureWatch(run);
  let inFlight: SubmittedAttempt[] = [];
  let refusal: Error | undefined;
  try {
    await finishMoves(run);
    await finishWriting(run);
    const unanswered = await settleIntended(run);
    refusal = await refusalOf(run, manifest);
    if (run.isPlanned) {
      interim.begin();
      pictures.begin();
    }
    inFlight = await recover(run, unanswered);
    if (refusal !== undefined && inFlight.length > 0)
      stop.request('drain', { kind: 'wrong-use', text: refusal.message });
    await run.loadBudget();
    watchHealth(run).catch((thrown: unknown) => run.stopForThrown(thrown));
    await lanes.resume(inFlight);
    await ports.checkpoint.assertSound();
    if (refusal === undefined) await lanes.renderWaiting();
  } catch (thrown) {
    run.stopForThrown(thrown);
  }
  await lanes.finish();
  await interim.end();
  const missing = await pictures.end();
  const stats = run.stats.result();
  const counts = await ports.checkpoint.counts();
  const part = await ports.checkpoint.partCounts();
  const hasNews = run.isPlanned || (inFlight.length > 0 && !stop.leaving.aborted);
  const report = hasNews ? await writeReport(run, endingOf(run, counts, part, missing), stats) : undefined;
  run.end();
  const removed = await ports.checkpoint.removed();
  if (removed === undefined && run.bug !== undefined) throw run.bug;
  if (removed === undefined && refusal !== undefined) throw refusal;
  // A report that was asked for and is lacking is told by what cut it, though every scene is saved.
  const cut = hasNews && report === undefined ? stop.ending : undefined;
  const ending = lostEnding(removed) ?? cut ?? endingOf(run, counts, part, missing);
  const missingPictures = missing?.missing ?? 0;
  return { ending, counts, part, report, cost: run.budget.cost(), stats, missingPictures };
}

/** What a person has to decide before anything is submitted; what was paid for is collected all the same. */
async function refusalOf(run: Run, manifest: ManifestScenes | undefined): Promise<Error | undefined> {
  try {
    await plan(run, manifest);
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof ListCutOff || thrown instanceof UnknownPictures)) throw thrown;
    run.isPlanned = false;
    return thrown;
  }
}

/** A stop before it is made leaves the scenes as they are. */
async function plan(run: Run, manifest: ManifestScenes | undefined): Promise<void> {
  const { checkpoint, emit } = run.ports;
  const planned = manifest && (await checkpoint.reconcile(manifest, run.stop.draining, run.settings.part));
  run.isPlanned = planned !== undefined;
  await finishMoves(run);
  if (planned === undefined) return;
  if (run.settings.unknownPictures === 'adopt') await adopt(run);
  if (run.settings.unknownPictures === 'ask')
    await assertNoUnknownPictures(checkpoint, run.ports.images, run.settings);
  const part = await checkpoint.partCounts();
  const counts = await checkpoint.counts();
  emit({ type: 'plan-made', ...planned, counts, ...(part && { part }) });
  if (counts.saved === 0 || counts.waiting === 0) return;
  const text = endpointChange(await checkpoint.madeAt(), counts, run.settings.endpoint);
  if (text !== undefined) emit({ type: 'warning', text });
}

async function recover(run: Run, unanswered: number): Promise<SubmittedAttempt[]> {
  const { checkpoint, emit } = run.ports;
  const open = await checkpoint.openAttempts();
  const inFlight = open.filter(({ deaths }) => quarantine(deaths) === undefined);
  if (unanswered + inFlight.length > 0) emit({ type: 'recovered', unanswered, inFlight: inFlight.length });
  for (const attempt of open) {
    const failure = quarantine(attempt.deaths);
    if (failure !== undefined) await settleWithoutPicture(run, attempt, 'failed', failure);
  }
  return inFlight;
}

/** Undefined where the disk does not take it, which then ends the run, and where the grace of a leaving run is over. */
export async function writeReport(run: Run, ending: Ending, stats?: RunStats): Promise<string | undefined> {
  try {
    return await run.ports.report.write(ending, run.hurried, stats);
  } catch (thrown) {
    run.stopForThrown(thrown);
    return undefined;
  }
}

function endingOf(
  { stop, isPlanned, hasLeft }: Run,
  counts: SceneCounts,
  part: SceneCounts | undefined,
  pictures: MissingPictures | undefined,
): Ending {
  if (stop.ending?.kind === 'output-unwritable') return stop.ending;
  if (stop.ending !== undefined && !isPlanned)
    return { ...stop.ending, text: `${stop.ending.text}; the manifest was not compared with the batch` };
  // A job of a row that is gone may be left; and where nobody looked whether the pictures are there, nobody says so.
  if (stop.ending !== undefined && (hasLeft || pictures?.missing !== 0)) return stop.ending;
  if (pictures !== undefined && pictures.missing > 0)
    return { kind: 'incomplete', text: missingText(pictures) };
  if (missingOf(counts) === 0) return { kind: 'complete', text: 'Every scene is saved' };
  const missing = missingOf(part ?? counts);
  if (part !== undefined && missing === 0) return { kind: 'complete', text: previewText(part, counts) };
  const text = `${missing} ${missing === 1 ? 'scene' : 'scenes'}${part ? ' of this preview' : ''} ${missing === 1 ? 'is' : 'are'} not saved`;
  return stop.ending ?? { kind: 'incomplete', text };
}

function lostEnding(text: string | undefined): Ending | undefined {
  return text === undefined ? undefined : { kind: 'output-unwritable', text, isLost: true };
}

function missingOf({ waiting, active, failed, invalid }: SceneCounts): number {
  return waiting + active + failed + invalid;
}

function previewText({ saved }: SceneCounts, { waiting }: SceneCounts): string {
  const scenes = saved === 1 ? 'The scene of this preview is' : `The ${saved} scenes of this preview are`;
  if (waiting === 0) return `${scenes} saved`;
  return `${scenes} saved; ${waiting} ${waiting === 1 ? 'waits' : 'wait'} for the full run`;
}

/** By then the first jobs were sent, and a short run has ended without. */
const firstMs = 3_000;

/** Until the run is over, or the service says that it does not tell. A question that fails is no trouble. */
async function watchHealth(run: Run): Promise<void> {
  const { healthEveryMs, endpoint } = run.settings;
  const { clock, emit } = run.ports;
  if (healthEveryMs === undefined) return;
  await clock.sleep(firstMs, run.over);
  while (!run.over.aborted) {
    const reply = await run.liveness.ask(endpoint);
    if (reply === undefined || reply.kind === 'unknown' || run.over.aborted) return;
    if (reply.kind === 'answers' && reply.health !== undefined)
      emit({ type: 'service-health', ...reply.health });
    await clock.sleep(healthEveryMs, run.over);
  }
}
