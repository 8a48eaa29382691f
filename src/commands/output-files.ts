/** What is made of each picture besides its file, out of the configuration. */
import type { RulesVersion } from '../runner/core/scene-rules.ts';
import type { Config } from '../runner/config/config.ts';
import { type SidecarMaker, copyMaker } from '../runner/images/sidecars.ts';
import type { ImageStoreOptions } from '../runner/images/image-store.ts';
import { sidecarMaker } from '../runner/images/provenance-texts.ts';
import { program } from './version.ts';

type Output = Pick<Config['output'], 'formats' | 'metadata'>;

/** `warn` is called once for each kind of copy that cannot be made of some picture. */
export function outputFiles(
  output: Output,
  rules: RulesVersion,
  warn: (text: string) => void,
): Pick<ImageStoreOptions, 'embedsAs' | 'beside'> {
  const { metadata } = output;
  const writer = { program, rules };
  return {
    embedsAs: metadata === 'embed' ? writer : undefined,
    beside: [...(metadata === 'sidecar' ? [sidecarMaker(writer)] : []), ...copyMakers(output, warn)],
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
