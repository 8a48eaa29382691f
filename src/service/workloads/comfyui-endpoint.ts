/** Schema and rules of `comfyui` in service.yaml: addresses of ComfyUI servers, and the workflow that they run. */
import { resolve } from 'node:path';
import { z } from 'zod';
import { address, filePath } from '../../lib/yaml/scalar-schemas.ts';
import { setProblems } from '../../protocol/comfyui-workflow.ts';
import { defaultIdleMs } from '../model/endpoint-settings.ts';
import { comfyuiWorkload } from './comfyui-workload.ts';
import { hasOnlyKeys, workflowAt } from './job-workflow.ts';
import { at, defineWorkload, noCluster } from './workload-definition.ts';

const boxExpected = 'an address such as http://box:8188, or several in a list, each once';

const box = address(boxExpected);

const boxes = z
  .array(box, boxExpected)
  .min(1, boxExpected)
  .max(1_000, boxExpected)
  .refine((all) => new Set(all).size === all.length, boxExpected);

const url = z.codec(
  z.union([box, boxes], boxExpected).meta({
    title: 'Addresses of the boxes',
    description: 'the address of a ComfyUI, or a list of several; each runs one job at a time',
    examples: [['http://box-1:8188', 'http://box-2:8188']],
  }),
  z.array(z.string()),
  {
    decode: (given) => [given].flat().map((each) => each.replace(/\/+$/, '')),
    encode: (urls) => urls,
  },
);

const setExpected =
  'a value, or a text with placeholders such as {{ prompt }}, without filters (`upload` works in pipeline.yaml only)';

const setValue = z.union([z.string().refine(hasOnlyKeys, setExpected), z.number(), z.boolean()], setExpected);

const why = 'each ComfyUI is one worker';

export const comfyui = defineWorkload({
  key: 'comfyui',
  fields: {
    comfyui: z
      .strictObject({
        url,
        workflow: filePath.meta({
          title: 'File of the workflow',
          description: 'the workflow, exported in API format; relative to the folder of service.yaml',
          examples: ['/srv/flow.json'],
        }),
        set: z
          .record(z.string(), setValue, 'inputs of nodes with values, such as {6.text: "{{ prompt }}"}')
          .default({})
          .meta({
            title: 'Inputs to set',
            description:
              'inputs of nodes, as `node.input`, and what they are set to; `{{ prompt }}` is a key of the input of a job, and without that the workflow keeps its own value',
          }),
      })
      .describe('boxes with ComfyUI, each of which is one worker, and the workflow that they run'),
  },
  without: {
    ...noCluster,
    'gpu.devices': `no devices, since ${why}; use a label such as 24 GB`,
    environment: `no variables, since ${why}`,
    workers: `none, since ${why}`,
    recycle: `none, since ${why}`,
    quickStart: `false, since ${why}`,
  },
  choice: { title: 'ComfyUI', means: 'Boxes that run a workflow, one worker each.' },
  gpu: null,
  words: (settings) => `ComfyUI at ${settings.comfyui.url.join(', ')}`,
  // One worker for each box is always up, so boxes that are down are noticed before a job comes.
  defaults: ({ comfyui: { url: urls } }) => ({
    workers: { min: urls.length, max: urls.length, idle: defaultIdleMs },
  }),
  inFolder: ({ comfyui: own }, folder) => ({
    comfyui: { ...own, workflow: resolve(folder, own.workflow) },
  }),
  missing: ({ comfyui: { workflow: path, set } }) => {
    const read = workflowAt(path);
    if ('problem' in read) return at('comfyui.workflow', `a workflow in API format: ${path} ${read.problem}`);
    const problems = setProblems(read.workflow, Object.keys(set));
    return at(
      'comfyui.set',
      problems.length === 0 ? undefined : `inputs of its nodes: ${problems.join('. ')}`,
    );
  },
  start: ({ comfyui: { url: urls, ...own } }, { limits }) =>
    comfyuiWorkload({ ...own, urls, maxBytes: limits?.maxBytes }),
});
