/** All scenarios, in the order in which they run. */
import type { Scenario } from '../scenario.ts';
import { changingWorkers } from './changing-workers.ts';
import { largePictures } from './large-pictures.ts';
import { longRun } from './long-run.ts';
import { million } from './million.ts';
import { nights, shortJobs } from './nights.ts';
import { overhead } from './overhead.ts';
import { rateLimit } from './rate-limit.ts';
import { realPictures } from './real-pictures.ts';
import { tail } from './tail.ts';

export const scenarios: readonly Scenario[] = [
  ...overhead,
  ...realPictures,
  ...nights,
  shortJobs,
  tail,
  rateLimit,
  changingWorkers,
  million,
  largePictures,
  longRun,
];
