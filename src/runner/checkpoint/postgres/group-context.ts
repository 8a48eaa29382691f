/** The writes of a runner, and what is needed to carry them out. */
import type { Attempt, Endpoint, Held } from '../../core/attempt.ts';
import type { SavedSettlement, Settlement } from '../../core/settlement.ts';
import type { Pricing, SpendingLimits } from '../../core/spending.ts';
import type { AcceptedJob } from '../../pipeline/ports.ts';
import type { Postgres } from '../../../lib/postgres/postgres.ts';
import type { RunRow } from '../batch-lock.ts';
import type { Lease } from './lease.ts';
import type { Recall } from './recall.ts';

export type Write =
  | { do: 'claim'; max: number; endpoint: Endpoint; at: number; dueBy: number; isSuspect: boolean }
  | { do: 'submitted'; attempt: Attempt; job: Omit<AcceptedJob, 'idempotencyMs'> }
  | { do: 'status'; attempt: number; status: string; executingAt: number | null; held: Held | undefined }
  | { do: 'hand'; attempt: number; isInHand: boolean }
  | { do: 'writing'; attempt: Attempt; settlement: SavedSettlement }
  | { do: 'drop'; attempt: number }
  | { do: 'owner'; key: string }
  /** `next`: id of the seed to send after that. */
  | { do: 'settle'; attempt: Attempt; settlement: Settlement; next: string | undefined };

export type Of<Kind extends Write['do']> = Write & { do: Kind };

export interface Claimed {
  attempts: Attempt[];
  /** True if there are more scenes that were never submitted. */
  hasMore: boolean;
}

export interface GroupContext {
  db: Postgres;
  /** Quoted for SQL. */
  schema: string;
  schemaName: string;
  run: number;
  lease: Lease;
  limits: SpendingLimits;
  pricing: Pricing | undefined;
  /** True if only the scenes that `parts` lists for the run are claimed. */
  hasPart: () => boolean;
  recall: Recall;
  row: RunRow;
  again: Lasting[];
}

/**
 * A change of the run that was not written by a group. If the database loses it, it is done again. Otherwise
 * it is not repeated, because others may have changed the same rows since.
 */
export interface Lasting {
  work: () => Promise<unknown>;
  /** Version of the batch, and at least of the run's own row, when the change was recorded. */
  version: number;
}
