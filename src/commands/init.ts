/** `nightrender init`: creates pipeline.yaml, service.yaml or both, with schemas and everything they need to run. */
import { refuse, textIn } from './reply.ts';
import { plainReading } from '../runner/core/expansion.ts';
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { pipelineSchemaText, sections } from '../runner/config/pipeline-schema.ts';
import { ConfigError, type Problem } from '../lib/yaml/problem.ts';
import { serviceExample, serviceSchemaText } from '../service/config/service-schema.ts';
import { shellWord } from '../lib/text/format.ts';
import { similarFile } from '../lib/files/glob.ts';
import { shownPath } from '../batch/refusal.ts';
import { ManifestError } from '../runner/manifest/manifest.ts';
import { type LoadedCommand, commonExits, oneText, textOption } from './command.ts';
import { captionColumn, inputLine, isValue, likelyColumn } from '../runner/list/scene-columns.ts';
import { stagesFor } from './stage-files.ts';
import { writeOut } from '../terminal/terminal.ts';

export const initCommand: LoadedCommand = {
  purpose: `Creates a commented pipeline.yaml and scenes.csv, for the local service or a real endpoint, and pipeline.schema.json for editors; with --service a commented service.yaml and its schema; with --stages three batches that render, score and upscale, and a service for them, or two for ComfyUI (--speaks comfyui). Existing files are never changed.`,
  positionals: {
    dir: {
      type: 'string',
      default: '.',
      describe: 'folder of the files; created if missing',
    },
  },
  options: {
    endpoint: {
      ...textOption,
      describe: 'address of a real service, such as https://api.your-service.example',
    },
    id: { ...textOption, describe: 'id of the endpoint there' },
    manifest: { ...textOption, describe: 'an existing list of scenes' },
    service: { type: 'boolean', describe: 'a service.yaml instead, for a service of your own' },
    stages: {
      type: 'boolean',
      describe: 'render, score and upscale instead: batches that take their lists from one another',
    },
    speaks: { ...textOption, describe: 'with --stages: comfyui' },
  },
  examples: [
    ['$0 init night', 'a batch for the local service, in the folder night'],
    [
      '$0 init night --endpoint https://api.your-service.example --id your-endpoint-id',
      'for a real one; the key is taken from NIGHTRENDER_API_KEY',
    ],
    ['$0 init --manifest prompts.txt', 'a pipeline.yaml for an existing list'],
    ['$0 init --service', 'a service.yaml, for nightrender serve service.yaml'],
    ['$0 init stages --stages', 'the best picture of each prompt, upscaled'],
  ],
  exits: {
    bug: commonExits.bug,
    complete: 'the files were written',
    'wrong-use': 'wrong use, or a file exists already',
    'output-unwritable': commonExits['output-unwritable'],
  },
  work: (argv) => init(textIn(argv, 'dir'), argv),
};

/** Resolves to the exit code. An existing file is never changed. */
async function init(dir: string, argv: Record<string, unknown>): Promise<number> {
  const folder = resolve(dir);
  try {
    if (argv['stages'] === true) beginStages(folder, argv);
    else if (argv['service'] === true) beginService(folder, argv);
    else await beginBatch(folder, argv);
    return 0;
  } catch (thrown) {
    return refuse(thrown, folder, false);
  }
}

/** Returns the path of an existing list: the one of `--manifest`, or `folder` if that is a file. */
function listOf(folder: string, argv: Record<string, unknown>): string | undefined {
  const isFile = existsSync(folder) && !statSync(folder).isDirectory();
  const list = isFile ? folder : oneText(argv, 'manifest');
  if (list !== undefined && !existsSync(list))
    throw new ConfigError([{ where: '--manifest', text: `${list}: no such file${similarFile(list)}` }]);
  if (isFile && argv['manifest'] !== undefined)
    throw new ConfigError([
      { where: '--manifest', text: `${shownPath(folder)} is a file; expected a folder beside --manifest` },
    ]);
  return list && resolve(list);
}

async function beginBatch(given: string, argv: Record<string, unknown>): Promise<void> {
  refuseOptions(argv, ['speaks'], 'goes with --stages only');
  const where = endpointOf(argv);
  const list = listOf(given, argv);
  const folder = list === given ? dirname(given) : given;
  if (list !== undefined) {
    const read = await readList(list);
    const files = {
      'pipeline.yaml': pipelineText(where, { ...read, path: relative(folder, list) }),
      [schemaFile]: pipelineSchemaText(),
    };
    const [pipeline = '', schema = ''] = createFiles(folder, files);
    const isUnsaid = read.columns.length > 0 && sentOf(read.columns) === undefined;
    printInit({
      pipeline,
      schema,
      needsKey: where !== 'local',
      sent: sentUnderOtherName(read.columns),
      isUnsaid,
    });
    return;
  }
  const [pipeline = '', manifest = '', schema = ''] = createFiles(folder, {
    'pipeline.yaml': pipelineText(where),
    [listFile]: scenesText,
    [schemaFile]: pipelineSchemaText(),
  });
  printInit({ pipeline, manifest, schema, needsKey: where !== 'local' });
}

/** Throws `ConfigError` for a list that cannot be read. */
async function readList(list: string): Promise<Omit<ExistingList, 'path'>> {
  const place = statSync(list);
  // A pipe can be read only once, by the run.
  if (!place.isFile() && !place.isDirectory()) return { columns: [] };
  try {
    const found = await columnsOf(list, undefined).catch(ignoreEncodingError);
    if (found?.isUtf8 === true) return found;
    return { ...(await columnsOf(list, 'windows-1252')), encoding: 'windows-1252' };
  } catch (thrown) {
    if (!(thrown instanceof ManifestError)) throw thrown;
    throw new ConfigError([{ where: '--manifest', text: thrown.message }]);
  }
}

/** The error about a text that isn't UTF-8 contains this line, as its cure. */
const encodingLine = 'encoding: windows-1252';

function ignoreEncodingError(thrown: unknown): undefined {
  if (!(thrown instanceof ManifestError) || !thrown.message.includes(encodingLine)) throw thrown;
}

/** Returns the columns of the header, or the keys of all rows. Throws `ManifestError`. */
async function columnsOf(
  list: string,
  encoding: 'windows-1252' | undefined,
): Promise<{ columns: string[]; delimiter?: string | undefined; isUtf8: boolean }> {
  const { openManifest } = await import('../runner/manifest/read-manifest.ts');
  const { columns, delimiter, batches } = await openManifest(list, {
    reading: { ...plainReading, encoding },
  });
  const keys = new Set(columns);
  let isUtf8 = true;
  for await (const entries of batches)
    for (const entry of entries)
      if (entry.kind === 'bad') isUtf8 &&= !entry.problem.includes(encodingLine);
      else if (columns === undefined) for (const key of Object.keys(entry.columns)) keys.add(key);
  return { columns: [...keys], delimiter, isUtf8 };
}

function beginStages(folder: string, argv: Record<string, unknown>): void {
  const text = 'does not go with --stages, which writes all of its files';
  refuseOptions(argv, ['endpoint', 'id', 'manifest', 'service'], text);
  const isComfyui = oneText(argv, 'speaks') !== undefined;
  if (isComfyui && argv['speaks'] !== 'comfyui')
    throw new ConfigError([
      { where: '--speaks', text: `is ${JSON.stringify(argv['speaks'])}; expected comfyui, or no --speaks` },
    ]);
  const { files, steps } = stagesFor(isComfyui, schemaFile, serviceSchemaFile);
  const schemas = {
    [schemaFile]: pipelineSchemaText(),
    ...(!isComfyui && { [serviceSchemaFile]: serviceSchemaText() }),
  };
  const paths = createFiles(folder, { ...files, ...schemas }).slice(0, Object.keys(files).length);
  const next = steps(shownPath(folder), (name) => shownPath(join(folder, name)));
  writeOut(`Created ${paths.join(', ')}, and ${isComfyui ? 'a schema' : 'schemas'} for editors.\n${next}`);
}

function beginService(folder: string, argv: Record<string, unknown>): void {
  const text = 'belongs to a pipeline.yaml; the endpoints of a service are in service.yaml';
  refuseOptions(argv, ['endpoint', 'id', 'speaks'], text);
  const [service = '', schema = ''] = createFiles(folder, {
    'service.yaml': serviceExample(serviceSchemaFile),
    [serviceSchemaFile]: serviceSchemaText(),
  });
  printServiceInit({ service, schema });
}

function refuseOptions(argv: Record<string, unknown>, names: string[], text: string): void {
  const given = names.filter((name) => argv[name] !== undefined && argv[name] !== false);
  if (given.length > 0) throw new ConfigError(given.map((name) => ({ where: `--${name}`, text })));
}

/** Writes files by name into `folder`; returns their paths as they are shown to users. */
function createFiles(folder: string, files: Record<string, string>): string[] {
  const paths = Object.keys(files).map((name) => join(folder, name));
  assertFree(paths);
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { flag: 'wx' });
  return paths.map(shownPath);
}

/** Requires both options or neither, and validates them like the configuration does. */
function endpointOf(argv: Record<string, unknown>): 'local' | { url: string; id: string } {
  const { endpoint: url, id } = argv;
  if (url === undefined && id === undefined) return 'local';
  const problems: Problem[] = [];
  const { baseUrl, id: idShape } = sections.endpoint.shape;
  if (url === undefined)
    problems.push({
      where: '--endpoint',
      text: '--id names an endpoint of a service; expected its URL as well',
    });
  else problems.push(...problemsOf('--endpoint', url, baseUrl.safeParse(url)));
  if (id === undefined && url !== 'local')
    problems.push({ where: '--id', text: 'expected the id of the endpoint as well' });
  else if (id !== undefined) problems.push(...problemsOf('--id', id, idShape.safeParse(id)));
  if (problems.length > 0) throw new ConfigError(problems);
  return url === 'local' ? 'local' : { url: String(url), id: String(id) };
}

interface Parsed {
  error?: { issues: { message: string }[] } | undefined;
}

function problemsOf(where: string, value: unknown, { error }: Parsed): Problem[] {
  const [issue] = error?.issues ?? [];
  return issue === undefined
    ? []
    : [{ where, text: `is ${JSON.stringify(value)}; expected ${issue.message}` }];
}

function assertFree(paths: string[]): void {
  const problems = paths
    .filter((path) => existsSync(path))
    .map((path) => ({
      where: shownPath(path),
      text: `this file exists already and was not changed; ${adviceFor(path)}`,
    }));
  if (problems.length > 0) throw new ConfigError(problems);
}

function adviceFor(path: string): string {
  if (basename(path) === listFile)
    return `to use it: \`nightrender init ${shellWord(dirname(shownPath(path)))} --manifest ${shellWord(shownPath(path))}\``;
  return 'choose another folder';
}

const listFile = 'scenes.csv';

/** Written beside pipeline.yaml, so that editors find it however the program was installed. */
const schemaFile = 'pipeline.schema.json';
const serviceSchemaFile = 'service.schema.json';

interface ExistingList {
  path: string;
  /** Names of the columns; empty if unknown. */
  columns: string[];
  /** Separator of a table's values. */
  delimiter?: string | undefined;
  encoding?: 'windows-1252';
}

/** `where` is `local`, or the URL and id of a real endpoint. */
function pipelineText(where: 'local' | { url: string; id: string }, list?: ExistingList): string {
  return `# yaml-language-server: $schema=${schemaFile}
# What is rendered, where, and how. What is left out has a default: nightrender help pipeline-file.
# \`nightrender plan pipeline.yaml\` says what this would do, \`nightrender run pipeline.yaml\` does it.

# One row a scene. A row with an id keeps its picture however the list is edited or sorted.
manifest: ${list === undefined ? listFile : JSON.stringify(list.path)}
${list?.encoding === undefined ? '' : `encoding: ${list.encoding}\n`}
${where === 'local' ? localEndpoint : realEndpoint(where.url, where.id)}
${list === undefined ? exampleInput : listInput(list.columns)}
# Jobs in flight at once.
concurrency: ${where === 'local' ? 4 : 16}

output:
  # Pictures are in renders/images, results.csv is in renders/report.
  dir: renders
  # This line writes prompt, inputs, seed and job into each picture, where everybody who gets the picture can read them.
  # metadata: embed
${where === 'local' ? '' : '  # Jobs that bring clips in place of pictures: media: video, or media: audio.\n  # media: video\n'}${list?.delimiter === ';' ? separatorText : ''}
# What a second of execution costs, or perPicture, perMegapixel: with it, \`plan\` tells what a night will cost, and
# limits.cost holds it.
# pricing: { perSecond: 0.0004, currency: USD }
# limits:
#   cost: 20
#   until: '07:00'
`;
}

const separatorText = `\n# results.csv opens in the spreadsheet program that the list comes from.\nreport:\n  separator: ';'\n`;

const inputIs = `# What each job is sent: {{ column }} is replaced by the row's value, other keys are sent as they are.`;
const exampleInput = `${inputIs}\ninput:\n  scene: '{{ scene }}'\n`;

/** Suggests a commented `input` if no column clearly holds the prompts; the user has to choose one. */
function listInput(columns: string[]): string {
  if (columns.length === 0)
    return `${inputIs} Without it, the column\n# scene or prompt is sent.\n# input:\n#   prompt: '{{ prompt }}'\n`;
  const sent = sentOf(columns);
  if (sent !== undefined) {
    const others = columns.filter((name) => name !== sent.column && /^(?:scene|prompt)$/i.test(name));
    const other =
      others.length === 0 ? '' : ` The list has\n# a column ${others.join()}, too, which is not sent.`;
    return `${inputIs}${other}\ninput:\n  ${inputLine(sent.key, sent.column)}\n`;
  }
  const example = inputLine('prompt', likelyColumn(columns) ?? 'column');
  return `${inputIs} No column\n# is called scene or prompt: say which one is sent, such as\n# input:\n#   ${example}\n`;
}

/** Returns the column that is sent if it isn't called `prompt` or `scene`; undefined otherwise. */
function sentUnderOtherName(columns: string[]): string | undefined {
  const sent = sentOf(columns);
  return sent?.column.toLowerCase() === sent?.key ? undefined : sent?.column;
}

/** Guesses which column holds the prompts, and the key that sends it. Undefined if the user has to say. */
function sentOf(columns: string[]): { key: string; column: string } | undefined {
  for (const key of ['prompt', 'scene']) {
    const column = columns.find((name) => name.toLowerCase() === key);
    if (column !== undefined) return { key, column };
  }
  // Such names are the first row of a list without a header.
  if (columns.some((name) => isValue(name) || name.startsWith('# '))) return undefined;
  const texts = columns.filter((name) => !['id', 'seed'].includes(name.trim().toLowerCase()));
  const column = captionColumn(columns) ?? (texts.length === 1 ? texts[0] : undefined);
  return column === undefined ? undefined : { key: 'prompt', column };
}

const localEndpoint = `# The local service draws on this machine and needs no account. For a real one:
#   baseUrl: https://api.your-service.example
#   id: your-endpoint-id
#   apiKey: \${NIGHTRENDER_API_KEY}
endpoint:
  baseUrl: local
  id: scene-renderer
`;

function realEndpoint(url: string, id: string): string {
  return `# The key is taken from the environment and stands in no file: export NIGHTRENDER_API_KEY=…
# To try everything on this machine first: \`baseUrl: local\` and \`id: scene-renderer\`, and no key.
endpoint:
  baseUrl: ${JSON.stringify(url)}
  id: ${JSON.stringify(id)}
  apiKey: \${NIGHTRENDER_API_KEY}
`;
}

const scenesText = `id,scene
old-harbour,"An old harbour at sunrise, four fishing boats and a lighthouse"
first-snow,"A village in the snow at night, lit windows and one tall church tower"
balloons,Five hot-air balloons over rolling green hills in the morning
desert-road,A road through golden desert dunes at sunset with three cacti
mill-by-the-lake,A windmill beside a still lake with pine trees at dawn
city-lights,A city skyline by the river at night under a full moon
storm,A sailing ship on a stormy sea with lightning
still-life,"A still life: a blue vase with flowers, two apples and a candle on a wooden table"
`;

interface ShownInit {
  pipeline: string;
  /** Undefined if the list existed before. */
  manifest?: string;
  schema: string;
  /** True if the endpoint is a real one, not the local service. */
  needsKey: boolean;
  /** Column that is sent as the prompt under another name. */
  sent?: string | undefined;
  /** True if the user has to say which column is sent. */
  isUnsaid?: boolean;
}

function printInit({ pipeline, manifest, schema, needsKey, sent, isUnsaid = false }: ShownInit): void {
  const file = shellWord(pipeline);
  const run: [string, string] = [`nightrender run ${file}`, 'the pictures'];
  const steps: [string, string][] = needsKey
    ? [
        ['export NIGHTRENDER_API_KEY=…', 'the key of your service'],
        [`nightrender plan ${file} --check`, 'what a run would do; nothing is sent'],
        [`nightrender run ${file} --limit 3`, 'a preview; its pictures count'],
        run,
      ]
    : [[`nightrender plan ${file}`, 'what a run would do; nothing is sent'], run];
  const width = Math.max(...steps.map(([command]) => command.length));
  const lines = steps.map(([command, what]) => `  ${command.padEnd(width)}   # ${what}`);
  writeOut(
    [
      `Created ${[pipeline, ...(manifest === undefined ? [] : [manifest])].join(', ')} and ${schema} (a schema for editors).`,
      ...(sent === undefined
        ? []
        : [`Each job gets the column ${sent} as its prompt; see input in ${pipeline} says so.`]),
      ...(isUnsaid
        ? [`Under input in ${pipeline}, name the column that each job gets: none is called scene or prompt.`]
        : []),
      manifest === undefined ? 'Then:' : 'Put your scenes into the list, then:',
      '',
      ...lines,
    ].join('\n'),
  );
}

function printServiceInit({ service, schema }: { service: string; schema: string }): void {
  writeOut(
    [
      `Created ${service} and ${schema} (a schema for editors).`,
      'It has two endpoints; comments show the other keys. Then:',
      '',
      `  nightrender serve ${shellWord(service)}`,
    ].join('\n'),
  );
}
