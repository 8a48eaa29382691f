/** What is made of each picture besides its file, out of the configuration. */
import type { Config } from '../config/config.ts';
import type { ImageStoreOptions } from '../images/image-store.ts';
import { sidecarMaker } from '../images/provenance-texts.ts';
import { program } from './version.ts';

export function outputFiles({
  metadata,
}: Pick<Config['output'], 'metadata'>): Pick<ImageStoreOptions, 'embedsAs' | 'beside'> {
  return {
    embedsAs: metadata === 'embed' ? program : undefined,
    beside: metadata === 'sidecar' ? [sidecarMaker(program)] : [],
  };
}
