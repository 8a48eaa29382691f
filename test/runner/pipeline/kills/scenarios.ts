/** All scenarios of the kill tests. Each is killed at every call. */
import { clips } from './clips.ts';
import { edits } from './edits.ts';
import { files } from './files.ts';
import { limits } from './limits.ts';
import { outages } from './outages.ts';
import { people } from './people.ts';
import { previews } from './previews.ts';
import type { Scenario } from './scenario.ts';
import { seeds } from './seeds.ts';
import { settings } from './settings.ts';
import { workers } from './workers.ts';

export const scenarios: Scenario[] = [
  ...workers,
  ...files,
  ...clips,
  ...edits,
  ...outages,
  ...limits,
  ...people,
  ...previews,
  ...seeds,
  ...settings,
];
