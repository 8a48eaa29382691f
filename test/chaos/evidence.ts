/** What the oracle judges by: the word of the program, the word of the service, and what the driver saw. */
import type { Account, ServiceSettings } from './account.ts';
import type { Declared } from './read-checkpoint.ts';
import type { Stretch } from './runner.ts';
import type { Sighting } from './sightings.ts';

export interface Evidence {
  /** The ids of all scenes that are wanted. */
  wanted: readonly string[];
  declared: Declared;
  account: Account;
  up: readonly Stretch[];
  /** The files of the images folder as they were after each death. */
  sightings: readonly Sighting[];
  retentionMs: ServiceSettings['retentionMs'];
}
