/** Derives from the configuration what is written next to each picture. */
import { newestRules, type RulesVersion } from '../runner/core/scene-rules.ts';
import type { Config } from '../runner/config/config.ts';
import { type SidecarMaker, copyMaker } from '../runner/images/sidecars.ts';
import type { CheckOptions } from '../runner/images/picture-checker.ts';
import { sidecarMaker, sidecarUnlessEmbedded } from '../runner/images/provenance-texts.ts';
import { program } from '../lib/files/program.ts';

type Output = Pick<Config['output'], 'formats' | 'metadata' | 'keep'>;

/**
 * Returns options for pictures. `warn` is called once for each kind of copy that cannot be made, and once if
 * a signature is lost.
 */
export function outputFiles(
  output: Output,
  rules: RulesVersion,
  warn: (text: string) => void,
): Pick<CheckOptions, 'embedsAs' | 'beside' | 'isOriginalKept' | 'onSignatureLost'> {
  const { metadata, keep } = output;
  const writer = { program, rules };
  const sidecars = { none: [], sidecar: [sidecarMaker(writer)], embed: [sidecarUnlessEmbedded(writer)] };
  return {
    embedsAs: metadata === 'embed' ? writer : undefined,
    beside: [...sidecars[metadata], ...copyMakers(output, warn)],
    isOriginalKept: keep === 'original',
    onSignatureLost: once(() => warn(signatureLost)),
  };
}

/**
 * Returns options for work on existing pictures: nothing is created, and files next to a picture are moved
 * with it.
 */
export function maintenanceOptions(output: Output): CheckOptions {
  return outputFiles(output, newestRules, () => undefined);
}

const signatureLost =
  'some pictures are signed (Content Credentials, C2PA) and lose the signature in the conversion to PNG: `output.keep: original` keeps it';

function once(say: () => void): () => void {
  let isSaid = false;
  return () => {
    if (!isSaid) say();
    isSaid = true;
  };
}

export function copyMakers(
  { formats }: Pick<Output, 'formats'>,
  warn: (text: string) => void,
): SidecarMaker[] {
  const reported = new Set<string>();
  const onLacking = (ending: string, why: string): void => {
    if (reported.has(ending)) return;
    reported.add(ending);
    warn(`no ${ending} could be created for some picture (${why}); the picture itself is not affected`);
  };
  return formats.map((copy) => copyMaker(copy, onLacking));
}
