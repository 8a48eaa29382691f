/** Workflows of nodes that need no model, which a real ComfyUI runs as well as the stand-in. */
import type { Workflow } from '../../src/protocol/comfyui-workflow.ts';

/** A node that makes a picture of one colour, 0 to 0xffffff. */
export function emptyImage(color: number): Workflow {
  return { 1: { class_type: 'EmptyImage', inputs: { width: 8, height: 8, batch_size: 1, color } } };
}

/** With a node that saves what the first one makes. */
export function saving(workflow: Workflow, id = 'x', from = '1'): Workflow {
  const inputs = { images: [from, 0], filename_prefix: `nightrender/${id}` };
  return { ...workflow, 9: { class_type: 'SaveImage', inputs } };
}

/** Half-way, it sleeps. */
export function sleeping(color: number, id: string, seconds: number): Workflow {
  const sleep = { class_type: 'TestSleep', inputs: { value: ['1', 0], seconds } };
  return saving({ ...emptyImage(color), 5: sleep }, id, '5');
}

/** Half-way, a node fails. */
export function failing(color: number, id: string): Workflow {
  const error = { class_type: 'TestSyncError', inputs: { value: ['1', 0], error_after: 0.01 } };
  return saving({ ...emptyImage(color), 5: error }, id, '5');
}

/** Its colour is the quotient, which fails by 0; half-way, it sleeps for a moment. */
export function dividing(color: number, by: number, id: string): Workflow {
  const { 1: image, ...rest } = sleeping(0, id, 0.02);
  const inputs = { a: color, b: by, operation: 'divide' };
  return {
    ...rest,
    1: { class_type: 'EmptyImage', inputs: { ...image?.inputs, color: ['2', 0] } },
    2: { class_type: 'TestIntMathOperation', inputs },
  };
}

/** Enlarges a picture that was uploaded. */
export function enlarging(id: string, image = 'example.png'): Workflow {
  const load = { class_type: 'LoadImage', inputs: { image } };
  const scale = {
    class_type: 'ImageScaleBy',
    inputs: { image: ['10', 0], upscale_method: 'lanczos', scale_by: 2 },
  };
  return saving({ 10: load, 11: scale }, id, '11');
}
