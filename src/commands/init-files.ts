/** The files that a new batch or service begins with. */

/** Beside the pipeline.yaml, where every editor finds it, however the program was installed. */
export const schemaFile = 'pipeline.schema.json';
export const serviceSchemaFile = 'service.schema.json';

/** `where` is `local`, or the address and id of a real endpoint. */
export function pipelineText(where: 'local' | { url: string; id: string }): string {
  return `# yaml-language-server: $schema=${schemaFile}
# What is rendered, where, and how. What is left out has a default: nightrender help pipeline-file.
# \`nightrender plan pipeline.yaml\` says what this would do, \`nightrender run pipeline.yaml\` does it.

# One row a scene. A row with an id keeps its picture however the list is edited or sorted.
manifest: scenes.csv

${where === 'local' ? localEndpoint : realEndpoint(where.url, where.id)}
# What each job is sent: {{ column }} is replaced by the row's value, other keys are sent as they are.
input:
  scene: '{{ scene }}'

# Jobs in flight at once.
concurrency: ${where === 'local' ? 4 : 16}

output:
  # Pictures are in renders/images, results.csv is in renders/report.
  dir: renders
  # Over id, seed, index and the columns; / makes folders.
  name: '{{ id }}.png'

# What a second of execution costs: with it, \`plan\` tells what a night will cost, and limits.cost holds it.
# pricing: { perSecond: 0.0004, currency: USD }
# limits:
#   cost: 20
#   until: '07:00'
`;
}

const localEndpoint = `# The local service paints on this machine and needs no account. For a real one:
#   baseUrl: https://api.your-service.example
#   id: your-endpoint-id
#   apiKey: \${NIGHTRENDER_API_KEY}
endpoint:
  baseUrl: local
  id: scene-renderer
`;

function realEndpoint(url: string, id: string): string {
  return `# The key is taken from the environment and stands in no file: export NIGHTRENDER_API_KEY=…
# With \`baseUrl: local\` and no key, everything is tried on this machine first.
endpoint:
  baseUrl: ${JSON.stringify(url)}
  id: ${JSON.stringify(id)}
  apiKey: \${NIGHTRENDER_API_KEY}
`;
}

export const scenesText = `id,scene
old-harbour,"An old harbour at sunrise, four fishing boats and a lighthouse"
first-snow,"A village in the snow at night, lit windows and one tall church tower"
balloons,Five hot-air balloons over rolling green hills in the morning
desert-road,A road through golden desert dunes at sunset with three cacti
mill-by-the-lake,A windmill beside a still lake with pine trees at dawn
city-lights,A city skyline by the river at night under a full moon
storm,A sailing ship on a stormy sea with lightning
still-life,"A still life: a blue vase with flowers, two apples and a candle on a wooden table"
`;
