/** All faults that can be asked for: their names, where each is met and what it does. */
import { faultPlaces, type FaultPlace } from './fault-settings.ts';
import { jobFaults } from './job-faults.ts';
import { requestFaults } from './request-faults.ts';

export interface FaultRow {
  name: string;
  /** One sentence, for people. */
  says: string;
  /** Set where a client cannot get around it by trying again: it is met only where it is asked for by its name. */
  isFinal: boolean;
}

/** In the order in which they are shown and drawn. */
export const faultTable: Readonly<Record<FaultPlace, readonly FaultRow[]>> = Object.fromEntries(
  faultPlaces.map((place) => [place, rowsAt(place)]),
) as Record<FaultPlace, FaultRow[]>;

function rowsAt(place: FaultPlace): FaultRow[] {
  const faults =
    place === 'job'
      ? Object.entries(jobFaults)
      : Object.entries(requestFaults).filter(([, { at }]) => at.includes(place));
  return faults.map(([name, { says, isFinal = false }]) => ({ name, says, isFinal }));
}
