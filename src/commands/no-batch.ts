/** What is said where a command looks for a batch and there is none. */
import { findLoss, LostCommits } from '../runner/checkpoint/find-loss.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { shownPath } from './shown-path.ts';

/** Another error where there was one, unless its loss is accepted. */
export function noBatch(dir: string, isLossAccepted = false): Error {
  const loss = findLoss(dir);
  if (loss !== undefined && !isLossAccepted) return new LostCommits(dir, loss);
  const text = isLossAccepted
    ? 'no job is on record here that could be cancelled; look at the service itself for jobs that still run'
    : 'there is no batch here yet; `nightrender run` begins one';
  return new ConfigError([{ where: shownPath(dir), text }]);
}
