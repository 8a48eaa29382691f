/** Reads when a runner of a shared batch finds work next. */
import { suspectCrashes } from '../../core/retry.ts';
import type { PostgresSession } from '../../../lib/postgres/postgres.ts';

export interface NextDue {
  at: number | null;
  hasSuspect: boolean;
  /** True if other runners have something in flight, whose scenes may have to be sent again. */
  hasOthers: boolean;
}

export async function readNextDue(
  session: PostgresSession,
  s: string,
  run: number,
  part: number | undefined,
): Promise<NextDue> {
  const inPart = inPartOf(s, part);
  const [row] = await session.query<{ at: number | null; suspect: boolean; others: boolean }>(
    `SELECT (SELECT due_at FROM ${s}.scenes WHERE state = 'waiting' AND deaths < ${suspectCrashes} ${inPart} ORDER BY due_at LIMIT 1) AS at,
       EXISTS (SELECT 1 FROM ${s}.scenes WHERE deaths >= ${suspectCrashes} AND state = 'waiting' ${inPart}) AS suspect,
       EXISTS (SELECT 1 FROM ${s}.attempts WHERE state IN ('intended', 'submitted') AND owner <> $1) AS others`,
    [run],
  );
  return { at: row?.at ?? null, hasSuspect: row?.suspect ?? false, hasOthers: row?.others ?? false };
}

function inPartOf(s: string, part: number | undefined): string {
  return part === undefined ? '' : `AND scene IN (SELECT scene FROM ${s}.parts WHERE run = ${part})`;
}
