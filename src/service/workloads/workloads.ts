/** Table of workloads, in the order in which service.yaml and the console list them. A new workload adds one line here. */
import { blender } from './blender-workload.ts';
import { comfyui } from './comfyui-endpoint.ts';
import { lineProgram } from './command-workload.ts';
import { container } from './container-workload.ts';
import { jsModule } from './module-workload.ts';
import { remote } from './remote-workload.ts';
import { renderer } from './renderer-workload.ts';
import type { WorkloadDefinition } from './workload-definition.ts';

export const workloads: readonly WorkloadDefinition[] = [
  renderer,
  blender,
  container,
  lineProgram,
  jsModule,
  comfyui,
  remote,
];
