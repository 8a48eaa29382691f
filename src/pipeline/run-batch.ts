/** The road of a batch: from the scenes of a manifest to pictures and a report. */
import type { SubmittedAttempt } from '../core/attempt.ts';
import type { Ending } from '../core/ending.ts';
import { quarantine } from '../core/quarantine.ts';
import { Lanes } from './lanes.ts';
import type { SceneCounts } from '../core/scene.ts';
import type { Cost } from '../core/spending.ts';
import type { ManifestScenes } from './ports.ts';
import { finishMoves, finishWriting, settleIntended } from './recover.ts';
import { Run, type Ports } from './run.ts';
import type { BatchSettings } from './settings.ts';
import { settleWithoutPicture } from './settle.ts';
import type { Stop } from './stop.ts';

export interface BatchResult {
  ending: Ending;
  counts: SceneCounts;
  /** The folder of the result files; undefined where the disk did not take them. */
  report: string | undefined;
  /** Undefined where nobody said what the work costs. */
  cost: Cost | undefined;
}

/**
 * Starts or continues a batch and works on it until every scene is saved or given up, or `stop` says so.
 * Throws only for a bug.
 */
export async function runBatch(
  manifest: ManifestScenes,
  ports: Ports,
  settings: BatchSettings,
  stop: Stop,
): Promise<BatchResult> {
  const run = new Run(ports, settings, stop);
  const lanes = new Lanes(run);
  try {
    await finishLastSteps(run);
    await plan(run, manifest);
    const inFlight = await recover(run);
    await run.loadBudget();
    await lanes.resume(inFlight);
    await lanes.renderWaiting();
  } catch (thrown) {
    run.stopForThrown(thrown);
  }
  await lanes.finish();
  run.end();
  const counts = await ports.checkpoint.counts();
  const report = await writeReport(run, endingOf(stop, counts));
  if (run.bug !== undefined) throw run.bug;
  return { ending: endingOf(stop, counts), counts, report, cost: run.budget.cost() };
}

/** Of a dead run, on files: the folder is then as the checkpoint says, before another list decides anything about it. */
async function finishLastSteps(run: Run): Promise<void> {
  await finishMoves(run);
  await finishWriting(run);
}

async function plan(run: Run, manifest: ManifestScenes): Promise<void> {
  const { checkpoint, tell } = run.ports;
  const planned = await checkpoint.reconcile(manifest);
  await finishMoves(run);
  tell({ type: 'plan-made', ...planned, counts: await checkpoint.counts() });
}

async function recover(run: Run): Promise<SubmittedAttempt[]> {
  const { checkpoint, tell } = run.ports;
  const unanswered = await settleIntended(run);
  const open = await checkpoint.openAttempts();
  const inFlight = open.filter(({ deaths }) => quarantine(deaths) === undefined);
  if (unanswered + inFlight.length > 0) tell({ type: 'recovered', unanswered, inFlight: inFlight.length });
  for (const attempt of open) {
    const failure = quarantine(attempt.deaths);
    if (failure !== undefined) await settleWithoutPicture(run, attempt, 'failed', failure);
  }
  return inFlight;
}

/** Undefined where the disk does not take it, which then ends the run. */
export async function writeReport(run: Run, ending: Ending): Promise<string | undefined> {
  try {
    return await run.ports.report.write(ending);
  } catch (thrown) {
    run.stopForThrown(thrown);
    return undefined;
  }
}

function endingOf(stop: Stop, counts: SceneCounts): Ending {
  if (stop.ending?.kind === 'output-unwritable') return stop.ending;
  const missing = counts.waiting + counts.active + counts.failed + counts.invalid;
  if (missing === 0) return { kind: 'complete', text: 'Every scene is saved' };
  return (
    stop.ending ?? {
      kind: 'incomplete',
      text: `${missing} ${missing === 1 ? 'scene is' : 'scenes are'} not saved`,
    }
  );
}
