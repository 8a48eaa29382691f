/** Table of workloads, in the order in which service.yaml and the console list them. A new workload adds one line here. */
import { blender } from './blender-workload.ts';
import { comfyui } from './comfyui-endpoint.ts';
import { lineProgram } from './command-workload.ts';
import { container } from './container-workload.ts';
import { jsModule, renderer } from './module-workload.ts';
import { type WorkloadDefinition, defineWorkload, noCluster } from './workload-definition.ts';
import { z } from 'zod';
import { workersUpTo } from '../model/endpoint-settings.ts';

const why = 'its workers run elsewhere';

/** `remote: true` in service.yaml: the service starts no workers, and workers elsewhere pull the jobs. */
const remote = defineWorkload({
  key: 'remote',
  fields: {
    remote: z
      .literal(true, 'true')
      .describe('true leaves the jobs to workers elsewhere and starts none here'),
  },
  without: {
    ...noCluster,
    'gpu.devices': `no devices, since ${why}; use a label such as 24 GB`,
    environment: `no variables, since ${why}`,
    workers: `0, since ${why}`,
    recycle: `none, since ${why}: \`nightrender work --recycle\` replaces them`,
    quickStart: `false, since ${why}`,
  },
  choice: { title: 'Workers elsewhere', means: 'Other machines pull the jobs with a worker key.' },
  note: 'The service starts no workers for this endpoint. Once it is created, its page shows what a worker elsewhere needs to pull jobs.',
  gpu: null,
  words: () => 'Workers elsewhere',
  defaults: () => ({ workers: workersUpTo(0) }),
});

export const workloads: readonly WorkloadDefinition[] = [
  renderer,
  blender,
  container,
  lineProgram,
  jsModule,
  comfyui,
  remote,
];
