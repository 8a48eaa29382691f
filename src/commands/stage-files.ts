/** The files of `nightrender init --stages`: batches, each the list of the next, and what renders them. A stage is read by `openStage` (batch/lists.ts). */
import { shellWord } from '../lib/text/format.ts';

interface Stages {
  /** Texts by file name. */
  files: Record<string, string>;
  /** Returns the commands to type next, relative to the working directory. */
  steps(folder: string, pathOf: (name: string) => string): string;
}

/** Returns three batches for a service of two modules, or two for ComfyUI. The schemas' paths are relative to the files. */
export function stagesFor(isComfyui: boolean, pipelineSchema: string, serviceSchema: string): Stages {
  const head = `# yaml-language-server: $schema=${pipelineSchema}\n`;
  const files = isComfyui
    ? {
        'render.yaml': `${head}${renderByComfyui}`,
        'upscale.yaml': `${head}${upscaleByComfyui}`,
        'prompts.csv': scenesText,
        'render.json': `${JSON.stringify(renderWorkflow, null, 2)}\n`,
        'upscale.json': `${JSON.stringify(upscaleWorkflow, null, 2)}\n`,
      }
    : {
        'render.yaml': `${head}${renderText}`,
        'score.yaml': `${head}${scoreText}`,
        'upscale.yaml': `${head}${upscaleText}`,
        'prompts.csv': scenesText,
        'service.yaml': `# yaml-language-server: $schema=${serviceSchema}\n${serviceText}`,
        'score.mjs': scoreModule,
        'upscale.mjs': upscaleModule,
      };
  return { files, steps: isComfyui ? (_, pathOf) => comfyuiSteps(pathOf) : moduleSteps };
}

const renderText = `# First: each prompt with three seeds, drawn on this machine. \`nightrender help stages\` explains these files.
manifest: prompts.csv
scenes:
  seeds: 3

# For a real service, its address, id and key: nightrender help endpoint.
endpoint:
  baseUrl: local
  id: scene-renderer

input:
  prompt: '{{ prompt }}'
  seed: '{{ seed }}'
  width: 384
  height: 256

output:
  dir: rendered
`;

const endpoint = (id: string): string => `endpoint:
  baseUrl: http://127.0.0.1:4747
  id: ${id}
  apiKey: \${NIGHTRENDER_API_KEY}
`;

const scoreText = `# Second: a score for each picture of render.yaml. A row has the columns and values of its scene, prompt, seed and picture.
scenes:
  from: render.yaml

${endpoint('score')}
input:
  image: '{{ picture | file_base64 }}'

output:
  dir: scored
  # These jobs return no picture; score is a column of the results.
  image: none
  values:
    score: score
`;

const upscaleText = `# Third: the best picture of each prompt, twice as large.
scenes:
  from: score.yaml
  # A picture has to fulfil this as well:
  # keep: 'score >= 0.6'
  best:
    of: prompt
    by: score
    count: 1

${endpoint('upscale')}
input:
  image: '{{ picture | file_base64 }}'
  scale: 2

output:
  dir: upscaled
`;

const comfyui = (workflow: string): string => `endpoint:
  speaks: comfyui
  baseUrl: http://127.0.0.1:8188
  workflow: ${workflow}
`;

const renderByComfyui = `# First: each prompt with three seeds. \`nightrender help comfyui\` explains these files.
manifest: prompts.csv
scenes:
  seeds: 3

${comfyui('render.json')}  set:
    '6.text': '{{ prompt }}'
    '3.seed': '{{ seed }}'

output:
  dir: rendered
`;

const upscaleByComfyui = `# Second: each picture of render.yaml, twice as large. It is uploaded to ComfyUI.
scenes:
  from: render.yaml
  # Only pictures that are starred in \`nightrender watch render.yaml\`:
  # ids: marks

${comfyui('upscale.json')}  set:
    '10.image': '{{ picture | upload }}'

output:
  dir: upscaled
`;

const scenesText = `id,prompt
harbour,A harbour at sunrise with a lighthouse
village,A village in the snow at night under a full moon
balloons,Five hot-air balloons over green hills
`;

const serviceText = `# The endpoints of score.yaml and upscale.yaml: two modules, whose ids are made of these names.
host: 127.0.0.1
port: 4747

endpoints:
  - name: Score
    module: ./score.mjs
  - name: Upscale
    module: ./upscale.mjs
`;

const sharpComment =
  '// sharp is looked for in node_modules beside this file, and above: `npm install --prefix . sharp`.';

const scoreModule = `// Scores a picture: its entropy, from 0 (one colour) to 1. Put a model of your own in its place.
${sharpComment}
import sharp from 'sharp';

export async function handler({ input }) {
  const { entropy } = await sharp(Buffer.from(input.image, 'base64')).stats();
  return { score: Math.round((entropy / 8) * 1000) / 1000 };
}
`;

const upscaleModule = `// Enlarges a picture. Put a model of your own in its place.
${sharpComment}
import sharp from 'sharp';

export async function handler({ input }) {
  const picture = sharp(Buffer.from(input.image, 'base64'));
  const { width } = await picture.metadata();
  const large = await picture.resize({ width: width * input.scale }).png().toBuffer();
  return { image: large.toString('base64') };
}
`;

const renderWorkflow = {
  3: {
    class_type: 'KSampler',
    inputs: {
      seed: 0,
      steps: 20,
      cfg: 8,
      sampler_name: 'euler',
      scheduler: 'normal',
      denoise: 1,
      model: ['4', 0],
      positive: ['6', 0],
      negative: ['7', 0],
      latent_image: ['5', 0],
    },
  },
  4: {
    class_type: 'CheckpointLoaderSimple',
    inputs: { ckpt_name: 'v1-5-pruned-emaonly-fp16.safetensors' },
  },
  5: { class_type: 'EmptyLatentImage', inputs: { width: 512, height: 512, batch_size: 1 } },
  6: { class_type: 'CLIPTextEncode', inputs: { text: '', clip: ['4', 1] } },
  7: { class_type: 'CLIPTextEncode', inputs: { text: 'text, watermark', clip: ['4', 1] } },
  8: { class_type: 'VAEDecode', inputs: { samples: ['3', 0], vae: ['4', 2] } },
  9: { class_type: 'SaveImage', inputs: { images: ['8', 0], filename_prefix: 'ComfyUI' } },
};

const upscaleWorkflow = {
  9: { class_type: 'SaveImage', inputs: { images: ['11', 0], filename_prefix: 'ComfyUI' } },
  10: { class_type: 'LoadImage', inputs: { image: 'example.png' } },
  11: { class_type: 'ImageScaleBy', inputs: { image: ['10', 0], upscale_method: 'lanczos', scale_by: 2 } },
};

function comfyuiSteps(pathOf: (name: string) => string): string {
  const [render, upscale] = ['render.yaml', 'upscale.yaml'].map((name) => shellWord(pathOf(name)));
  return `With ComfyUI at http://127.0.0.1:8188:

  nightrender plan ${render} --check
  nightrender run ${render} ${upscale}

Node 4 of ${pathOf('render.json')} names a model. If ComfyUI does not have it, the first command lists those that it has.
Put workflows of your own in the place of both .json files. More: nightrender help comfyui`;
}

function moduleSteps(folder: string, pathOf: (name: string) => string): string {
  const [key, data] = [shellWord(pathOf('run.key')), shellWord(pathOf('service'))];
  const batches = ['render.yaml', 'score.yaml', 'upscale.yaml'].map((name) => shellWord(pathOf(name)));
  return `The modules use sharp, a package that must be beside them. In one terminal, which then serves them:

  npm install --prefix ${shellWord(folder)} sharp
  (umask 077 && nightrender keys add run --data ${data} > ${key})
  nightrender serve ${shellWord(pathOf('service.yaml'))} --data ${data}

In another one:

  export NIGHTRENDER_API_KEY=$(cat ${key})
  nightrender run ${batches.join(' ')}

Run it again whenever you like: only new scenes are sent. More: nightrender help stages`;
}
