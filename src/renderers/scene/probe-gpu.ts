/** A process of its own that looks for a GPU and tells who started it. */
import type { ProbeMessage } from './describe-renderer.ts';
import { NoGpu, openGpu } from './gpu/open-gpu.ts';
import { rendererFolders } from './renderer-folders.ts';

process.send?.(await look());

async function look(): Promise<ProbeMessage> {
  try {
    const { adapter } = await openGpu(rendererFolders());
    return { adapter };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { reason, arePeersMissing: error instanceof NoGpu && error.arePeersMissing };
  }
}
