/** What the parts of an open job store share: its file, its transitions, its long texts and the room for them. */
import type { Database } from '../../lib/sqlite/database.ts';
import type { GroupCommit } from '../../lib/sqlite/group-commit.ts';
import type { Replica } from '../replication/replica.ts';
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
  /** Where commits last elsewhere. */
  replica: Replica | undefined;
}
