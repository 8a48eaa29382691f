/** What the scenes of a batch come from, for people. */
import type { Config } from '../runner/config/config.ts';
import { shownPath } from './shown-path.ts';

/** The manifests; where there is none, `file`, the pipeline.yaml that says everything. */
export function shownLists({ manifest }: Config, file: string): string[] {
  return manifest.length === 0 ? [shownPath(file)] : manifest.map(shownPath);
}
