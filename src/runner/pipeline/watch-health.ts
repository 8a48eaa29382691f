/** Asks during a run how the endpoint's workers are, so that people see it; nothing depends on the answer. */
import type { Run } from './run.ts';

/** By then the first jobs were sent, and a short run has ended without. */
const firstMs = 3_000;

/** Until the run is over, or the service says that it does not tell. A question that fails is no trouble. */
export async function watchHealth(run: Run): Promise<void> {
  const { healthEveryMs, endpoint } = run.settings;
  const { clock, tell } = run.ports;
  if (healthEveryMs === undefined) return;
  await clock.sleep(firstMs, run.over);
  while (!run.over.aborted) {
    const reply = await run.evidence.ask(endpoint);
    if (reply === undefined || reply.kind === 'unknown' || run.over.aborted) return;
    if (reply.kind === 'answers' && reply.health !== undefined)
      tell({ type: 'service-health', ...reply.health });
    await clock.sleep(healthEveryMs, run.over);
  }
}
