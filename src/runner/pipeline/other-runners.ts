/** What a run does for the other runners of its batch: it shares the rate with them, and takes over what dead ones have left. */
import { quarantine } from '../core/retry.ts';
import type { JobSlots } from './job-slots.ts';
import type { OtherRunners, TakenOver } from './ports.ts';
import { finishOne, mayRepeat, recordDeath, toSendAgain } from './recover.ts';
import type { Run } from './run.ts';
import { settleWithoutPicture } from './settle.ts';

/** Until the run is draining: what is left then is for others. */
export async function workWithOthers(run: Run, slots: Pick<JobSlots, 'takeUp' | 'sendAgain'>): Promise<void> {
  const { others } = run.ports;
  if (others === undefined) return;
  const { submit, status } = run.throttles;
  others.listen({
    onCount: (runners) => {
      for (const throttle of [submit, status]) throttle.shareAmong(runners);
    },
    onSlowed: () => submit.slow(),
  });
  try {
    await takeOver(run, others, slots);
  } catch (thrown) {
    run.stop.forThrown(thrown);
  }
}

async function takeOver(
  run: Run,
  others: OtherRunners,
  slots: Pick<JobSlots, 'takeUp' | 'sendAgain'>,
): Promise<void> {
  const until = AbortSignal.any([run.stop.draining, run.over]);
  for (;;) {
    const left = await others.takeOver(until);
    if (left === undefined) return;
    await takeUp(run, slots, left);
  }
}

/** As at the start of a run. */
async function takeUp(
  run: Run,
  slots: Pick<JobSlots, 'takeUp' | 'sendAgain'>,
  { writing, intended, submitted }: TakenOver,
): Promise<void> {
  const { checkpoint, images, emit } = run.ports;
  for (const unfinished of writing) await finishOne(checkpoint, images, unfinished);
  const isRepeatable = await Promise.all(intended.map((attempt) => mayRepeat(run, attempt)));
  const again = intended.filter((_, i) => isRepeatable[i]).flatMap(toSendAgain);
  const unknown = intended.filter((attempt) => !again.some((one) => one.attempt === attempt));
  await Promise.all(unknown.map((attempt) => recordDeath(run, attempt)));
  const open = await submitted();
  const inFlight = open.filter(({ deaths }) => quarantine(deaths) === undefined);
  const resumed = inFlight.length + again.length;
  emit({ type: 'recovered', unanswered: unknown.length, inFlight: resumed });
  for (const attempt of open) {
    const failure = quarantine(attempt.deaths);
    if (failure !== undefined) await settleWithoutPicture(run, attempt, 'failed', failure);
  }
  slots.takeUp(inFlight);
  await slots.sendAgain(again);
}
