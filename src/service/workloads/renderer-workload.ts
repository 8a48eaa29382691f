/** `quickDeploy: scene-renderer` in service.yaml: the built-in renderer, which draws scenes on the CPU. */
import { packageFile } from '../../lib/files/package-file.ts';
import { moduleWorkload } from './module-workload.ts';
import { defineWorkload } from './workload-definition.ts';

export const rendererPath = packageFile('dist/renderers/scene/handler.js');

export const renderer = defineWorkload({
  key: 'quickDeploy',
  // Files, keys and workers elsewhere may still use the old name.
  values: {
    names: ['painter', 'scene-renderer'],
    description: '`scene-renderer` (no GPU; `painter` is its old name)',
  },
  fields: {},
  without: {
    'gpu.devices': 'no devices, since scene-renderer needs no GPU; use a label such as 24 GB',
  },
  gpu: 'needs no GPU',
  readsScenes: true,
  words: ({ quickDeploy }) => `Quick deploy: ${String(quickDeploy)}`,
  programs: ({ environment, on }) => ({ environment, on }),
  allowed: {
    notation: 'scene',
    beginnings: ['scene', 'painter'],
    read: (text) => (['scene', 'painter'].includes(text) ? { quickDeploy: 'scene-renderer' } : undefined),
  },
  nameElsewhere: (settings) => allowedName(settings),
  onCluster: (settings) => ({ allow: allowedName(settings) }),
  start: ({ id: endpointId, environment }) => ({
    ...moduleWorkload({ endpointId, path: rendererPath, environment }),
    name: 'scene-renderer',
  }),
});

/** Returns the name that `nightrender work --allow` uses. */
function allowedName({ quickDeploy }: Readonly<Record<string, unknown>>): string {
  return quickDeploy === 'painter' ? 'painter' : 'scene';
}
