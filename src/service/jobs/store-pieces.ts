/** Parts that the modules of an open job store share. */
import type { Database } from '../../lib/sqlite/database.ts';
import type { GroupCommit } from '../../lib/sqlite/group-commit.ts';
import type { Replica } from '../replication/committed-pages.ts';
import type { JobReserve } from './job-reserve.ts';
import type { JobSignals } from './job-signals.ts';
import type { JobTransitions } from './job-transitions.ts';
import type { LongTexts } from './long-texts.ts';

export interface StorePieces {
  db: Database;
  commit: GroupCommit;
  reserve: JobReserve;
  transitions: JobTransitions;
  texts: LongTexts;
  signals: JobSignals;
  /** Makes commits durable elsewhere; undefined unless several processes share the service. */
  replica: Replica | undefined;
}
