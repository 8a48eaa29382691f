/** What a runner records, and what it needs for that. */
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
  /** `next`: the seed that is sent after that. */
  | { do: 'settle'; attempt: Attempt; settlement: Settlement; next: string | undefined };

export type Of<Kind extends Write['do']> = Write & { do: Kind };

/** What a claim results in. */
export interface Claimed {
  attempts: Attempt[];
  /** Whether scenes that were never submitted are left. */
  hasMore: boolean;
}

export interface GroupContext {
  db: Postgres;
  /** Quoted. */
  schema: string;
  schemaName: string;
  run: number;
  lease: Lease;
  limits: SpendingLimits;
  pricing: Pricing | undefined;
  /** Whether only the scenes that `parts` has of the run are claimed. */
  hasPart: () => boolean;
  recall: Recall;
  /** As the run was put on record. */
  row: RunRow;
  again: Lasting[];
}

/** What the run has changed otherwise than by groups, to be done again where it is lost, and only there: others may have changed it since. */
export interface Lasting {
  work: () => Promise<unknown>;
  /** Of the batch and at least of the run's own row, when it was on record. */
  version: number;
}
