/** The faults that the service is to have. */
import { readFaults } from '../service/config/read-faults.ts';
import { describeFaults } from '../service/faults/describe-faults.ts';
import { FaultPlan } from '../service/faults/fault-plan.ts';

export interface ServedFaults {
  file: string;
  plan: FaultPlan;
  /** For people, loud. */
  lines: string[];
}

/** Throws `ConfigError`. */
export function servedFaults(file: string | undefined): ServedFaults | undefined {
  if (file === undefined) return undefined;
  const settings = readFaults(file, process.env);
  const plan = new FaultPlan({ ...settings, now: () => performance.now() });
  return { file, plan, lines: describeFaults(settings) };
}
