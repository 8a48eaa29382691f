/** Workflows of nodes that need no model. A real ComfyUI runs them as well as the stand-in does. */
import type { Workflow } from '../../src/protocol/comfyui-workflow.ts';

/** Returns a workflow with one node that makes a picture of one colour, 0 to 0xffffff. */
export function emptyImage(color: number): Workflow {
  return { 1: { class_type: 'EmptyImage', inputs: { width: 8, height: 8, batch_size: 1, color } } };
}

/** Returns the workflow with a node that saves the picture of node `from`. */
export function saving(workflow: Workflow, id = 'x', from = '1'): Workflow {
  const inputs = { images: [from, 0], filename_prefix: `nightrender/${id}` };
  return { ...workflow, 9: { class_type: 'SaveImage', inputs } };
}

/** Returns the workflow with nodes that save the picture as videos by two different nodes, and a sound. */
export function savingClips(
  workflow: Workflow,
  kinds: ('SaveVideo' | 'VHS_VideoCombine' | 'SaveWEBM' | 'SaveAnimatedWEBP' | 'SaveAudio')[],
): Workflow {
  const sources: Workflow = {
    20: { class_type: 'CreateVideo', inputs: { images: ['1', 0], fps: 8 } },
    21: { class_type: 'EmptyAudio', inputs: { duration: 1 } },
  };
  const inputs = {
    SaveVideo: { video: ['20', 0] },
    VHS_VideoCombine: { images: ['1', 0] },
    SaveWEBM: { images: ['1', 0] },
    SaveAnimatedWEBP: { images: ['1', 0] },
    SaveAudio: { audio: ['21', 0] },
  };
  const savers = kinds.map((kind, i) => {
    return [`${30 + i}`, { class_type: kind, inputs: { ...inputs[kind], filename_prefix: 'clips/x' } }];
  });
  return { ...workflow, ...sources, ...(Object.fromEntries(savers) as Workflow) };
}

/** Returns a workflow that sleeps before it saves. */
export function sleeping(color: number, id: string, seconds: number): Workflow {
  const sleep = { class_type: 'TestSleep', inputs: { value: ['1', 0], seconds } };
  return saving({ ...emptyImage(color), 5: sleep }, id, '5');
}

/** Returns a workflow with a node that fails before it saves. */
export function failing(color: number, id: string): Workflow {
  const error = { class_type: 'TestSyncError', inputs: { value: ['1', 0], error_after: 0.01 } };
  return saving({ ...emptyImage(color), 5: error }, id, '5');
}

/**
 * Returns a workflow whose colour is the quotient of two numbers, so it fails if `by` is 0. It sleeps for 20 ms before
 * it saves.
 */
export function dividing(color: number, by: number, id: string): Workflow {
  const { 1: image, ...rest } = sleeping(0, id, 0.02);
  const inputs = { a: color, b: by, operation: 'divide' };
  return {
    ...rest,
    1: { class_type: 'EmptyImage', inputs: { ...image?.inputs, color: ['2', 0] } },
    2: { class_type: 'TestIntMathOperation', inputs },
  };
}

/** Returns a workflow that doubles the size of an uploaded picture. */
export function enlarging(id: string, image = 'example.png'): Workflow {
  const load = { class_type: 'LoadImage', inputs: { image } };
  const scale = {
    class_type: 'ImageScaleBy',
    inputs: { image: ['10', 0], upscale_method: 'lanczos', scale_by: 2 },
  };
  return saving({ 10: load, 11: scale }, id, '11');
}
