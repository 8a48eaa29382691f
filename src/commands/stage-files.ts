/** The files of `nightrender init --stages`: three batches, each the list of the next, and a service for them. */
import { shellWord } from '../lib/text/format.ts';

/** Returns the files by name. The arguments are the schemas' paths, relative to the files. */
export function stageFiles(pipelineSchema: string, serviceSchema: string): Record<string, string> {
  const head = `# yaml-language-server: $schema=${pipelineSchema}\n`;
  return {
    'render.yaml': `${head}${renderText}`,
    'score.yaml': `${head}${scoreText}`,
    'upscale.yaml': `${head}${upscaleText}`,
    'prompts.csv': scenesText,
    'service.yaml': `# yaml-language-server: $schema=${serviceSchema}\n${serviceText}`,
    'score.mjs': scoreModule,
    'upscale.mjs': upscaleModule,
  };
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

/** Returns the commands to type next, relative to the working directory. */
export function stageSteps(folder: string, pathOf: (name: string) => string): string {
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
